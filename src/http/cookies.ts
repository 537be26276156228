import type { Config } from "#config.ts";

/** Over https a name that no other site, and no page without encryption, can set a cookie of. */
const SECURE = "__Host-fairlead";
const PLAIN = "fairlead_session";

/** Whether people come by https: the external address says so, or the address or scheme that a request came by. */
export const isSecure = ({ externalUrl }: Config, site: string): boolean =>
  /^https(:|$)/i.test(site) || externalUrl?.startsWith("https:") === true;

/** The cookie that holds a session, for a caller who came to this site. */
export const cookieNameFor = (config: Config, site: string): string => (isSecure(config, site) ? SECURE : PLAIN);

/** The header that makes a browser keep a session; scripts cannot read it, and it ends with the browser. */
export function sessionCookie(config: Config, site: string, secret: string): string {
  const kept = `${cookieNameFor(config, site)}=${secret}; Path=/; HttpOnly; SameSite=Lax`;
  return isSecure(config, site) ? `${kept}; Secure` : kept;
}

/** The header that makes a browser forget it. */
export const noSessionCookie = (config: Config, site: string): string =>
  `${sessionCookie(config, site, "")}; Max-Age=0`;

/** The value of a cookie; of several with one name there is no telling which is ours, so none counts. */
export function readCookie(header: string, name: string): string | undefined {
  const values = header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}
