import { isIP, type LookupFunction } from "node:net";
import type { MayConnect } from "./addresses.ts";
import { OutboundError } from "./failure.ts";

/** Finds the addresses of a host name; none if it does not exist. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** A name with more addresses is not a site but an attempt to keep us busy. */
const MAX_ADDRESSES = 16;

const LOCALHOST = /^(?:.+\.)?localhost\.?$/;

/** The http or https URL in a text; refuses anything else, and credentials, which would end up in logs. */
export function outboundUrl(text: string, base?: URL): URL {
  const url = /[\s\p{Cc}\\]/u.test(text) ? null : URL.parse(text, base?.href);
  const isSound = url && /^https?:$/.test(url.protocol) && url.port !== "0";
  if (!isSound || url.username !== "" || url.password !== "") throw new OutboundError("url");
  return url;
}

/** The addresses that a URL has whatever DNS says; `URL` has already normalized forms like `0x7f.1`. */
function knownAddresses({ hostname }: URL): readonly string[] | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0) return [host];
  return LOCALHOST.test(host) ? ["127.0.0.1", "::1"] : undefined;
}

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === "https:" ? 443 : 80));

/** Refuses a URL by its host alone. That is no check of a name, whose addresses may change at any time. */
export function requireAllowedHost(url: URL, mayConnect: MayConnect): void {
  requireAllowed(url, knownAddresses(url) ?? [], mayConnect);
}

/**
 * The addresses to connect to, for one connection. It is opened to exactly these (`pinnedLookup`), so a name that
 * changes its addresses after the check gains nothing.
 */
export async function checkedAddresses(url: URL, resolve: Resolve, mayConnect: MayConnect): Promise<readonly string[]> {
  const addresses = knownAddresses(url) ?? (await resolve(url.hostname));
  if (addresses.length === 0) throw new OutboundError("destination");
  requireAllowed(url, addresses, mayConnect);
  return addresses.slice(0, MAX_ADDRESSES);
}

function requireAllowed(url: URL, addresses: readonly string[], mayConnect: MayConnect): void {
  if (!addresses.every((address) => mayConnect(address, portOf(url)))) throw new OutboundError("destination");
}

/** Takes the place of the system's lookup in a connection. */
export const pinnedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_name, { all }, done) => {
    const [first = "", ...more] = addresses;
    if (all)
      done(
        null,
        [first, ...more].map((address) => ({ address, family: isIP(address) })),
      );
    else done(null, first, isIP(first));
  };
