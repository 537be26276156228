import type { Config } from "#config.ts";

/** Over https, the prefix keeps other subdomains and unencrypted pages from setting a cookie of this name. */
const SECURE = "__Host-fairlead";
const PLAIN = "fairlead_session";

/** Whether the site is served over https, by the external URL or by the URL or scheme of a request. */
export const isSecure = ({ externalUrl }: Config, site: string): boolean =>
  /^https(:|$)/i.test(site) || externalUrl?.startsWith("https:") === true;

/** The name of the session cookie for a caller of this site. */
export const cookieNameFor = (config: Config, site: string): string => (isSecure(config, site) ? SECURE : PLAIN);

/** The header that sets the session cookie; scripts cannot read it, and it ends with the browser. */
export function sessionCookie(config: Config, site: string, secret: string): string {
  const cookie = `${cookieNameFor(config, site)}=${secret}; Path=/; HttpOnly; SameSite=Lax`;
  return isSecure(config, site) ? `${cookie}; Secure` : cookie;
}

/** The header that deletes the session cookie. */
export const noSessionCookie = (config: Config, site: string): string =>
  `${sessionCookie(config, site, "")}; Max-Age=0`;

/** The value of a cookie; if several have the name, there is no telling which is ours, so none counts. */
export function readCookie(header: string, name: string): string | undefined {
  const values = header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}
