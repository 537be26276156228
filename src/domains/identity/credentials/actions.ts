import { sql } from "kysely";
import { SESSION_IS_ACTIVE } from "#access/sessions.ts";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { endLinks, PASSWORD_PURPOSES } from "#domains/foundation/mails/links.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";

/** Ends the sessions of a user, all or all but one; returns how many had not ended before. */
export async function endSessions(tx: Tx, userId: number, except?: number): Promise<number> {
  const { rows } = await sql<{ active: boolean }>`
    delete from sessions s where s.user_id = ${userId} and s.id <> ${except ?? 0}
    returning ${sql.raw(SESSION_IS_ACTIVE)} as active`.execute(tx);
  return rows.filter(({ active }) => active).length;
}

/** The current time, truncated to the precision of the column: rounded up, the token would work a little longer. */
export const revocationTime = sql<string>`date_trunc('milliseconds', now())`;

interface Revocation {
  readonly except?: readonly number[];
  /** Whether impersonation tokens are revoked too. */
  readonly impersonation?: boolean;
}

/** Revokes the tokens of a user, whose row the caller has locked. */
export async function revokeTokensOf(tx: Tx, userId: number, { except = [], impersonation = false }: Revocation) {
  await tx
    .updateTable("personal_access_tokens")
    .set({ revoked_at: revocationTime })
    .where("user_id", "=", userId)
    .where(impersonation ? sql<boolean>`true` : sql<boolean>`not impersonation`)
    .where(sql<boolean>`id <> all(${except}::bigint[]) and (revoked_at is null or revoked_at > now())`)
    .execute();
}

/**
 * Ends the sessions, except one, and the links to choose a password of a user whose password changed, and notifies them
 * by mail.
 */
export async function invalidateCredentials(tx: Tx, jobs: Jobs, userId: number, exceptSession?: number) {
  await endSessions(tx, userId, exceptSession);
  await endLinks(tx, userId, PASSWORD_PURPOSES);
  await mailTo(jobs, tx, { kind: "password_changed", userId });
}
