import type { FastifyReply, FastifyRequest } from "fastify";
import type { Endpoint } from "./endpoint.ts";
import { consumerFor, type Exchange } from "./exchange.ts";
import { identifyOrReplay } from "./idempotency/replay.ts";
import { type Kernel, openExchange } from "./kernel.ts";
import { makeRoute, type Route } from "./route.ts";
import { authorize } from "./stages/authorize.ts";
import { bind } from "./stages/bind.ts";
import { execute } from "./stages/execute.ts";
import { identify } from "./stages/identify.ts";
import { receive } from "./stages/receive.ts";
import { respond, respondToError } from "./stages/respond.ts";

/** Creates the function that serves the requests of an endpoint, from the first byte to the log line. */
export function serve(kernel: Kernel, operation: string, endpoint: Endpoint) {
  const route = makeRoute(kernel, operation, endpoint);
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const exchange = openExchange(kernel, request, reply, route);
    const work = { consumer: () => consumerFor(exchange), reads: route.isRead };
    try {
      await respond(route, exchange, await kernel.services.db.onBehalfOf(work, () => run(route, exchange)));
    } catch (error) {
      respondToError(route, exchange, error);
    } finally {
      exchange.charge?.release();
    }
  };
}

async function run(route: Route, exchange: Exchange): Promise<unknown> {
  const received = await receive(route, exchange);
  const identity = await (route.endpoint.idempotent ? identifyOrReplay : identify)(route, exchange, received);
  if ("replayed" in identity) return identity.replayed;
  const granted = await authorize(route, received, identity.caller);
  const context = await bind(route, exchange, received, identity, granted);
  return execute(route, exchange, received, identity.caller, context);
}
