import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { addressIn, addressMatcher } from "#lib/networks.ts";
import { badParameter, Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { refuseBrokenRequest, refuseByHand } from "./by-hand.ts";
import { limitConnections } from "./connections.ts";
import type { Endpoint } from "./endpoint.ts";
import { noSuchRoute, wrongMethod } from "./errors.ts";
import { type Exchange, sendError, sendNothing } from "./exchange.ts";
import { type Kernel, type KernelOptions, makeKernel, open, refuseOversize } from "./kernel.ts";
import { namespaceAddress, rewriteTarget, routeOf } from "./paths.ts";
import { countRefused } from "./rate-limits.ts";
import { serve } from "./serve.ts";

export const API = "/api/v4";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const MOST_HEADER_BYTES = 64 * 1024;

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

export const addressOf = ({ mount, path }: Endpoint): string => (mount === "root" ? routeOf(path) : API + path);

/** Builds the application: the engine with its limits, every endpoint, and an answer for everything else. */
export function buildApp(services: Services, resources: Resources, options: KernelOptions = {}): FastifyInstance {
  const operations = operationsOf(resources);
  const kernel = makeKernel(services, options);
  const addresses = operations.flatMap(({ endpoint }) => namespaceAddress(endpoint.path) ?? []);
  const app = Fastify({
    logger: false,
    trustProxy: proxyTrust(services.config.trustedProxies),
    bodyLimit: Number.MAX_SAFE_INTEGER,
    connectionTimeout: 0,
    // The kernel limits bodies by their kind: a push may take long.
    requestTimeout: 0,
    keepAliveTimeout: 72_000,
    maxRequestsPerSocket: 0,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    exposeHeadRoutes: true,
    http: {
      maxHeaderSize: MOST_HEADER_BYTES,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1000,
      // The kernel checks it, and answers with a body.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 8192, ignoreDuplicateSlashes: false, querystringParser: () => ({}) },
    rewriteUrl: (request) => rewriteTarget(request.url ?? "/", addresses),
    clientErrorHandler: refuseBrokenRequest,
    frameworkErrors: (error, request, reply) => refuse(kernel, request, reply, badAddress(error)),
  });
  app.server.maxHeadersCount = 0;
  limitConnections(app.server, services.config);
  // Left to itself, Node closes a tunnel without a word and refuses an unknown expectation without a body.
  app.server.on("connect", (_request, socket) => refuseByHand(socket, 405, "Not Allowed"));
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));

  // Bodies are read by the kernel, when it knows who is asking and what the endpoint wants.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));

  registerAll(app, kernel, operations);
  app.setNotFoundHandler((request, reply) => refuse(kernel, request, reply, noSuchRoute()));
  app.setErrorHandler((error, request, reply) => refuse(kernel, request, reply, frameworkRefusal(error)));
  return app;
}

/** Which addresses are believed when they say whose request they forward; proxies may name each other with a port. */
function proxyTrust(trustedProxies: readonly string[]) {
  if (trustedProxies.length === 0) return false;
  const isTrusted = addressMatcher(trustedProxies);
  return (address: string | undefined) => isTrusted(addressIn(address ?? "") ?? "");
}

function registerAll(app: FastifyInstance, kernel: Kernel, operations: readonly Operation[]) {
  const methods = new Map<string, Set<string>>();
  for (const { name, endpoint } of operations) {
    const url = addressOf(endpoint);
    const shape = url.replaceAll(/:\w+/g, ":");
    methods.set(shape, (methods.get(shape) ?? new Set()).add(endpoint.method));
    app.route({ method: endpoint.method, url, handler: serve(kernel, name, endpoint) });
  }
  const seen = new Set<string>();
  for (const { endpoint } of operations) {
    const url = addressOf(endpoint);
    const shape = url.replaceAll(/:\w+/g, ":");
    if (seen.has(shape)) continue;
    seen.add(shape);
    answerOtherMethods(app, kernel, url, methods.get(shape) ?? new Set());
  }
}

/** A known path with another verb is 405 and names the verbs; a browser that asks first is told what it may send. */
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
      const exchange = openUnknown(kernel, request, reply);
      exchange.headers.push("allow", allow, "access-control-allow-methods", allow, "access-control-max-age", "7200");
      exchange.headers.push(
        "access-control-allow-headers",
        "authorization, content-type, idempotency-key, private-token, sudo",
      );
      sendNothing(exchange, 204);
    },
  });
}

/** Where only git asks, in vain, as for files of its older protocol; it shows people nothing but plain text. */
const OF_GIT = /^\/(?!api\/)[^?]*\.git\//;

const openUnknown = (kernel: Kernel, request: FastifyRequest, reply: FastifyReply): Exchange =>
  open(kernel, request, reply, "none", kernel.services.metrics.meterOf("none"), {
    plainErrors: OF_GIT.test(request.originalUrl),
  });

function refuse(
  kernel: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: unknown,
  headers: string[] = [],
) {
  const exchange = openUnknown(kernel, request, reply);
  exchange.headers.push(...headers);
  const answer = (error: unknown) => sendError(exchange, countRefused(kernel, exchange, "api", error));
  try {
    refuseOversize(request);
    answer(refusal);
  } catch (oversize) {
    answer(oversize);
  }
}

const badAddress = (error: Error & { code?: string }) =>
  error.code === "FST_ERR_BAD_URL" ? badParameter("The address is not well encoded") : error;

/** What the engine itself refuses before an endpoint is reached, such as a content type that cannot be read. */
function frameworkRefusal(error: unknown): unknown {
  const { statusCode = 500, message } = error as { statusCode?: number; message: string };
  if (statusCode === 415)
    return new Refusal("unsupported", message, { error: "The provided content-type is not supported." });
  return statusCode < 500 ? badParameter("The request cannot be read") : error;
}
