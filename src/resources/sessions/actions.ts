import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import { tokenDigest } from "#access/authenticate.ts";
import { newSessionSecret, SESSION_LIVES } from "#access/sessions.ts";
import type { Tx } from "#db/database.ts";

const digestOf = (secret: string) => Buffer.from(tokenDigest(secret), "hex");

/** Makes a session; its secret is known only to the browser afterwards. */
export async function beginSession(tx: Tx, userId: number, { address, agent }: Origin) {
  const secret = newSessionSecret();
  const { ends_at } = await tx
    .insertInto("sessions")
    .values({ user_id: userId, digest: digestOf(secret), ip_address: address, user_agent: agent.slice(0, 255) })
    .returning("ends_at")
    .executeTakeFirstOrThrow();
  return { secret, ends_at };
}

/** Whether this browser at this address signed in before, as far back as sessions are kept. */
export async function isKnownBrowser(tx: Tx, userId: number, { address, agent }: Origin): Promise<boolean> {
  const found = await tx
    .selectFrom("sessions")
    .select("id")
    .where("user_id", "=", userId)
    .where("ip_address", "=", address)
    .where("user_agent", "=", agent.slice(0, 255))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Gives a session another secret, so that a copy of the old one is worth nothing; undefined where it has ended. */
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

/** Ends a session whose user leaves; the row stays a while, so that the browser is known when it comes back. */
export async function leaveSession(tx: Tx, id: number) {
  await tx
    .updateTable("sessions")
    .set({ ends_at: sql<string>`now()` })
    .where("id", "=", id)
    .execute();
}

/** Ends one of a user's sessions; undefined where there is none of them that goes on. */
export async function endSession(tx: Tx, userId: number, id: number) {
  const { rows } = await sql<{ ip_address: string | null }>`
    delete from sessions s where s.user_id = ${userId} and s.id = ${id} and ${sql.raw(SESSION_LIVES)}
    returning s.ip_address`.execute(tx);
  return rows[0];
}

/** Ends a user's sessions, all or all but one, and tells how many still lived. */
export async function endSessions(tx: Tx, userId: number, except?: number): Promise<number> {
  const { rows } = await sql<{ lived: boolean }>`
    delete from sessions s where s.user_id = ${userId} and s.id <> ${except ?? 0}
    returning ${sql.raw(SESSION_LIVES)} as lived`.execute(tx);
  return rows.filter(({ lived }) => lived).length;
}

export const MOST_AT_ONCE = 1000;

/** Removes some sessions that ended a month ago and tells how many. */
export async function removeEnded(tx: Tx): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from sessions where id in (
      select id from sessions where ends_at < now() - interval '30 days' limit ${sql.lit(MOST_AT_ONCE)})`.execute(tx);
  return Number(numAffectedRows);
}
