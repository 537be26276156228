import { readBody, readBodyParams, streamBody } from "#http/body.ts";
import type { HandlerContext, RawBody } from "#http/endpoint.ts";
import { consumerFor, type Exchange, goneSignal, reserveMemory } from "#http/exchange.ts";
import { type PagingInput, readPaging } from "#http/paging.ts";
import { parseJson } from "#http/params/json.ts";
import { readMultipart } from "#http/params/multipart.ts";
import { merge, type RawSet, snakeCase } from "#http/params/raw.ts";
import { unlessModifiedSince } from "#http/preconditions.ts";
import { countContent, lengthOfTexts } from "#http/rate-limits.ts";
import { linkTo } from "#http/request.ts";
import type { Route } from "#http/route.ts";
import { authorize, type Granted } from "./authorize.ts";
import type { Identity } from "./identify.ts";
import type { Received } from "./receive.ts";

/** Reads the rest of the body, converts the parameters to their types, and builds the context of the handler. */
export async function bind(
  route: Route,
  exchange: Exchange,
  received: Received,
  identity: Identity,
  granted: Granted,
): Promise<HandlerContext> {
  const params = await readParams(route, exchange, received);
  const bytes = typeof route.body === "object" ? await readRawBody(exchange, route.body) : undefined;
  // A slow sender may have lost their rights while the body arrived.
  const isLate = received.isBodyDeferred || bytes !== undefined;
  const current = isLate ? await authorize(route, received, await identity.reauthenticate()) : granted;
  if (!route.isRead && !storesInRepositories(route)) countContent(route.services, exchange, lengthOfTexts(params));
  return contextFor(route, exchange, received, identity, current, params, bytes);
}

/** Reads a body that stays bytes, once there is memory for it. */
function readRawBody(exchange: Exchange, { bytes: limit }: RawBody): Promise<Buffer> {
  const { raw } = exchange.request;
  const { "content-length": length } = raw.headers;
  reserveMemory(exchange, length === undefined ? limit : Math.min(Number(length), limit));
  return readBody(raw, limit);
}

/** Repositories have a quota of their own. */
const storesInRepositories = ({ endpoint }: Route) => endpoint.maxBodyBytes !== undefined;

/** The typed parameters of a request; a deferred body is read now. */
export const readParams = (route: Route, exchange: Exchange, received: Received): object | Promise<object> =>
  received.isBodyDeferred ? readDeferredParams(route, exchange, received) : coerceParams(route, exchange, received.raw);

/** What has no effect is named in the response, also where the rest is refused. */
function coerceParams({ ignoredParams, coerceParams: coerce }: Route, { ignored }: Exchange, raw: RawSet): object {
  for (const name of ignoredParams(raw)) ignored.add(name);
  return coerce(raw);
}

async function readDeferredParams(route: Route, exchange: Exchange, { raw, path, encoding }: Received) {
  const { request } = exchange;
  const body =
    encoding === "multipart"
      ? inSnakeCase(route, await readMultipart(request.raw, request.headers))
      : await readBodyParams(request.raw, encoding, route.endpoint.maxBodyBytes);
  return coerceParams(route, exchange, merge(path, raw, body));
}

const inSnakeCase = ({ endpoint }: Route, fields: RawSet): RawSet =>
  endpoint.camelCase
    ? Object.fromEntries(Object.entries(fields).map(([name, value]) => [snakeCase(name), value]))
    : fields;

/** Builds the context of a handler: the one place that decides what a handler gets. */
function contextFor(
  route: Route,
  exchange: Exchange,
  received: Received,
  identity: Identity,
  granted: Granted,
  params: object,
  bytes: Buffer | undefined,
): HandlerContext {
  const { services } = route;
  const { request, reply, headers } = exchange;
  const site = route.kernel.siteOf(request);
  const setHeader = (name: string, value: string) => {
    // What is set twice is sent once.
    if (!headers.some((known, index) => known === name && headers[index + 1] === value)) headers.push(name, value);
  };
  return {
    services,
    site,
    requestId: exchange.id,
    consumer: consumerFor(exchange),
    reserveMemory: (bytes) => reserveMemory(exchange, bytes),
    countContent: (characters) => countContent(services, exchange, characters),
    header: (name) => request.headers[name]?.toString(),
    setHeader,
    ignored: (name) => void exchange.ignored.add(name),
    gone: () => goneSignal(reply.raw),
    failed: (reason) => void (exchange.failure = reason),
    reauthenticate: async () => (await identity.reauthenticate()).principal,
    ...granted,
    params,
    ...route.databases,
    ...pageFor(route, exchange, received, params, site, setHeader),
    ...bodyFor(route, exchange, bytes),
    ...(route.endpoint.conditional && {
      unlessModified: unlessModifiedSince(request.headers["if-unmodified-since"]),
    }),
  };
}

function pageFor(
  { paging, pathNames, services }: Route,
  { request }: Exchange,
  { raw }: Received,
  params: PagingInput,
  site: string,
  setHeader: HandlerContext["setHeader"],
): Pick<HandlerContext, "page"> | undefined {
  if (!paging) return undefined;
  const path = request.originalUrl.split("?", 1)[0] ?? "";
  const link = (changes: Parameters<typeof linkTo>[4]) => linkTo(site, path, raw, pathNames, changes);
  return { page: paging.pageFor(readPaging(paging.options, params), services.db, { link, setHeader }) };
}

function bodyFor(
  { body }: Route,
  { request, reply }: Exchange,
  bytes: Buffer | undefined,
): Pick<HandlerContext, "body" | "json"> | undefined {
  if (body === "stream") return { body: streamBody(request.raw, reply.raw) };
  return typeof body === "object" && bytes ? { body: bytes, json: () => parseJson(bytes, body.json) } : undefined;
}
