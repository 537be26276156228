import type { Origin } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import { csrfTokenOf } from "#access/sessions.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { sessionCookie } from "#http/cookies.ts";
import { unauthenticated } from "#lib/refusal.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import type { Services } from "#services.ts";
import { renewSession } from "./actions.ts";

/** What sending a session to the browser needs. */
interface ResponseContext {
  readonly services: Services;
  readonly site: string;
  setHeader(name: string, value: string): void;
}

/** Sends the cookie of a session, and the token by which a page proves that it is one of ours; returns the token. */
export function sendSession({ services, site, setHeader }: ResponseContext, secret: string): string {
  const csrfToken = csrfTokenOf(secret);
  setHeader("set-cookie", sessionCookie(services.config, site, secret));
  setHeader("x-csrf-token", csrfToken);
  return csrfToken;
}

interface RenewalContext extends ResponseContext {
  readonly databases: Databases;
  readonly actor: Actor;
  readonly origin: Origin;
}

export const sessionIdOf = (actor: Actor): number | undefined =>
  actor.kind === "user by session" ? actor.session.id : undefined;

/** Changes a user's credentials and renews the secret of the calling session; the browser gets it after the commit. */
export async function withRenewedSession<T>(
  context: RenewalContext,
  event: string,
  change: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { actor, origin, databases } = context;
  const session = sessionIdOf(actor);
  const { result, secret } = await databases.transaction(async (tx) => {
    const changed = { result: await change(tx), secret: session && (await renewSession(tx, session)) };
    if (session !== undefined && changed.secret === undefined) throw unauthenticated();
    await writeAudit(tx, event, actor, origin, targetOf(actor.user));
    return changed;
  });
  if (secret) sendSession(context, secret);
  return result;
}
