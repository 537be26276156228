import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { addressIn, addressMatcher } from "#lib/networks.ts";
import { badParameter, Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { rejectMalformedRequest, sendRawError } from "./raw-responses.ts";
import { limitConnections } from "./connections.ts";
import type { Endpoint } from "./endpoint.ts";
import { noSuchRoute, wrongMethod } from "./errors.ts";
import { type Exchange, sendError, sendNothing } from "./exchange.ts";
import { type Kernel, type KernelOptions, makeKernel, openExchange, refuseOversize } from "./kernel.ts";
import { API, rewritesOf, rewriteTarget, urlOf } from "./paths.ts";
import { countRefused } from "./rate-limits.ts";
import { serve } from "./serve.ts";
import { unencodedNames } from "./unencoded.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_HEADER_BYTES = 64 * 1024;

export type Resources = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;

/** An endpoint with the name it has in logs, metrics and documents. */
export interface Operation {
  readonly name: string;
  readonly endpoint: Endpoint;
}

export const operationsOf = (resources: Resources): Operation[] =>
  Object.entries(resources).flatMap(([resource, endpoints]) =>
    Object.entries(endpoints).map(([name, endpoint]) => ({ name: `${resource}.${name}`, endpoint })),
  );

/** Builds the application: the engine with its limits, every endpoint, and a response for everything else. */
export function buildApp(services: Services, resources: Resources, options: KernelOptions = {}): FastifyInstance {
  const operations = operationsOf(resources);
  const kernel = makeKernel(services, options);
  const rewrites = rewritesOf(operations.map(({ endpoint }) => endpoint));
  const app = Fastify({
    logger: false,
    trustProxy: proxyTrust(services.config.trustedProxies),
    bodyLimit: Number.MAX_SAFE_INTEGER,
    connectionTimeout: 0,
    // The kernel limits bodies by their kind, since a push may take long.
    requestTimeout: 0,
    keepAliveTimeout: 72_000,
    maxRequestsPerSocket: 0,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    exposeHeadRoutes: true,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1000,
      // The kernel checks it and responds with a body.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 8192, ignoreDuplicateSlashes: false, querystringParser: () => ({}) },
    rewriteUrl: (request) => rewriteTarget(request.url ?? "/", rewrites),
    clientErrorHandler: rejectMalformedRequest,
    frameworkErrors: (error, request, reply) => refuse(kernel, request, reply, badTarget(error)),
  });
  app.server.maxHeadersCount = 0;
  limitConnections(app.server, services.config);
  // By default Node closes a tunnel silently and refuses an unknown expectation without a body.
  app.server.on("connect", (_request, socket) => sendRawError(socket, 405, "Not Allowed"));
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));

  // The kernel reads bodies, once it knows the caller and the kind of body that the endpoint takes.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));

  registerAll(app, kernel, operations);
  const isUnencoded = unencodedNames(operations.map(({ endpoint }) => endpoint));
  app.setNotFoundHandler((request, reply) => {
    const [path = ""] = request.url.split("?", 1);
    refuse(kernel, request, reply, noSuchRoute(isUnencoded(path) ? ENCODE_SLASHES : undefined));
  });
  app.setErrorHandler((error, request, reply) => refuse(kernel, request, reply, frameworkRefusal(error)));
  return app;
}

const ENCODE_SLASHES = "A slash within a name is written as %2F: /projects/group%2Fproject";

/** The addresses whose `X-Forwarded-For` is trusted; proxies may name each other with a port. */
function proxyTrust(trustedProxies: readonly string[]) {
  if (trustedProxies.length === 0) return false;
  const isTrusted = addressMatcher(trustedProxies);
  return (address: string | undefined) => isTrusted(addressIn(address ?? "") ?? "");
}

function registerAll(app: FastifyInstance, kernel: Kernel, operations: readonly Operation[]) {
  /** The methods of each path, and one of its spellings: two endpoints may call the same parameter differently. */
  const paths = new Map<string, { readonly url: string; readonly methods: Set<string> }>();
  for (const { name, endpoint } of operations) {
    const { method, alias } = endpoint;
    const handler = serve(kernel, name, endpoint);
    for (const url of [urlOf(endpoint), ...(alias === undefined ? [] : [API + alias])]) {
      app.route({ method, url, handler });
      const shape = url.replaceAll(/:\w+/g, ":");
      const path = paths.get(shape) ?? { url, methods: new Set() };
      paths.set(shape, path);
      path.methods.add(method);
    }
  }
  for (const { url, methods } of paths.values()) answerOtherMethods(app, kernel, url, methods);
}

/** Responds to other methods of a known path with 405 and the allowed ones, and to the preflight of a browser. */
function answerOtherMethods(app: FastifyInstance, kernel: Kernel, url: string, served: ReadonlySet<string>) {
  const allow = [...METHODS.filter((method) => served.has(method)), ...(served.has("GET") ? ["HEAD"] : [])].join(", ");
  const others = METHODS.filter((method) => !served.has(method));
  if (others.length > 0) {
    app.route({
      method: [...others],
      url,
      handler: (request, reply) => refuse(kernel, request, reply, wrongMethod(), ["allow", allow]),
    });
  }
  app.route({
    method: "OPTIONS",
    url,
    handler(request, reply) {
      const exchange = openUnrouted(kernel, request, reply);
      exchange.headers.push("allow", allow, "access-control-allow-methods", allow, "access-control-max-age", "7200");
      exchange.headers.push(
        "access-control-allow-headers",
        "authorization, content-type, idempotency-key, if-unmodified-since, private-token, sudo",
      );
      sendNothing(exchange, 204);
    },
  });
}

/** Paths that only git requests, such as files of its dumb protocol; it shows people only plain text. */
const GIT_PATH = /^\/(?!api\/)[^?]*\.git\//;

const openUnrouted = (kernel: Kernel, request: FastifyRequest, reply: FastifyReply): Exchange =>
  openExchange(kernel, request, reply, {
    operation: "none",
    meter: kernel.services.metrics.http.meterOf("none"),
    plainErrors: GIT_PATH.test(request.originalUrl),
    streamed: false,
  });

function refuse(
  kernel: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: unknown,
  headers: string[] = [],
) {
  const exchange = openUnrouted(kernel, request, reply);
  exchange.headers.push(...headers);
  const send = (error: unknown) => sendError(exchange, countRefused(kernel, exchange, "api", error));
  try {
    refuseOversize(request);
    send(refusal);
  } catch (oversize) {
    send(oversize);
  }
}

const badTarget = (error: Error & { code?: string }) =>
  error.code === "FST_ERR_BAD_URL" ? badParameter("The address is not well encoded") : error;

/** Maps the errors that the engine raises before an endpoint is reached, such as an unreadable content type. */
function frameworkRefusal(error: unknown): unknown {
  const { statusCode = 500, message } = error as { statusCode?: number; message: string };
  if (statusCode === 415)
    return new Refusal("unsupported", message, { error: "The provided content-type is not supported." });
  return statusCode < 500 ? badParameter("The request cannot be read") : error;
}
