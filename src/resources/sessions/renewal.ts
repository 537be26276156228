import type { Origin } from "#access/access.ts";
import type { Actor } from "#access/actor.ts";
import { csrfTokenOf } from "#access/sessions.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { sessionCookie } from "#http/cookies.ts";
import { unauthenticated } from "#lib/refusal.ts";
import { targetOf } from "#resources/users/named.ts";
import type { Services } from "#services.ts";
import { renewSession } from "./actions.ts";

/** Where an answer takes a session to the browser. */
interface Answering {
  readonly services: Services;
  readonly site: string;
  setHeader(name: string, value: string): void;
}

/** Hands a session to the browser, and to the page what proves that it is one of ours. */
export function handOver({ services, site, setHeader }: Answering, secret: string): string {
  const csrfToken = csrfTokenOf(secret);
  setHeader("set-cookie", sessionCookie(services.config, site, secret));
  setHeader("x-csrf-token", csrfToken);
  return csrfToken;
}

interface Context extends Answering {
  readonly databases: Databases;
  readonly actor: Actor;
  readonly origin: Origin;
}

/** The session of a caller who has one. */
export const sessionIdOf = (actor: Actor): number | undefined =>
  actor.kind === "user by session" ? actor.session.id : undefined;

/**
 * Changes what somebody signs in with; the session that did it goes on under another secret, which the browser learns
 * once all of it is committed.
 */
export async function renewing<T>(context: Context, event: string, change: (tx: Tx) => Promise<T>): Promise<T> {
  const { actor, origin, databases } = context;
  const session = sessionIdOf(actor);
  const { changed, secret } = await databases.transaction(async (tx) => {
    const done = { changed: await change(tx), secret: session && (await renewSession(tx, session)) };
    if (session !== undefined && done.secret === undefined) throw unauthenticated();
    await writeAudit(tx, event, actor, origin, targetOf(actor.user));
    return done;
  });
  if (secret) handOver(context, secret);
  return changed;
}
