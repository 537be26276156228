import { hash, subtle } from "node:crypto";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { actorOf, type Principal, principalName } from "#access/principal.ts";
import type { Logger } from "pino";
import { type Consumer, consumerOf } from "#lib/consumer.ts";
import type { Charge } from "#lib/memory-budget.ts";
import type { Budget } from "#limits/rate-limits.ts";
import type { Meter } from "#metrics/http.ts";
import { withoutSecrets } from "#lib/secrets.ts";
import type { Constraints } from "#db/errors.ts";
import { errorResponse, gitErrorResponse } from "./errors.ts";
import { ignoredHeader } from "./ignored.ts";
import { type Sending, SMALL_RESPONSE_BYTES } from "./sending.ts";
import { watchResponse } from "./timeouts.ts";
import { ALWAYS, BY_DEFAULT, OVER_HTTPS } from "./security-headers.ts";

const FIXED = [...ALWAYS, ["vary", "Origin"]].flat();
const LINGER_MS = 1000;
/** Longer responses are hashed in a thread. */
const MAX_HASHED_LENGTH = 1024 ** 2;
const EXPOSED =
  "Link, X-Total, X-Total-Pages, X-Per-Page, X-Page, X-Next-Page, X-Prev-Page, X-Request-Id, ETag, Retry-After, " +
  "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Idempotency-Replayed, X-Truncated, X-Ignored-Parameters, " +
  "Deprecation";

/** The state of one request and its response, which is sent and logged once. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly id: string;
  /** The address of the client, read at the start: a closed socket no longer has one. */
  readonly address: string;
  readonly startedAt: number;
  /** Whether the site is served over https, by us or by the proxy in front. */
  readonly secure: boolean;
  readonly operation: string;
  readonly headers: string[];
  readonly meter: Meter;
  readonly log: Logger;
  readonly plainErrors: boolean;
  readonly constraints: Constraints;
  /** Whether the body is a stream, which may take long. */
  readonly streamed: boolean;
  readonly lifecycle: { readonly stopping: boolean };
  readonly sending: Sending;
  /** The names of the parameters that had no effect. */
  readonly ignored: Set<string>;
  principal: Principal;
  budget: Budget | undefined;
  /** Why the request failed, for the log: also where its status is that of success, as with a push that git refuses. */
  failure: string | undefined;
  /** The status of success, if the handler set another than the endpoint's. */
  status: number | undefined;
  /** Memory that was reserved for the response before it was built. */
  charge: Charge | undefined;
  /** The bytes of all reservations, of which small ones are not charged. */
  reserved: number;
}

/** A signal that is aborted if the client disconnects before the response is complete. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => response.writableFinished || gone.abort());
  return gone.signal;
}

/** Who is charged for the shared resources that a request takes. */
export const consumerFor = ({ address, principal }: Exchange): Consumer =>
  consumerOf(address, principal.kind === "anonymous" ? undefined : principalName(principal));

/** Reserves memory, or more of it, for a large response before it is built, or refuses it. */
export function reserveMemory(exchange: Exchange, bytes: number) {
  const total = exchange.reserved + bytes;
  exchange.reserved = total;
  if (total <= SMALL_RESPONSE_BYTES) return;
  exchange.charge?.release();
  exchange.charge = exchange.sending.reserve(consumerFor(exchange), total);
}

export function sendJson(exchange: Exchange, status: number, value: unknown): void | Promise<void> {
  const body = JSON.stringify(value);
  const { method } = exchange.request;
  if (status !== 200 || (method !== "GET" && method !== "HEAD")) {
    exchange.headers.push("cache-control", "no-store");
    return finish(exchange, status, "application/json", body);
  }
  if (body.length > MAX_HASHED_LENGTH) return sendLargeJson(exchange, body);
  return sendTagged(exchange, body, hash("sha256", body, "hex"));
}

/** A thread of the pool computes the hash: of all steps it takes longest, and each delays other requests. */
async function sendLargeJson(exchange: Exchange, text: string) {
  // Others may build responses meanwhile, so this one must have its memory first.
  exchange.charge = chargeLarge(exchange, 200, text.length);
  await nextTurn();
  const body = Buffer.from(text);
  const digest = await subtle.digest("SHA-256", body);
  sendTagged(exchange, body, Buffer.from(digest).toString("hex"));
}

function sendTagged(exchange: Exchange, body: string | Buffer, digest: string) {
  const etag = `W/"${digest.slice(0, 32)}"`;
  exchange.headers.push("etag", etag, "cache-control", "max-age=0, private, must-revalidate");
  if (isFresh(exchange.request, etag)) return finish(exchange, 304, undefined, undefined);
  return finish(exchange, 200, "application/json", body);
}

/** Whether the client has this version. Caches in between may send several tags, or strip the mark of a weak one. */
function isFresh(request: FastifyRequest, etag: string): boolean {
  const strong = (tag: string) => tag.trim().replace(/^W\//, "");
  const known = request.headers["if-none-match"]?.split(",") ?? [];
  return known.some((tag) => strong(tag) === strong(etag) || tag.trim() === "*");
}

export const sendNothing = (exchange: Exchange, status: number) => finish(exchange, status, undefined, undefined);

/** Sends a body that is not JSON, or 304 if the handler set an `etag` that the client has. */
export function sendPlain(exchange: Exchange, status: number, contentType: string, body: string | Buffer) {
  const { headers, request } = exchange;
  const at = headers.indexOf("etag");
  if (at !== -1 && isFresh(request, headers[at + 1] ?? "")) {
    const type = headers.indexOf("content-type");
    if (type !== -1) headers.splice(type, 2);
    return sendNothing(exchange, 304);
  }
  finish(exchange, status, contentType, body);
}

/** Streams a response; once it has begun, a failure can only cut it off. */
export async function sendStream(exchange: Exchange, status: number, contentType: string, body: Readable) {
  const { raw } = exchange.reply;
  writeHead(exchange, status, contentType);
  // The transfer of a streamed request is watched from its start.
  const stopWatching = exchange.streamed ? undefined : watchResponse(raw, exchange.sending.rate);
  try {
    // A HEAD request must not make us build an archive.
    if (exchange.request.method === "HEAD") {
      body.destroy();
      raw.end();
    } else await pipeline(body, raw);
  } catch (error) {
    body.destroy();
    const level = isDisconnect(error) ? "info" : "warn";
    if (level === "warn") exchange.failure ??= error instanceof Error ? error.message : String(error);
    exchange.log[level]({ request_id: exchange.id, err: error }, "a streamed response was cut off");
  } finally {
    stopWatching?.();
  }
  record(exchange, status);
}

/** Whether the client disconnected, during the response or before it began. */
const isDisconnect = (error: unknown) =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "ERR_STREAM_PREMATURE_CLOSE" || error.code === "ERR_STREAM_UNABLE_TO_PIPE");

/** Redirects to the new path; only 308 makes every client repeat a write with its method and body. */
export function sendMoved(exchange: Exchange, location: string) {
  const reads = exchange.request.method === "GET" || exchange.request.method === "HEAD";
  exchange.headers.push("cache-control", "no-cache", "location", location);
  const message = `This resource has been moved permanently to ${location}`;
  finish(exchange, reads ? 301 : 308, "application/json", JSON.stringify({ message }));
}

export function sendError(exchange: Exchange, thrown: unknown) {
  const { reply, log, id } = exchange;
  const responseOf = exchange.plainErrors ? gitErrorResponse : errorResponse;
  const { status, contentType, body, headers, bug } = responseOf(thrown, exchange.constraints);
  if (bug) log.error({ request_id: id, operation: exchange.operation, err: withoutRow(thrown) }, "unexpected failure");
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  // What is thrown otherwise is the caller's mistake, and its text may repeat what they sent.
  if (status >= 500) exchange.failure = bug ? "unexpected failure" : (thrown as Error).message;
  exchange.headers.push("cache-control", "no-cache", ...headers.flat());
  if (status === 304) return sendNothing(exchange, status);
  if (leavesBody(exchange, status)) exchange.headers.push("connection", "close");
  finish(exchange, status, contentType, body);
}

// PostgreSQL repeats the whole row that it refused, which must not reach the log.
function withoutRow(thrown: unknown): unknown {
  if (thrown instanceof Error && "detail" in thrown) thrown.detail = undefined;
  return thrown;
}

function writeHead(exchange: Exchange, status: number, contentType: string | undefined) {
  const { reply, id, headers, budget, request, lifecycle, secure, ignored } = exchange;
  const all = [...FIXED, "x-request-id", id, ...headers];
  if (secure) all.push(...OVER_HTTPS);
  if (ignored.size > 0) all.push("x-ignored-parameters", ignoredHeader(ignored));
  // An idle connection would delay the stop until its timeout.
  if (lifecycle.stopping && !headers.includes("connection")) all.push("connection", "close");
  // The handler's own content type wins.
  if (contentType !== undefined && !headers.includes("content-type")) all.push("content-type", contentType);
  for (const [name, value] of BY_DEFAULT) if (!headers.includes(name)) all.push(name, value);
  if (budget) {
    all.push("ratelimit-limit", String(budget.limit), "ratelimit-name", budget.name);
    all.push("ratelimit-observed", String(budget.observed));
    all.push("ratelimit-remaining", String(Math.max(budget.limit - budget.observed, 0)));
    all.push("ratelimit-reset", String(budget.reset));
  }
  if (request.headers.origin !== undefined) {
    all.push("access-control-allow-origin", "*", "access-control-expose-headers", EXPOSED);
  }
  reply.raw.writeHead(status, all);
}

function finish(
  exchange: Exchange,
  status: number,
  contentType: string | undefined,
  body: string | Buffer | undefined,
) {
  const raw: ServerResponse = exchange.reply.raw;
  const size = body === undefined ? 0 : Buffer.byteLength(body);
  const large =
    size > SMALL_RESPONSE_BYTES && exchange.request.method !== "HEAD" ? chargeLarge(exchange, status, size) : undefined;
  if (body !== undefined) exchange.headers.push("content-length", String(size));
  writeHead(exchange, status, contentType);
  // Plain ASCII is the same in both encodings, and Node writes it faster as Latin-1.
  const encoding = size === body?.length ? "latin1" : "utf8";
  if (leavesBody(exchange, status) && !raw.req.complete) endLater(raw, body ?? "");
  else if (large && body !== undefined) {
    exchange.sending.sendLarge(raw, typeof body === "string" ? Buffer.from(body, encoding) : body, large);
  } else {
    raw.end(body, encoding);
    const { socket } = raw;
    // A response that is queued behind others of its connection has no socket yet.
    if (socket === null || socket.writableLength > 0) exchange.sending.holdUnsent(raw, consumerFor(exchange), size);
  }
  record(exchange, status);
}

/** Charges for a large response. Only that of a successful read can still be refused: a write has committed. */
function chargeLarge(exchange: Exchange, status: number, size: number): Charge {
  const { charge, headers, request, sending } = exchange;
  exchange.charge = undefined;
  if (charge) return charge;
  if (request.method !== "GET" || status >= 400) return sending.charge(consumerFor(exchange), size);
  try {
    return sending.reserve(consumerFor(exchange), size);
  } catch (refusal) {
    // They describe the response, not its refusal.
    headers.length = 0;
    throw refusal;
  }
}

/** Whether the rest of the body stays unread: a refused upload is not received just to reuse the connection. */
const leavesBody = ({ reply, streamed }: Exchange, status: number) =>
  status === 413 || (streamed && status >= 400 && !reply.raw.req.complete);

/** Continues to read for a moment: closing with unread input would reset the connection and lose the response. */
function endLater(raw: ServerResponse, body: string | Buffer) {
  raw.flushHeaders();
  raw.write(body);
  const end = () => {
    clearTimeout(timer);
    raw.end();
  };
  const timer = setTimeout(end, LINGER_MS).unref();
  raw.req.once("end", end).once("close", end).resume();
}

/** Logs one line per request, of named fields only: no header, body or query can slip in. */
function record(
  { request, id, address, startedAt, operation, meter, log, principal, failure }: Exchange,
  status: number,
) {
  const actor = actorOf(principal);
  const took = performance.now() - startedAt;
  meter.count(status, took);
  log[failure === undefined ? "info" : "warn"]({
    request_id: id,
    method: request.method,
    path: loggedPath(request.originalUrl),
    operation,
    status,
    ms: Math.round(took * 10) / 10,
    reason: failure,
    ip: address,
    user_id: actor?.user.id,
    token_id: actor?.kind === "user by token" ? actor.token.id : undefined,
    session_id: actor?.kind === "user by session" ? actor.session.id : undefined,
    sudoer_id: actor?.sudoer?.id,
    integration_id: principal.kind === "integration key" ? principal.integration.id : undefined,
  });
}

function loggedPath(target: string): string {
  const mark = target.indexOf("?");
  return withoutSecrets((mark === -1 ? target : target.slice(0, mark)).slice(0, 1024));
}
