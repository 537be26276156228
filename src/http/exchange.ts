import { hash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Actor } from "#access/actor.ts";
import type { Logger } from "pino";
import { type Consumer, consumerOf } from "#lib/consumer.ts";
import type { Charge } from "#lib/memory-budget.ts";
import { TOKEN_PREFIX } from "#lib/secrets.ts";
import { errorAnswer, gitErrorAnswer } from "./errors.ts";
import type { Budget } from "./limits.ts";
import type { Meter } from "./metrics.ts";
import { type Sending, SMALL_ANSWER_BYTES } from "./sending.ts";
import { watchAnswer } from "./timeouts.ts";
import { ALWAYS, BY_DEFAULT, OVER_HTTPS } from "./security-headers.ts";

const FIXED = [...ALWAYS, ["vary", "Origin"]].flat();
const LINGER = 1000;
const EXPOSED =
  "Link, X-Total, X-Total-Pages, X-Per-Page, X-Page, X-Next-Page, X-Prev-Page, X-Request-Id, ETag, Retry-After, " +
  "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Idempotency-Replayed, X-Truncated";

/** One request and its answer: what is known of it so far, written to the wire and to the log once. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly id: string;
  /** Where the request came from, asked at its start: the socket of a caller who is gone no longer tells. */
  readonly address: string;
  readonly startedAt: number;
  /** Whether the site is https, here or at the proxy in front. */
  readonly secure: boolean;
  readonly operation: string;
  readonly headers: string[];
  readonly meter: Meter;
  readonly log: Logger;
  readonly plainErrors: boolean;
  /** Whether its body is a stream, which may be long. */
  readonly streamed: boolean;
  readonly lifecycle: { readonly stopping: boolean };
  readonly sending: Sending;
  actor: Actor | null;
  budget: Budget | undefined;
  /** The status of success, where the handler chose another than the endpoint's own. */
  status: number | undefined;
  /** Memory that was reserved for the answer before it was built. */
  charge: Charge | undefined;
}

/** Aborted when the caller leaves before the answer is whole. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => response.writableFinished || gone.abort());
  return gone.signal;
}

/** Who is charged for what this request takes. */
export const consumerFor = ({ address, actor }: Exchange): Consumer =>
  consumerOf(address, actor ? `user ${actor.user.id}` : undefined);

/** Reserves memory for an answer that is large while it is built, or refuses it. */
export function reserveMemory(exchange: Exchange, bytes: number) {
  if (bytes <= SMALL_ANSWER_BYTES) return;
  exchange.charge?.release();
  exchange.charge = exchange.sending.reserve(consumerFor(exchange), bytes);
}

export function sendJson(exchange: Exchange, status: number, value: unknown) {
  const body = JSON.stringify(value);
  const { request } = exchange;
  if (status === 200 && (request.method === "GET" || request.method === "HEAD")) {
    const etag = `W/"${hash("sha256", body, "hex").slice(0, 32)}"`;
    exchange.headers.push("etag", etag, "cache-control", "max-age=0, private, must-revalidate");
    if (isKnown(request, etag)) return finish(exchange, 304, undefined, undefined);
  } else {
    exchange.headers.push("cache-control", "no-store");
  }
  return finish(exchange, status, "application/json", body);
}

/** Caches between us may keep several, or drop the mark of a weak one. */
function isKnown(request: FastifyRequest, etag: string): boolean {
  const strong = (tag: string) => tag.trim().replace(/^W\//, "");
  const known = request.headers["if-none-match"]?.split(",") ?? [];
  return known.some((tag) => strong(tag) === strong(etag) || tag.trim() === "*");
}

export const sendNothing = (exchange: Exchange, status: number) => finish(exchange, status, undefined, undefined);

/** What the handler named by an `etag` is not sent again to a caller who has it. */
export function sendPlain(exchange: Exchange, status: number, contentType: string, body: string | Buffer) {
  const { headers, request } = exchange;
  const at = headers.indexOf("etag");
  if (at !== -1 && isKnown(request, headers[at + 1] ?? "")) {
    const type = headers.indexOf("content-type");
    if (type !== -1) headers.splice(type, 2);
    return sendNothing(exchange, 304);
  }
  finish(exchange, status, contentType, body);
}

/** Streams an answer; once it has begun, a failure can only cut it off. */
export async function sendStream(exchange: Exchange, status: number, contentType: string, body: Readable) {
  const { raw } = exchange.reply;
  writeHead(exchange, status, contentType);
  // A streamed request is watched from its beginning.
  const stopWatching = exchange.streamed ? undefined : watchAnswer(raw, exchange.sending.rate);
  try {
    // Nobody is to make an archive of which only the head is wanted.
    if (exchange.request.method === "HEAD") {
      body.destroy();
      raw.end();
    } else await pipeline(body, raw);
  } catch (error) {
    body.destroy();
    const level = isLeft(error) ? "info" : "warn";
    exchange.log[level]({ request_id: exchange.id, err: error }, "streamed answer broke off");
  } finally {
    stopWatching?.();
  }
  record(exchange, status);
}

/** Whether it was the caller who left, in the middle or before it began. */
const isLeft = (error: unknown) =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "ERR_STREAM_PREMATURE_CLOSE" || error.code === "ERR_STREAM_UNABLE_TO_PIPE");

/** Leads to what is found elsewhere now; only 308 makes every client repeat a write as it was. */
export function sendMoved(exchange: Exchange, location: string) {
  const reads = exchange.request.method === "GET" || exchange.request.method === "HEAD";
  exchange.headers.push("cache-control", "no-cache", "location", location);
  const message = `This resource has been moved permanently to ${location}`;
  finish(exchange, reads ? 301 : 308, "application/json", JSON.stringify({ message }));
}

export function sendError(exchange: Exchange, thrown: unknown) {
  const { reply, log, id } = exchange;
  const { status, contentType, body, headers, bug } = (exchange.plainErrors ? gitErrorAnswer : errorAnswer)(thrown);
  if (bug) log.error({ request_id: id, operation: exchange.operation, err: withoutRow(thrown) }, "unexpected failure");
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  exchange.headers.push("cache-control", "no-cache", ...headers.flat());
  if (status === 304) return sendNothing(exchange, status);
  if (leavesBody(exchange, status)) exchange.headers.push("connection", "close");
  finish(exchange, status, contentType, body);
}

// PostgreSQL repeats the whole row that it refused, which is nobody's business but its owner's.
function withoutRow(thrown: unknown): unknown {
  if (thrown instanceof Error && "detail" in thrown) thrown.detail = undefined;
  return thrown;
}

function writeHead(exchange: Exchange, status: number, contentType: string | undefined) {
  const { reply, id, headers, budget, request, lifecycle, secure } = exchange;
  const all = [...FIXED, "x-request-id", id, ...headers];
  if (secure) all.push(...OVER_HTTPS);
  // A kept connection would hold up the stop until its time is over.
  if (lifecycle.stopping && !headers.includes("connection")) all.push("connection", "close");
  // What the handler said of its own answer wins.
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
    size > SMALL_ANSWER_BYTES && exchange.request.method !== "HEAD" ? chargeLarge(exchange, status, size) : undefined;
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
    // Behind other answers of its connection it has no socket yet.
    if (socket === null || socket.writableLength > 0) exchange.sending.holdUnsent(raw, consumerFor(exchange), size);
  }
  record(exchange, status);
}

/** Charges for a large answer. Only the success of a read can still be refused: a write was done. */
function chargeLarge(exchange: Exchange, status: number, size: number): Charge {
  const { charge, headers, request, sending } = exchange;
  exchange.charge = undefined;
  if (charge) return charge;
  if (request.method !== "GET" || status >= 400) return sending.charge(consumerFor(exchange), size);
  try {
    return sending.reserve(consumerFor(exchange), size);
  } catch (refusal) {
    // They describe the answer, not its refusal.
    headers.length = 0;
    throw refusal;
  }
}

/** A refused upload is not read to its end just to keep the connection. */
const leavesBody = ({ reply, streamed }: Exchange, status: number) =>
  status === 413 || (streamed && status >= 400 && !reply.raw.req.complete);

/** Closed while the upload still comes in, the system would take the answer back; so it is read on, but not for long. */
function endLater(raw: ServerResponse, body: string | Buffer) {
  raw.flushHeaders();
  raw.write(body);
  const end = () => {
    clearTimeout(timer);
    raw.end();
  };
  const timer = setTimeout(end, LINGER).unref();
  raw.req.once("end", end).once("close", end).resume();
}

/** One line a request, of named fields only: no header, no body and no query can slip in. */
function record({ request, id, address, startedAt, operation, meter, log, actor }: Exchange, status: number) {
  const took = performance.now() - startedAt;
  meter.count(status, took);
  log.info({
    request_id: id,
    method: request.method,
    path: loggedPath(request.originalUrl),
    operation,
    status,
    ms: Math.round(took * 10) / 10,
    ip: address,
    user_id: actor?.user.id,
    token_id: actor?.kind === "user by token" ? actor.token.id : undefined,
    session_id: actor?.kind === "user by session" ? actor.session.id : undefined,
    sudoer_id: actor?.sudoer?.id,
  });
}

function loggedPath(target: string): string {
  const mark = target.indexOf("?");
  const path = (mark === -1 ? target : target.slice(0, mark)).slice(0, 1024);
  return path.includes(TOKEN_PREFIX) ? path.replaceAll(/flpat-[^/]+/g, "[token]") : path;
}
