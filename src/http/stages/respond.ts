import { Readable } from "node:stream";
import { type Exchange, sendError, sendJson, sendMoved, sendNothing, sendPlain, sendStream } from "#http/exchange.ts";
import { countRefused } from "#http/rate-limits.ts";
import { linkTo } from "#http/request.ts";
import type { Route } from "#http/route.ts";
import { Refusal } from "#lib/refusal.ts";
import { parseTarget } from "./receive.ts";

/** Sends what the handler returned, without the fields that this installation does not have. */
export function respond(route: Route, exchange: Exchange, result: unknown): void | Promise<void> {
  const { success, contentType } = route;
  const body = route.gate(result);
  if (body === undefined) return sendNothing(exchange, success);
  if (contentType === undefined) return sendJson(exchange, exchange.status ?? success, body);
  if (body instanceof Readable) return sendStream(exchange, success, contentType, body);
  return sendPlain(exchange, success, contentType, body as string | Buffer);
}

/** Sends what was thrown: a redirect to the new path of something that moved, or an error. */
export function respondToError(route: Route, exchange: Exchange, error: unknown) {
  if (error instanceof Refusal && error.details.moved) {
    sendMoved(exchange, locationOf(route, exchange, error.details.moved));
    return;
  }
  reportRefusedSignIn(route, exchange, error);
  sendError(exchange, countRefused(route.kernel, exchange, route.limit, error));
}

function reportRefusedSignIn({ services }: Route, { address, id, operation }: Exchange, error: unknown) {
  const refused = error instanceof Refusal ? error.details.signIn : undefined;
  if (refused) services.reportRefusedSignIn({ ...refused, ip: address, request_id: id, operation });
}

/** The same request with an id in place of a previous path, and without a secret. */
function locationOf({ kernel }: Route, { request }: Exchange, { name, id }: { name: string; id: number }): string {
  const path = { ...(request.params as Record<string, string>), [name]: String(id) };
  const pattern = request.routeOptions.url ?? "";
  const target = pattern.replaceAll(/:(\w+)/g, (_, found: string) => encodeURIComponent(path[found] ?? ""));
  const site = kernel.siteOf(request);
  return linkTo(site, target, parseTarget(request.raw.url ?? ""), [], {}) ?? site + target;
}
