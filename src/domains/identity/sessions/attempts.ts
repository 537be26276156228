import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import type { Services } from "#services.ts";

const MAX_FAILED_ATTEMPTS = 10;
const LOCK_DURATION = sql`interval '10 minutes'`;

/** The account of an attempt: by username or address in any case, or by the id of a user who is signed in. */
type AccountKey = { readonly login: string } | { readonly userId: number };

/** The account that a password or code is verified for. */
export interface AttemptedAccount {
  readonly id: number;
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly password_digest: string | null;
  readonly password_expired: boolean;
  readonly two_factor_enabled: boolean;
  /** While the account is locked, nothing may be verified and no attempt is counted. */
  readonly locked: boolean;
  /** Whether this is the tenth attempt: if it fails, the account stays locked. */
  readonly isLastAttempt: boolean;
}

export const WRONG = Symbol("wrong");

/**
 * Verifies a password or code after counting the attempt, so that of any number of concurrent attempts at most ten are
 * verified. An attempt whose `verify` throws is not counted. After a success `verify` itself resets or keeps the count.
 */
export async function countAttempt<T>(
  services: Services,
  origin: Origin,
  event: string,
  key: AccountKey,
  verify: (account: AttemptedAccount | undefined) => Promise<T | typeof WRONG>,
): Promise<T | typeof WRONG> {
  const { db } = services;
  const account = await addAttempt(db, key);
  let result: T | typeof WRONG;
  try {
    result = await verify(account);
  } catch (error) {
    if (account && !account.locked) await db.transaction((tx) => subtractAttempt(tx, account.id));
    throw error;
  }
  if (result === WRONG) await db.transaction((tx) => recordFailure(tx, services, origin, event, account));
  return result;
}

function addAttempt(db: Databases, key: AccountKey): Promise<AttemptedAccount | undefined> {
  return db.transaction(async (tx) => {
    // Waiting for the disk would reveal by its time whether there was an account to update; later writes do wait.
    await sql`set local synchronous_commit = off`.execute(tx);
    const account = await tx
      .selectFrom("users")
      .select(["id", "username", "name", "email", "password_digest", "password_expired", "two_factor_enabled"])
      .where("id", "in", "login" in key ? accountOfLogin(key.login.trim()) : sql<number>`(${key.userId}::bigint)`)
      .where("user_type", "=", "human")
      .where("removal_began_at", "is", null)
      .forUpdate()
      .executeTakeFirst();
    // Also run without an account, so that both cases take the same time.
    const counted = await tx
      .updateTable("users")
      .set({
        failed_attempts: sql`case when locked_until is null then failed_attempts + 1 else 1 end`,
        locked_until: sql`case when locked_until is null and failed_attempts + 1 >= ${sql.lit(MAX_FAILED_ATTEMPTS)}
          then now() + ${LOCK_DURATION} end`,
      })
      .where("id", "=", account?.id ?? 0)
      .where(sql<boolean>`(locked_until is null or locked_until <= now())`)
      .returning("failed_attempts")
      .executeTakeFirst();
    return (
      account && {
        ...account,
        locked: counted === undefined,
        isLastAttempt: counted?.failed_attempts === MAX_FAILED_ATTEMPTS,
      }
    );
  });
}

/** The account of a login; one without a password is not found, so that it cannot be locked. */
const accountOfLogin = (login: string) => sql<number>`(
  select u.id from users u where lower(u.username) = lower(${login}::text) and u.password_digest is not null
  union all
  select u.id from users u where lower(u.email) = lower(${login}::text) and u.password_digest is not null
  union all
  select u.id from emails e join users u on u.id = e.user_id
  where lower(e.email) = lower(${login}::text) and e.confirmed_at is not null and u.password_digest is not null
  limit 1)`;

/** Takes back an attempt that was counted but did not fail. */
export async function subtractAttempt(tx: Tx, userId: number) {
  await tx
    .updateTable("users")
    .set({ failed_attempts: sql`greatest(failed_attempts - 1, 0)`, locked_until: null })
    .where("id", "=", userId)
    .execute();
}

/** Audits a failed attempt, also for an account that does not exist, and notifies the user if it locked the account. */
async function recordFailure(
  tx: Tx,
  { jobs }: Services,
  origin: Origin,
  event: string,
  account: AttemptedAccount | undefined,
) {
  const target = account && targetOf(account);
  await writeAudit(tx, event, null, origin, target);
  if (!account?.isLastAttempt || !(await isLocked(tx, account.id))) return;
  await writeAudit(tx, "user_locked", null, origin, target);
  await mailTo(jobs, tx, { kind: "account_locked", userId: account.id });
}

/** A successful attempt in the meantime may have ended the lock. */
const isLocked = async (tx: Tx, userId: number) =>
  (await tx
    .selectFrom("users")
    .select("id")
    .where("id", "=", userId)
    .where("locked_until", ">", sql<string>`now()`)
    .forUpdate()
    .executeTakeFirst()) !== undefined;
