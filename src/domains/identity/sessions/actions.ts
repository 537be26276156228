import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import { tokenDigest } from "#access/authenticate.ts";
import { newSessionSecret, SESSION_IS_ACTIVE } from "#access/sessions.ts";
import type { Tx } from "#db/database.ts";

const digestOf = (secret: string) => Buffer.from(tokenDigest(secret), "hex");

/** Creates a session and returns its secret, of which only the digest is stored. */
export async function beginSession(tx: Tx, userId: number, { address, agent }: Origin) {
  const secret = newSessionSecret();
  const { ends_at } = await tx
    .insertInto("sessions")
    .values({ user_id: userId, digest: digestOf(secret), ip_address: address, user_agent: agent.slice(0, 255) })
    .returning("ends_at")
    .executeTakeFirstOrThrow();
  return { secret, ends_at };
}

/** Whether this browser signed in from this address before, as long as sessions are retained. */
export async function isKnownBrowser(tx: Tx, userId: number, { address, agent }: Origin): Promise<boolean> {
  const session = await tx
    .selectFrom("sessions")
    .select("id")
    .where("user_id", "=", userId)
    .where("ip_address", "=", address)
    .where("user_agent", "=", agent.slice(0, 255))
    .limit(1)
    .executeTakeFirst();
  return session !== undefined;
}

/** Replaces the secret of a session, so that a copy of the old one is useless; returns undefined if it has ended. */
export async function renewSession(tx: Tx, id: number): Promise<string | undefined> {
  const secret = newSessionSecret();
  const renewed = await tx
    .updateTable("sessions")
    .set({ digest: digestOf(secret) })
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  return renewed && secret;
}

/** Ends a session at sign-out; the row is retained for a while, so that the browser is recognised at the next sign-in. */
export async function expireSession(tx: Tx, id: number) {
  await tx
    .updateTable("sessions")
    .set({ ends_at: sql<string>`now()` })
    .where("id", "=", id)
    .execute();
}

/** Ends a session of a user; returns undefined if the user has no such active session. */
export async function endSession(tx: Tx, userId: number, id: number) {
  const { rows } = await sql<{ ip_address: string | null }>`
    delete from sessions s where s.user_id = ${userId} and s.id = ${id} and ${sql.raw(SESSION_IS_ACTIVE)}
    returning s.ip_address`.execute(tx);
  return rows[0];
}

export const BATCH_SIZE = 1000;

/** Deletes a batch of the sessions that ended a month ago, and returns how many. */
export async function removeBatchOfEndedSessions(tx: Tx): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from sessions where id in (
      select id from sessions where ends_at < now() - interval '30 days' limit ${sql.lit(BATCH_SIZE)})`.execute(tx);
  return Number(numAffectedRows);
}
