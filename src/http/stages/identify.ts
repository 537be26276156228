import { type Access, requireAdmitted } from "#access/access.ts";
import { authenticate, type Authenticated, type Credentials, UNAUTHENTICATED } from "#access/authenticate.ts";
import { actorOf } from "#access/principal.ts";
import { cookieNameFor } from "#http/cookies.ts";
import type { Exchange } from "#http/exchange.ts";
import { countRequest } from "#http/rate-limits.ts";
import { authorizationOf, credentialsOf } from "#http/request.ts";
import type { Route } from "#http/route.ts";
import type { Received } from "./receive.ts";

export interface Identity {
  readonly caller: Authenticated;
  /** Authenticates the same credentials again; refused if they have ended since. */
  readonly reauthenticate: () => Promise<Authenticated>;
}

const NOBODY: Identity = { caller: UNAUTHENTICATED, reauthenticate: () => Promise.resolve(UNAUTHENTICATED) };

/** Authenticates the caller and draws on their rate limit. */
export async function identify(route: Route, exchange: Exchange, received: Received): Promise<Identity> {
  const { services, kernel, isRead, limit } = route;
  const { access } = route.endpoint;
  if (access.ignoresCredentials) return NOBODY;
  if (access.authenticateKey) return identifyByKey(access.authenticateKey, route, exchange, received);
  const credentials = credentialsFor(route, exchange, received);
  const caller = await authenticate(services.db, credentials, access, isRead);
  const { principal, used } = caller;
  if (principal.kind === "user by session" && exchange.request.headers["sec-fetch-site"] === undefined)
    kernel.warnOfPlainSession();
  requireAdmitted(access, principal);
  if (used) services.tokenUse.record(used);
  countRequest(services, exchange, limit, actorOf(principal));
  exchange.principal = principal;
  return { caller, reauthenticate: () => authenticate(services.db, credentials, route.reauthentication, isRead) };
}

/** Authenticates the holder of a key; only the endpoint itself limits how much they may send. */
async function identifyByKey(
  authenticateKey: NonNullable<Access<object>["authenticateKey"]>,
  { services: { db } }: Route,
  exchange: Exchange,
  { path }: Received,
): Promise<Identity> {
  const { bearer, password } = authorizationOf(exchange.request);
  const identified = async () => ({
    ...UNAUTHENTICATED,
    principal: await authenticateKey({ db, secret: bearer ?? password, path }),
  });
  const caller = await identified();
  exchange.principal = caller.principal;
  return { caller, reauthenticate: identified };
}

/** Every credential that a request shows; none of them is verified. */
export function credentialsFor(
  { kernel, services, endpoint }: Route,
  { request }: Exchange,
  received: Received,
): Credentials {
  const ownSite = {
    cookieName: () => cookieNameFor(services.config, kernel.siteOf(request)),
    isOrigin: (origin: string) => kernel.isOwnOrigin(request, origin),
  };
  return credentialsOf(request, received.raw, received.origin, ownSite, endpoint.access.forGit);
}
