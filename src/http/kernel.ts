import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { memoryBudget } from "#lib/memory-budget.ts";
import { badParameter, Refusal } from "#lib/refusal.ts";
import { MIN_TRANSFER_RATE, type TransferRate } from "#lib/transfer-rate.ts";
import type { Services } from "#services.ts";
import { hasBody } from "./body.ts";
import { isSecure } from "./cookies.ts";
import { targetTooLong } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { addressOf, MOST_TARGET, originChecker, requestIds, siteNamer } from "./request.ts";
import { answerSending, type Sending } from "./sending.ts";
import { hurryBody, watchStream } from "./timeouts.ts";

/** What all endpoints of one application share. */
export interface Kernel {
  readonly services: Services;
  readonly newId: (now: number) => string;
  readonly siteOf: (request: FastifyRequest) => string;
  readonly isOwnOrigin: (request: FastifyRequest, origin: string) => boolean;
  /** Warns once that sessions are used by a browser that says less than it would over https. */
  readonly warnOfPlainSession: () => void;
  readonly sending: Sending;
}

export interface KernelOptions {
  /** Whoever takes or sends less is disconnected. */
  readonly minTransferRate?: TransferRate;
}

export function makeKernel(services: Services, { minTransferRate = MIN_TRANSFER_RATE }: KernelOptions = {}): Kernel {
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
    sending: answerSending(memoryBudget(services.config.maxUnsentBytes), minTransferRate),
  };
}

const MOST_HEADERS = 100;

interface Kind {
  /** Whether what goes wrong is told as git shows it. */
  readonly plainErrors?: boolean;
  /** Whether the body is a stream, which may take long as long as it comes. */
  readonly streamed?: boolean;
}

/** Opens an exchange and sets the time that its body has. */
export function open(
  { newId, services, sending }: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: string,
  meter: Exchange["meter"],
  { plainErrors = false, streamed = false }: Kind = {},
): Exchange {
  reply.hijack();
  if (streamed) watchStream(request.raw, reply.raw, sending.rate);
  else if (hasBody(request.raw)) hurryBody(request.raw, reply.raw);
  return {
    request,
    reply,
    id: newId(Date.now()),
    address: addressOf(request),
    startedAt: performance.now(),
    secure: isSecure(services.config, request.protocol),
    operation,
    headers: [],
    meter,
    log: services.log,
    plainErrors,
    streamed,
    lifecycle: services.lifecycle,
    sending,
    actor: null,
    budget: undefined,
    status: undefined,
    charge: undefined,
  };
}

export function refuseOversize(request: FastifyRequest) {
  if (request.originalUrl.length > MOST_TARGET) throw targetTooLong();
  if (request.raw.rawHeaders.length > MOST_HEADERS * 2) {
    throw new Refusal("too many headers", "431 Request Header Fields Too Large", { error: "Too many headers" });
  }
  refuseHosts(request.raw);
}

/** Servers in front of us could take another host than we do, were there two of them. */
function refuseHosts({ rawHeaders, httpVersion }: IncomingMessage) {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) throw badParameter("The request must name one host");
}
