import type { Origin } from "#access/access.ts";
import { type Encoding, encodingOf, mayBeLarge, readBodyParams } from "#http/body.ts";
import { noSuchRoute } from "#http/errors.ts";
import type { Exchange } from "#http/exchange.ts";
import { refuseOversize } from "#http/kernel.ts";
import { parseQuery } from "#http/params/brackets.ts";
import { emptySet, merge, type RawSet } from "#http/params/raw.ts";
import type { Route } from "#http/route.ts";
import { unavailable } from "#lib/refusal.ts";

/** A request as it arrived, before anything in it is trusted. */
export interface Received {
  readonly origin: Origin;
  readonly path: Readonly<Record<string, string>>;
  /** The parameters of path, query and small body, untyped. */
  readonly raw: RawSet;
  readonly encoding: Encoding;
  /** Whether the parameters of the body are read only once the caller is authorized. */
  readonly isBodyDeferred: boolean;
}

/** Checks the limits of a request and parses its query and small body, in which a token may be. */
export async function receive(route: Route, { request, address, id }: Exchange): Promise<Received> {
  refuseOversize(request);
  if (!route.isOffered) throw noSuchRoute();
  refuseUntilReady(route);
  const path = request.params as Record<string, string>;
  const origin = { address, requestId: id, agent: request.headers["user-agent"] ?? "" };
  const query = parseTarget(request.raw.url ?? "");
  const encoding = route.body === "params" ? encodingOf(request.raw) : "none";
  const isBodyDeferred =
    encoding === "multipart" || (route.endpoint.maxBodyBytes !== undefined && mayBeLarge(request.raw));
  const body = encoding === "none" || isBodyDeferred ? undefined : await readBodyParams(request.raw, encoding);
  return { origin, path, raw: merge(path, query, body), encoding, isBodyDeferred };
}

const RETRY_SECONDS = 5;

/** Refuses everything but the probes that need no database. */
function refuseUntilReady({ services: { lifecycle }, endpoint: { access } }: Route) {
  if (lifecycle.notReady !== undefined && !access.ignoresCredentials)
    throw unavailable(RETRY_SECONDS, lifecycle.notReady);
}

/** The parameters in the query of a request target. */
export function parseTarget(target: string): RawSet {
  const mark = target.indexOf("?");
  return mark === -1 ? emptySet() : parseQuery(target.slice(mark + 1));
}
