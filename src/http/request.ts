import { randomFillSync } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Origin } from "#access/access.ts";
import type { Credentials } from "#access/authenticate.ts";
import type { Config } from "#config.ts";
import { addressIn } from "#lib/networks.ts";
import { pageOrigin } from "#access/sessions.ts";
import { badParameter } from "#lib/refusal.ts";
import { hasSecret } from "#lib/secrets.ts";
import { readCookie } from "./cookies.ts";
import type { RawSet } from "./params/raw.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Generates ULIDs: 26 characters, sorted by time, unique without coordination. */
export function requestIds(): (now: number) => string {
  const random = Buffer.alloc(4096);
  let used = random.length;
  let written = 0;
  let prefix = "";
  return (now) => {
    if (used + 16 > random.length) {
      randomFillSync(random);
      used = 0;
    }
    if (now !== written) {
      written = now;
      prefix = timePart(now);
    }
    let id = prefix;
    for (let digit = 0; digit < 16; digit++) id += ALPHABET.charAt((random[used++] ?? 0) & 31);
    return id;
  };
}

function timePart(now: number): string {
  let text = "";
  for (let time = now, digit = 0; digit < 10; digit++, time = Math.floor(time / 32)) {
    text = ALPHABET.charAt(time % 32) + text;
  }
  return text;
}

/** The parameters that a token may come in; they reach neither links nor redirects nor the log. */
export const TOKEN_PARAMETERS = ["private_token", "access_token"] as const;

/** Our own site as browsers know it; evaluated only for requests of browsers. */
interface OwnSite {
  cookieName(): string;
  isOrigin(origin: string): boolean;
}

/**
 * Collects every token of a request, its session, and whom it wants to act for; nothing is verified yet. Basic
 * authentication counts only for git.
 */
export function credentialsOf(
  request: FastifyRequest,
  params: RawSet,
  origin: Origin,
  own: OwnSite,
  forGit = false,
): Credentials {
  const { headers } = request;
  const tokens: string[] = [];
  const header = headers["private-token"];
  if (header) tokens.push(String(header));
  const { bearer, password } = authorizationOf(request);
  if (bearer !== undefined) tokens.push(bearer);
  if (forGit && password !== undefined) tokens.push(password);
  for (const name of TOKEN_PARAMETERS) {
    const parameter = params[name];
    if (typeof parameter === "object" && parameter !== null) throw badParameter(`${name} is invalid`);
    if (parameter !== undefined && parameter !== "" && parameter !== null) tokens.push(String(parameter));
  }
  const page = pageOrigin({ fetchSite: headers["sec-fetch-site"]?.toString(), origin: headers.origin }, own.isOrigin);
  const secret = headers.cookie === undefined ? undefined : readCookie(headers.cookie, own.cookieName());
  const csrfToken = headers["x-csrf-token"]?.toString();
  return {
    tokens,
    session: secret === undefined ? undefined : { secret, csrfToken, sameOrigin: page === "ours" },
    foreign: page === "foreign",
    sudo: params["sudo"] ?? headers["sudo"],
    origin,
  };
}

/** The secret in the `Authorization` header, by its scheme. */
export function authorizationOf({ headers: { authorization = "" } }: FastifyRequest) {
  return {
    bearer: /^bearer /i.test(authorization) ? authorization.slice(7).trim() : undefined,
    password: /^basic /i.test(authorization) ? passwordOf(authorization.slice(6)) : undefined,
  };
}

/** The password of Basic authentication; any user name is accepted. */
function passwordOf(basic: string): string {
  const pair = Buffer.from(basic, "base64").toString();
  const colon = pair.indexOf(":");
  return colon === -1 ? "" : pair.slice(colon + 1);
}

/** The address of a client: what a trusted proxy says, if that is an address, else the peer of the connection. */
export function addressOf(request: FastifyRequest): string {
  // A closed socket has no address, whatever the type says.
  const { ip }: { ip: string | undefined } = request;
  return addressIn(ip ?? "") ?? addressIn(request.raw.socket.remoteAddress ?? "") ?? "0.0.0.0";
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;

/** Returns the base URL for links: the caller's own scheme and host if that host is allowed, else the configured one. */
export function siteNamer(config: Config): (request: FastifyRequest) => string {
  const external = config.externalUrl === undefined ? undefined : new URL(config.externalUrl);
  const allowed = new Set([
    ...config.allowedHosts.map((host) => host.toLowerCase()),
    ...(external ? [external.host] : []),
  ]);
  const fallback = external?.origin ?? `http://${config.host}:${config.port}`;
  // Nearly all requests name the same host, so the last result is cached.
  let last = { protocol: "", host: "", site: fallback };
  return ({ protocol: claimed, host }) => {
    // A proxy may claim anything.
    const protocol = /^https$/i.test(claimed) ? "https" : "http";
    if (host !== last.host || protocol !== last.protocol)
      last = { protocol, host, site: siteOf(protocol, host.toLowerCase()) };
    return last.site;
  };

  function siteOf(protocol: string, host: string): string {
    const known =
      LOOPBACK.test(host) ||
      allowed.has(host) ||
      allowed.has(host.replace(/:\d+$/, "")) ||
      (allowed.has("*") && /^[\w.:[\]-]+$/.test(host));
    const site = `${protocol}://${host}`;
    // A port above 65535 or 127.999.0.1 looks like a host but is none.
    return known && URL.canParse(site) ? site : fallback;
  }
}

/** Returns whether an `Origin` is ours: the site of the request, or the external URL. */
export function originChecker(config: Config, siteOf: (request: FastifyRequest) => string) {
  const external = config.externalUrl === undefined ? undefined : new URL(config.externalUrl).origin;
  return (request: FastifyRequest, origin: string): boolean =>
    origin === external || origin === new URL(siteOf(request)).origin;
}

/** Longer request targets are refused with 414. */
export const MAX_TARGET_LENGTH = 8192;

/**
 * Links to the same request with changed parameters and without secrets. Parameters may come from a body, so the result
 * is undefined if the link would be longer than we accept.
 */
export function linkTo(
  site: string,
  path: string,
  params: RawSet,
  pathNames: readonly string[],
  changes: Readonly<Record<string, string | number | undefined>>,
): string | undefined {
  const pairs: string[] = [];
  for (const name of Object.keys(params)) {
    if (name in changes || pathNames.includes(name) || SECRETS.has(name)) continue;
    addPairs(pairs, encodeURIComponent(name), params[name]);
    if (pairs.length > MAX_PAIRS) return undefined;
  }
  for (const [name, value] of Object.entries(changes)) {
    if (value !== undefined) pairs.push(`${name}=${encodeURIComponent(value)}`);
  }
  const target = pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
  return target.length > MAX_TARGET_LENGTH ? undefined : site + target;
}

const SECRETS = new Set([
  ...TOKEN_PARAMETERS,
  ...["job_token", "token"],
  ...["password", "current_password", "new_password", "otp_attempt"],
]);

/** No target holds more; a body may, and encoding all of it would take too long. */
const MAX_PAIRS = MAX_TARGET_LENGTH / 2;

function addPairs(pairs: string[], name: string, value: unknown) {
  if (pairs.length > MAX_PAIRS) return;
  if (Array.isArray(value)) {
    for (const item of value) addPairs(pairs, `${name}%5B%5D`, item);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) addPairs(pairs, `${name}%5B${encodeURIComponent(key)}%5D`, item);
  } else {
    const pair = `${name}=${value === null ? "" : encodeURIComponent(String(value))}`;
    // A misspelt name carries a token too, and a JSON body sent as a form is one long name with the token in it.
    if (!hasSecret(pair)) pairs.push(pair);
  }
}
