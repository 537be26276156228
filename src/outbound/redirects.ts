import { outboundUrl } from "./connection.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { OutboundError } from "./failure.ts";

/** What another site may be sent as well: any other header may hold a secret. */
const HARMLESS = new Set(["accept", "accept-encoding", "content-type", "user-agent"]);

/** The request that an answer redirects to; undefined if it is no redirect. */
export function redirected(request: Exchange, { status, headers: { location } }: Answer): Exchange | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const url = outboundUrl(location, request.url);
  const isOtherSite = url.origin !== request.url.origin;
  const { method, body } = isResent(request, status) ? request : { method: "GET" as const, body: undefined };
  if (request.url.protocol === "https:" && url.protocol === "http:") throw new OutboundError("redirect");
  if (isOtherSite && body !== undefined) throw new OutboundError("redirect");
  const headers = isOtherSite ? harmless(request.headers) : request.headers;
  return { ...request, url, method, body, headers };
}

/** Whether the new request has the method and body of the old one, as browsers do it. */
const isResent = ({ method }: Exchange, status: number) =>
  method === "GET" || method === "HEAD" || status === 307 || status === 308;

const harmless = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name)));
