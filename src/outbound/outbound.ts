import type { Config } from "#config.ts";
import type { Dns } from "#lib/dns.ts";
import { RELEASE } from "#lib/release.ts";
import { fairSemaphore } from "#lib/semaphore.ts";
import { addressRules, type MayConnect } from "./addresses.ts";
import { checkedAddresses, outboundUrl, pinnedLookup, requireAllowedHost, type Resolve } from "./connection.ts";
import { type Answer, exchange, type Exchange, type Method } from "./exchange.ts";
import { type Failure, failure, OutboundError, reasonOfError } from "./failure.ts";
import { redirected } from "./redirects.ts";

export interface OutboundRequest {
  readonly url: string;
  /** Who the request is sent for, such as `project:1`: each gets a share of the connections. */
  readonly consumer: string;
  readonly method?: Method;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Certificates to trust instead of the system's, as PEM. */
  readonly ca?: string | undefined;
  /** For everything from the query of the name to the last byte, redirects included. */
  readonly timeoutMs?: number;
  /** Of the body of an answer. */
  readonly maxBytes?: number;
  /** With 0 a redirect is an answer like any other. */
  readonly maxRedirects?: number;
  readonly signal?: AbortSignal;
}

export type Outcome =
  | { readonly answer: Answer; readonly failure?: undefined }
  | { readonly answer?: undefined; readonly failure: Failure };

/** Requests to addresses that users choose. */
export interface Outbound {
  /** Sends a request; throws only when too many wait (a refusal) or the given signal is aborted. */
  request(request: OutboundRequest): Promise<Outcome>;
  /** What is wrong with a URL before any query: for a parameter that is stored. Names are checked at each request. */
  urlProblem(url: string): Promise<Failure | undefined>;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 2 ** 20;
const MAX_REDIRECTS = 3;
const MAX_CONNECTIONS = 64;
const MAX_CONNECTIONS_EACH = 8;
const MAX_WAITING = 256;
const MAX_WAITING_EACH = 32;

/** Names that the transport sets by itself. */
const OWN_HEADERS = new Set(["connection", "content-length", "host", "transfer-encoding", "upgrade", "expect"]);

type Guarded = Pick<Config, "outboundAllow" | "port" | "sshPort">;

/** `allowsLocal` is the setting that lets requests go to addresses which are not public. */
export function openOutbound(config: Guarded, dns: Dns, allowsLocal: () => Promise<boolean>): Outbound {
  const ownPorts = [config.port, config.sshPort].filter((port) => port !== "off");
  const currentRules = async () =>
    addressRules({ allowed: config.outboundAllow, allowLocal: await allowsLocal(), ownPorts });
  const slots = fairSemaphore({
    slots: MAX_CONNECTIONS,
    maxWaiting: MAX_WAITING,
    maxWaitingEach: MAX_WAITING_EACH,
  });

  async function send(given: OutboundRequest, mayConnect: MayConnect, signal: AbortSignal): Promise<Answer> {
    const prepared = prepare(given, signal);
    const { consumer, maxRedirects = MAX_REDIRECTS } = given;
    const shares = [{ name: consumer, max: MAX_CONNECTIONS_EACH }];
    const release = await slots.acquire({ queue: consumer, shares, signal });
    try {
      return await follow(prepared, maxRedirects, (name) => dns.addresses(name, signal), mayConnect);
    } finally {
      release();
    }
  }

  return {
    async request(given) {
      const mayConnect = await currentRules();
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), given.timeoutMs ?? TIMEOUT_MS);
      const signal = AbortSignal.any([deadline.signal, ...(given.signal ? [given.signal] : [])]);
      try {
        return { answer: await send(given, mayConnect, signal) };
      } catch (error) {
        given.signal?.throwIfAborted();
        return { failure: deadline.signal.aborted ? failure("timeout") : failureOf(error) };
      } finally {
        clearTimeout(timer);
      }
    },
    async urlProblem(url) {
      const mayConnect = await currentRules();
      try {
        requireAllowedHost(outboundUrl(url), mayConnect);
        return undefined;
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

function prepare(given: OutboundRequest, signal: AbortSignal): Exchange {
  const headers = Object.entries(given.headers ?? {})
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !OWN_HEADERS.has(name));
  return {
    url: outboundUrl(given.url),
    method: given.method ?? "GET",
    // No compression: a small answer could unpack to any size.
    headers: { "accept-encoding": "identity", "user-agent": `Fairlead/${RELEASE}`, ...Object.fromEntries(headers) },
    body: given.body,
    ca: given.ca,
    maxBytes: given.maxBytes ?? MAX_BYTES,
    signal,
  };
}

/** Sends a request and follows its redirects; each is checked like the first. */
async function follow(first: Exchange, maxRedirects: number, resolve: Resolve, mayConnect: MayConnect) {
  let request = first;
  for (let redirects = 0; ; redirects++) {
    const addresses = await checkedAddresses(request.url, resolve, mayConnect);
    const answer = await exchange(request, pinnedLookup(addresses));
    const next = maxRedirects === 0 ? undefined : redirected(request, answer);
    if (!next) return answer;
    if (redirects === maxRedirects) throw new OutboundError("redirect");
    request = next;
  }
}

/** Any error that is not one of a connection goes on to whoever called. */
function failureOf(error: unknown): Failure {
  const reason = reasonOfError(error);
  if (reason === undefined) throw error;
  return failure(reason);
}
