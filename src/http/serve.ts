import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import { type Origin, requireActor } from "#access/access.ts";
import { authenticate } from "#access/authenticate.ts";
import { badParameter, forbidden, Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { writeAudit } from "./audit.ts";
import { type Encoding, encodingOf, readBody, readSmallBody } from "./body.ts";
import { type AuditTarget, type Endpoint, pathNames, plainOf, schemaOf, successOf } from "./endpoint.ts";
import { noSuchRoute, targetTooLong } from "./errors.ts";
import { type Exchange, sendError, sendJson, sendMoved, sendNothing, sendPlain, sendStream } from "./exchange.ts";
import { fieldGate, offered, paidFor, withinPlan, withProperties } from "./gates.ts";
import { type LimitClass, refuseOverBudget, takeBudget } from "./limits.ts";
import { pager } from "./pages.ts";
import { type PagedMark, type PagingInput, pagingParams, readPaging } from "./paging.ts";
import { compileParams } from "./params/coerce.ts";
import { parseQuery } from "./params/brackets.ts";
import { parseJson } from "./params/json.ts";
import { readMultipart } from "./params/multipart.ts";
import { emptySet, merge, type RawSet, snakeCase } from "./params/raw.ts";
import { credentialsOf, linkTo, MOST_TARGET, requestIds, siteNamer } from "./request.ts";

/** What all endpoints of one application share. */
export interface Kernel {
  readonly services: Services;
  readonly newId: (now: number) => string;
  readonly siteOf: (request: FastifyRequest) => string;
}

export const makeKernel = (services: Services): Kernel => ({
  services,
  newId: requestIds(),
  siteOf: siteNamer(services.config),
});

const MOST_HEADERS = 100;

/** Opens an exchange and refuses what is too large to be looked at. */
export function open(
  { newId, services }: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: string,
  meter: Exchange["meter"],
  plainErrors = false,
): Exchange {
  reply.hijack();
  // A caller who is gone already has no address any more, whatever the type says.
  const { ip }: { ip: string | undefined } = request;
  return {
    request,
    reply,
    id: newId(Date.now()),
    address: ip ?? "0.0.0.0",
    startedAt: performance.now(),
    operation,
    headers: [],
    meter,
    log: services.log,
    plainErrors,
    lifecycle: services.lifecycle,
    actor: null,
    budget: undefined,
    status: undefined,
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

/** The parameters of an endpoint with those of its paging. */
export function paramsOf({ params, returns }: Endpoint): TObject {
  const paged = pagedOf(returns);
  return paged ? withProperties(params, { ...pagingParams(paged), ...params.properties }) : params;
}

export const pagedOf = (returns: Endpoint["returns"]): PagedMark["paged"] | undefined => {
  const schema: Partial<PagedMark> | undefined = schemaOf(returns);
  return schema?.paged;
};

/** Makes the function that lives one request of an endpoint from its first byte to its log line. */
export function serve(kernel: Kernel, operation: string, endpoint: Endpoint) {
  const { services } = kernel;
  const { config, db, metrics } = services;
  const names = pathNames(endpoint.path);
  const readParams = compileParams(withinPlan(paramsOf(endpoint), config), names);
  const gate = fieldGate(schemaOf(endpoint.returns), config);
  const meter = metrics.meterOf(operation);
  const paged = pagedOf(endpoint.returns);
  const pageFor = paged && pager(paged);
  const success = successOf(endpoint);
  const contentType = plainOf(endpoint.returns)?.contentType;
  const body = endpoint.body ?? "params";
  const limit = endpoint.limit ?? "api";
  const reads = endpoint.method === "GET";
  const isOffered = offered(endpoint, config);
  const isPaidFor = paidFor(endpoint, config);
  // A write gets its transaction instead, and nothing that would go around it.
  const data = reads ? { db: db.read, databases: db } : endpoint.transaction === "own" ? { databases: db } : undefined;
  const handle = endpoint.handle as (context: object) => unknown;
  const prepare = endpoint.prepare as ((context: object) => Promise<object>) | undefined;

  async function live(exchange: Exchange) {
    const { request } = exchange;
    refuseOversize(request);
    if (!isOffered) throw noSuchRoute();
    const path = request.params as Record<string, string>;
    const { encoding, raw } = await readRaw(request, path);
    const { actor, row } = await identify(exchange, raw);
    exchange.actor = actor;
    if (!isPaidFor) throw forbidden();
    const granted = await endpoint.access.check({ config, db, actor, row, path, address: exchange.address });
    const params = readParams(encoding === "multipart" ? await withMultipart(request, raw) : raw);
    const site = kernel.siteOf(request);
    const context: Record<string, unknown> = {
      services,
      site,
      requestId: exchange.id,
      setHeader: (name: string, value: string) => exchange.headers.push(name, value),
      ...granted,
      params,
      ...data,
    };
    if (paged && pageFor) {
      context["page"] = pageFor(readPaging(paged, params as PagingInput), db, {
        link: (changes) => linkTo(site, pathOf(request), raw, names, changes),
        setHeader: (name, value) => exchange.headers.push(name, value),
      });
    }
    if (body === "stream") context["body"] = request.raw;
    else if (body !== "params") {
      const bytes = await readBody(request.raw, body.bytes);
      context["body"] = bytes;
      context["json"] = () => parseJson(bytes, body.json);
    }
    if (prepare) Object.assign(context, await prepare(context));
    return gate(await run(context, exchange));
  }

  async function run(context: Record<string, unknown>, exchange: Exchange): Promise<unknown> {
    if (data) return handle(context);
    return db.transaction(async (tx) => {
      let target: AuditTarget | undefined;
      const answer = await handle({
        ...context,
        tx,
        audit: (named: AuditTarget) => (target = named),
        setStatus: (status: number) => (exchange.status = status),
      });
      await writeAudit(tx, endpoint.audit ?? operation, exchange.actor, originOf(exchange), target);
      return answer;
    });
  }

  // Tokens may stand in a small body, so that is read first; files, raw bodies and streams wait until the caller is known.
  async function readRaw(request: FastifyRequest, path: Record<string, string>) {
    const mark = request.raw.url?.indexOf("?") ?? -1;
    const query = mark === -1 ? emptySet() : parseQuery(request.raw.url?.slice(mark + 1) ?? "");
    if (body !== "params") return { encoding: "none" as Encoding, raw: merge(path, query, emptySet()) };
    const encoding = encodingOf(request.raw);
    return { encoding, raw: merge(path, query, await readSmallBody(request.raw, encoding)) };
  }

  async function identify(exchange: Exchange, raw: RawSet) {
    const caller = await authenticate(
      db,
      credentialsOf(exchange.request, raw, originOf(exchange)),
      endpoint.access,
      reads,
    );
    if (endpoint.access.signedIn) requireActor(caller.actor);
    if (caller.used) services.tokenUse.note(caller.used);
    count(services, exchange, limit, caller.actor?.user.id);
    return caller;
  }

  /** Where to ask again for what is found by another name now: the same request, by id and without a secret. */
  function locationOf({ request }: Exchange, { name, id }: { name: string; id: number }): string {
    const path = { ...(request.params as Record<string, string>), [name]: String(id) };
    const route = request.routeOptions.url ?? "";
    const target = route.replaceAll(/:(\w+)/g, (_, found: string) => encodeURIComponent(path[found] ?? ""));
    const site = kernel.siteOf(request);
    return linkTo(site, target, parseQuery(request.raw.url?.split("?", 2)[1] ?? ""), [], {}) ?? site + target;
  }

  async function withMultipart(request: FastifyRequest, raw: RawSet): Promise<RawSet> {
    const fields = await readMultipart(request.raw, request.headers);
    const known = endpoint.camelCase
      ? Object.fromEntries(Object.entries(fields).map(([name, value]) => [snakeCase(name), value]))
      : fields;
    return merge(request.params as Record<string, string>, raw, known);
  }

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const exchange = open(kernel, request, reply, operation, meter, endpoint.errors === "git");
    try {
      const answer = await live(exchange);
      if (answer === undefined) sendNothing(exchange, success);
      else if (contentType === undefined) sendJson(exchange, exchange.status ?? success, answer);
      else if (answer instanceof Readable) await sendStream(exchange, success, contentType, answer);
      else sendPlain(exchange, success, contentType, answer as string | Buffer);
    } catch (error) {
      if (error instanceof Refusal && error.details.moved)
        sendMoved(exchange, locationOf(exchange, error.details.moved));
      else sendError(exchange, countRefused(kernel, exchange, limit, error));
    }
  };
}

const originOf = ({ address, id }: Exchange): Origin => ({ address, requestId: id });

function count({ config, limiter }: Services, exchange: Exchange, limit: LimitClass, userId: number | undefined) {
  if (!config.rateLimits || limit === "none") return;
  exchange.budget = takeBudget(limiter, config, limit, userId, exchange.address);
  refuseOverBudget(exchange.budget, limit, Date.now());
}

/** A caller who is not let in counts against the address, so that guessing is limited too; past the limit that is told. */
export function countRefused({ services }: Kernel, exchange: Exchange, limit: LimitClass, refusal: unknown): unknown {
  if (exchange.budget) return refusal;
  try {
    count(services, exchange, limit, undefined);
    return refusal;
  } catch (overBudget) {
    return overBudget;
  }
}

const pathOf = (request: FastifyRequest) => request.originalUrl.split("?", 1)[0] ?? "";
