import { tokenDigest } from "#access/authenticate.ts";
import type { Exchange } from "#http/exchange.ts";
import { countRequest } from "#http/rate-limits.ts";
import type { Route } from "#http/route.ts";
import { readParams } from "#http/stages/bind.ts";
import { credentialsFor, identify, type Identity } from "#http/stages/identify.ts";
import type { Received } from "#http/stages/receive.ts";
import { requestDigest, validIdempotencyKey } from "./keyed-request.ts";
import { findReplay, type StoredResponse } from "./responses.ts";

/** A request may revoke the token that it was sent with; its caller can still repeat it. */
export async function identifyOrReplay(
  route: Route,
  exchange: Exchange,
  received: Received,
): Promise<Identity | { readonly replayed: unknown }> {
  const before = await replayToEnded(route, exchange, received);
  if (before) return before;
  try {
    return await identify(route, exchange, received);
  } catch (refusal) {
    // The first request may have committed between the two lookups.
    const after = await replayToEnded(route, exchange, received);
    if (after) return after;
    throw refusal;
  }
}

async function replayToEnded(route: Route, exchange: Exchange, received: Received) {
  const key = validIdempotencyKey(exchange.request.headers);
  const replayFor = route.endpoint.idempotent?.replayFor;
  const { tokens, sudo } = credentialsFor(route, exchange, received);
  const [token, ...others] = tokens;
  if (key === undefined || !replayFor || token === undefined || others.length > 0 || sudo !== undefined)
    return undefined;
  const { db, sealing } = route.services;
  const credential = tokenDigest(token);
  const replay = await findReplay(db, sealing, { credential, key });
  const actor = replay && (await replayFor(db, credential, replay.storedAt));
  if (!actor) return undefined;
  exchange.principal = actor;
  countRequest(route.services, exchange, route.limit, actor);
  const params = await readParams(route, exchange, received);
  return { replayed: replayed(exchange, await replay.open(requestDigest(route.operation, actor, params))) };
}

/** Marks a response as replayed and returns its body. */
export function replayed(exchange: Exchange, { status, body }: StoredResponse): unknown {
  exchange.status = status;
  exchange.headers.push("idempotency-replayed", "true");
  return body;
}
