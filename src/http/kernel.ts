import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ANONYMOUS } from "#access/principal.ts";
import { memoryBudget } from "#lib/memory-budget.ts";
import { badParameter, Refusal } from "#lib/refusal.ts";
import { MIN_TRANSFER_RATE, type TransferRate } from "#lib/transfer-rate.ts";
import type { Constraints } from "#db/errors.ts";
import type { Services } from "#services.ts";
import { hasBody } from "./body.ts";
import { isSecure } from "./cookies.ts";
import { targetTooLong } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { addressOf, MAX_TARGET_LENGTH, originChecker, requestIds, siteNamer } from "./request.ts";
import { responseSending, type Sending } from "./sending.ts";
import { limitBodyTime, watchStream } from "./timeouts.ts";

/** What all endpoints of an application share. */
export interface Kernel {
  readonly services: Services;
  readonly newId: (now: number) => string;
  readonly siteOf: (request: FastifyRequest) => string;
  readonly isOwnOrigin: (request: FastifyRequest, origin: string) => boolean;
  /** Warns once that browsers use sessions over plain http, where they send fewer headers. */
  readonly warnOfPlainSession: () => void;
  readonly sending: Sending;
  readonly constraints: Constraints;
}

export interface KernelOptions {
  /** Clients below this rate are disconnected. */
  readonly minTransferRate?: TransferRate;
  /** The refusals for violated constraints of the schema. */
  readonly constraints?: Constraints;
}

export function makeKernel(
  services: Services,
  { minTransferRate = MIN_TRANSFER_RATE, constraints = {} }: KernelOptions = {},
): Kernel {
  const siteOf = siteNamer(services.config);
  let isWarned = false;
  return {
    services,
    newId: requestIds(),
    siteOf,
    isOwnOrigin: originChecker(services.config, siteOf),
    warnOfPlainSession() {
      if (isWarned) return;
      isWarned = true;
      services.log.warn("a browser uses a session and sends no Sec-Fetch-Site: serve this site over https");
    },
    sending: responseSending(memoryBudget(services.config.maxUnsentBytes), minTransferRate),
    constraints,
  };
}

const MAX_HEADERS = 100;

interface RouteOfExchange extends Pick<Exchange, "operation" | "meter" | "plainErrors" | "streamed"> {
  readonly responseHeaders?: readonly string[];
}

/** Opens an exchange and sets the deadline of its body. */
export function openExchange(
  { newId, services, sending, constraints }: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  { operation, meter, plainErrors, streamed, responseHeaders = [] }: RouteOfExchange,
): Exchange {
  reply.hijack();
  if (streamed) watchStream(request.raw, reply.raw, sending.rate);
  else if (hasBody(request.raw)) limitBodyTime(request.raw, reply.raw);
  return {
    request,
    reply,
    id: newId(Date.now()),
    address: addressOf(request),
    startedAt: performance.now(),
    secure: isSecure(services.config, request.protocol),
    operation,
    headers: [...responseHeaders],
    meter,
    log: services.log,
    plainErrors,
    constraints,
    streamed,
    lifecycle: services.lifecycle,
    sending,
    ignored: new Set(),
    principal: ANONYMOUS,
    budget: undefined,
    failure: undefined,
    status: undefined,
    charge: undefined,
    reserved: 0,
  };
}

export function refuseOversize(request: FastifyRequest) {
  if (request.originalUrl.length > MAX_TARGET_LENGTH) throw targetTooLong();
  if (request.raw.rawHeaders.length > MAX_HEADERS * 2) {
    throw new Refusal("too many headers", "431 Request Header Fields Too Large", { error: "Too many headers" });
  }
  requireOneHost(request.raw);
}

/** Refuses several hosts, of which a proxy in front could use another than we do. */
function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage) {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) throw badParameter("The request must name one host");
}
