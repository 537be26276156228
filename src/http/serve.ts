import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import { type Origin, requireActor } from "#access/access.ts";
import { ANONYMOUS, authenticate, type Authenticated } from "#access/authenticate.ts";
import { forbidden, Refusal } from "#lib/refusal.ts";
import { writeAudit } from "./audit.ts";
import { type Encoding, encodingOf, mayBeLarge, readBody, readBodyParams, streamBody } from "./body.ts";
import { cookieNameFor } from "./cookies.ts";
import { type AuditTarget, type Endpoint, pathNames, plainOf, schemaOf, successOf } from "./endpoint.ts";
import { noSuchRoute } from "./errors.ts";
import {
  consumerFor,
  type Exchange,
  goneSignal,
  reserveMemory,
  sendError,
  sendJson,
  sendMoved,
  sendNothing,
  sendPlain,
  sendStream,
} from "./exchange.ts";
import { fieldGate, offered, paidFor, withinPlan, withProperties } from "./gates.ts";
import {
  keepAnswer,
  type KeptAnswer,
  type Keyed,
  keyedRequest,
  requestDigest,
  takePlace,
  whoRepeats,
} from "./kept-answers.ts";
import { type Kernel, open, refuseOversize } from "./kernel.ts";
import { longLivedConnections } from "./long-lived.ts";
import { pager } from "./pages.ts";
import { type PagedMark, type PagingInput, pagingParams, readPaging } from "./paging.ts";
import { compileParams } from "./params/coerce.ts";
import { parseQuery } from "./params/brackets.ts";
import { parseJson } from "./params/json.ts";
import { readMultipart } from "./params/multipart.ts";
import { emptySet, merge, type RawSet, snakeCase } from "./params/raw.ts";
import { countRefused, countRequest } from "./rate-limits.ts";
import { credentialsOf, linkTo } from "./request.ts";

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
  const { config, db, metrics, settings } = services;
  const names = pathNames(endpoint.path);
  const readParams = compileParams(withinPlan(paramsOf(endpoint), config), names);
  const gate = fieldGate(schemaOf(endpoint.returns), config);
  const meter = metrics.meterOf(operation);
  const paged = pagedOf(endpoint.returns);
  const pageFor = paged && pager(paged);
  const success = successOf(endpoint);
  const contentType = plainOf(endpoint.returns)?.contentType;
  const body = endpoint.body ?? "params";
  const kind = { plainErrors: endpoint.errors === "git", streamed: body === "stream" };
  const limit = endpoint.limit ?? "api";
  const enter = endpoint.longLived && longLivedConnections(endpoint.longLived, kernel.sending);
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
    const sent = async () => readParams(await withRest(request, raw, encoding));
    const caller = endpoint.keepsAnswer ? await identifyOrRepeat(exchange, raw, sent) : await identify(exchange, raw);
    if ("repeated" in caller) return gate(caller.repeated);
    const { actor, again } = caller;
    exchange.actor = actor;
    if (!isPaidFor) throw forbidden();
    const check = ({ actor, row }: Authenticated) =>
      endpoint.access.check({ config, settings, db, actor, row, path, ...originOf(exchange) });
    const granted = await check(caller);
    const params = await sent();
    const bytes = typeof body === "object" ? await readBody(request.raw, body.bytes) : undefined;
    // Whoever sends slowly may have lost their rights meanwhile.
    const later = bytes || encoding === "multipart" || isLate(request) ? await check(await again()) : undefined;
    const site = kernel.siteOf(request);
    const context: Record<string, unknown> = {
      services,
      site,
      requestId: exchange.id,
      consumer: consumerFor(exchange),
      reserveMemory: (bytes: number) => reserveMemory(exchange, bytes),
      header: (name: string) => request.headers[name]?.toString(),
      setHeader: (name: string, value: string) => exchange.headers.push(name, value),
      gone: () => goneSignal(exchange.reply.raw),
      reauthenticate: async () => (await again()).actor,
      ...(later ?? granted),
      params,
      ...data,
    };
    if (paged && pageFor) {
      context["page"] = pageFor(readPaging(paged, params as PagingInput), db, {
        link: (changes) => linkTo(site, pathOf(request), raw, names, changes),
        setHeader: (name, value) => exchange.headers.push(name, value),
      });
    }
    if (body === "stream") context["body"] = streamBody(request.raw, exchange.reply.raw);
    else if (bytes && typeof body === "object") {
      context["body"] = bytes;
      context["json"] = () => parseJson(bytes, body.json);
    }
    const keyed = endpoint.keepsAnswer && keyedRequest(request.headers, caller, operation, params);
    enter?.(exchange.reply.raw);
    if (prepare) Object.assign(context, await prepare(context));
    return gate(await run(context, exchange, keyed));
  }

  async function run(context: Record<string, unknown>, exchange: Exchange, keyed: Keyed | undefined): Promise<unknown> {
    if (data) return reads ? handle(context) : runOutside(context, exchange);
    const { kept, answer } = await db.transaction(async (tx) => {
      const kept = keyed && (await takePlace(tx, services.sealing, keyed));
      if (kept) return { kept };
      let target: AuditTarget | undefined;
      const answer = await handle({
        ...context,
        tx,
        audit: (named: AuditTarget) => (target = named),
        setStatus: (status: number) => (exchange.status = status),
      });
      await writeAudit(tx, endpoint.audit ?? operation, exchange.actor, originOf(exchange), target);
      if (keyed) await keepAnswer(tx, services.sealing, keyed, { status: exchange.status ?? success, answer });
      return { answer };
    });
    return kept ? told(exchange, kept) : answer;
  }

  /** A write that has its own transactions: what it says it was done to is written down behind them. */
  async function runOutside(context: Record<string, unknown>, exchange: Exchange): Promise<unknown> {
    let target: AuditTarget | undefined;
    try {
      return await handle({
        ...context,
        audit: (named: AuditTarget) => (target = named),
        setStatus: (status: number) => (exchange.status = status),
      });
    } finally {
      // Once it was said, it was done, whatever went wrong with the answer.
      if (target) {
        await db.transaction((tx) =>
          writeAudit(tx, endpoint.audit ?? operation, exchange.actor, originOf(exchange), target),
        );
      }
    }
  }

  /** A rotation ends the token that asks for it, which must not keep its caller from asking again. */
  async function identifyOrRepeat(exchange: Exchange, raw: RawSet, sent: () => Promise<object>) {
    const before = await answerAgain(exchange, raw, sent);
    if (before !== undefined) return { repeated: before };
    try {
      return await identify(exchange, raw);
    } catch (refusal) {
      // The rotation may have come to its end between the two looks.
      const after = await answerAgain(exchange, raw, sent);
      if (after === undefined) throw refusal;
      return { repeated: after };
    }
  }

  async function answerAgain(exchange: Exchange, raw: RawSet, sent: () => Promise<object>): Promise<unknown> {
    const { request } = exchange;
    const { tokens, sudo } = credentialsOf(request, raw, originOf(exchange), ownSiteOf(request));
    const [token, ...others] = tokens;
    if (token === undefined || others.length > 0 || sudo !== undefined) return undefined;
    const repeated = await whoRepeats(db, services.sealing, request.headers, token);
    if (!repeated) return undefined;
    const { actor } = repeated;
    exchange.actor = actor;
    countRequest(services, exchange, limit, actor);
    return told(exchange, await repeated.answer(requestDigest(operation, actor, await sent())));
  }

  // Tokens may stand in a small body, so that is read first; all others wait until the caller is known.
  async function readRaw(request: FastifyRequest, path: Record<string, string>) {
    const mark = request.raw.url?.indexOf("?") ?? -1;
    const query = mark === -1 ? emptySet() : parseQuery(request.raw.url?.slice(mark + 1) ?? "");
    if (body !== "params") return { encoding: "none" as Encoding, raw: merge(path, query, emptySet()) };
    const encoding = encodingOf(request.raw);
    const small = isLate(request) ? emptySet() : await readBodyParams(request.raw, encoding);
    return { encoding, raw: merge(path, query, small) };
  }

  const isLate = ({ raw }: FastifyRequest) => endpoint.mostBody !== undefined && mayBeLarge(raw);

  /** With what waited until the caller was known. */
  async function withRest(request: FastifyRequest, raw: RawSet, encoding: Encoding): Promise<RawSet> {
    if (encoding === "multipart") return withMultipart(request, raw);
    if (!isLate(request)) return raw;
    const rest = await readBodyParams(request.raw, encoding, endpoint.mostBody);
    return merge(request.params as Record<string, string>, raw, rest);
  }

  const ownSiteOf = (request: FastifyRequest) => ({
    cookieName: () => cookieNameFor(config, kernel.siteOf(request)),
    isOrigin: (origin: string) => kernel.isOwnOrigin(request, origin),
  });

  async function identify(exchange: Exchange, raw: RawSet) {
    if (endpoint.access.ignoresCredentials) return { ...ANONYMOUS, again: () => Promise.resolve(ANONYMOUS) };
    const { request } = exchange;
    const credentials = credentialsOf(request, raw, originOf(exchange), ownSiteOf(request), endpoint.access.forGit);
    const caller = await authenticate(db, credentials, endpoint.access, reads);
    // A token that ended during its own request is refused, but nobody showed it after its end.
    const rule = { ...endpoint.access, onRevokedToken: () => Promise.resolve() };
    const again = () => authenticate(db, credentials, rule, reads);
    if (caller.actor?.kind === "user by session" && request.headers["sec-fetch-site"] === undefined)
      kernel.warnOfPlainSession();
    if (endpoint.access.signedIn) requireActor(caller.actor);
    if (caller.used) services.tokenUse.note(caller.used);
    countRequest(services, exchange, limit, caller.actor);
    return { ...caller, again };
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
    const exchange = open(kernel, request, reply, operation, meter, kind);
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
    } finally {
      exchange.charge?.release();
    }
  };
}

/** An answer that was given before. */
function told(exchange: Exchange, { status, answer }: KeptAnswer): unknown {
  exchange.status = status;
  exchange.headers.push("idempotency-replayed", "true");
  return answer;
}

const originOf = ({ address, id, request }: Exchange): Origin => ({
  address,
  requestId: id,
  agent: request.headers["user-agent"] ?? "",
});

const pathOf = (request: FastifyRequest) => request.originalUrl.split("?", 1)[0] ?? "";
