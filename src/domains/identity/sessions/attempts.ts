import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { networkOf } from "#lib/networks.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import type { Services } from "#services.ts";

const MAX_FAILED_ATTEMPTS = 10;
/** From all networks together: somebody has many of them. */
const MAX_FAILED_FROM_ANYWHERE = 100;
const LOCK_DURATION = sql`interval '10 minutes'`;

const ANYWHERE = "";
const SIGNED_IN = "signed in";
const maxOf = (source: string): number => (source === ANYWHERE ? MAX_FAILED_FROM_ANYWHERE : MAX_FAILED_ATTEMPTS);

/** The account of an attempt: by username or address in any case, or by the id of a user who is signed in. */
type AccountKey = { readonly login: string } | { readonly userId: number };

/**
 * What an attempt counts for. Wrong passwords from one network lock the account for that network only, and for everybody
 * only if there are many more; whoever is signed in has a count of their own.
 */
export const sourcesOf = (key: AccountKey, { address }: Pick<Origin, "address">): string[] =>
  "userId" in key ? [SIGNED_IN] : [networkOf(address), ANYWHERE];

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
  const sources = sourcesOf(key, origin);
  const account = await addAttempt(db, key, sources);
  let result: T | typeof WRONG;
  try {
    result = await verify(account);
  } catch (error) {
    if (account && !account.locked) await db.transaction((tx) => subtractAttempt(tx, account.id, sources));
    throw error;
  }
  if (result === WRONG) await db.transaction((tx) => recordFailure(tx, services, origin, event, account, sources));
  return result;
}

function addAttempt(db: Databases, key: AccountKey, sources: readonly string[]): Promise<AttemptedAccount | undefined> {
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
    // Both statements also run without an account, so that both cases take the same time.
    const locked = await isLocked(tx, account?.id ?? 0, sources);
    const counted = await count(tx, locked ? 0 : (account?.id ?? 0), sources);
    const isLastAttempt = counted.some(({ source, failed }) => failed === maxOf(source));
    return account && { ...account, locked, isLastAttempt };
  });
}

interface Count {
  readonly source: string;
  readonly failed: number;
}

/** Counts an attempt for its sources, and shows the count and lock on the account. */
async function count(tx: Tx, userId: number, sources: readonly string[]): Promise<Count[]> {
  const { rows } = await sql<Count>`
    with counted as (
      insert into sign_in_attempts as a (user_id, source, failed)
      select u.id, source, 1 from users u, unnest(${sources}::text[]) source where u.id = ${userId}
      on conflict (user_id, source) do update set
        failed = case when a.locked_until is null then a.failed + 1 else 1 end,
        locked_until = case when a.locked_until is null and a.failed + 1 >= case a.source
            when ${ANYWHERE} then ${MAX_FAILED_FROM_ANYWHERE}::integer else ${MAX_FAILED_ATTEMPTS}::integer end
          then now() + ${LOCK_DURATION} end,
        attempted_at = now()
      returning source, failed, locked_until
    ), shown as (
      update users u set
        failed_attempts = (select max(failed) from counted where source <> ${ANYWHERE}),
        locked_until = greatest(case when u.locked_until > now() then u.locked_until end,
          (select max(locked_until) from counted))
      where u.id = ${userId}
    )
    select source, failed from counted`.execute(tx);
  return rows;
}

async function isLocked(tx: Tx, userId: number, sources: readonly string[]): Promise<boolean> {
  const { rows } = await sql`
    select from sign_in_attempts
    where user_id = ${userId} and source = any(${sources}::text[]) and locked_until > now()`.execute(tx);
  return rows.length > 0;
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
export async function subtractAttempt(tx: Tx, userId: number, sources: readonly string[]) {
  await sql`
    with counted as (
      update sign_in_attempts set failed = greatest(failed - 1, 0), locked_until = null
      where user_id = ${userId} and source = any(${sources}::text[])
    )
    update users set failed_attempts = greatest(failed_attempts - 1, 0), locked_until = null
    where id = ${userId}`.execute(tx);
}

/** Forgets the failed attempts of some sources, or of all. */
export async function forgetAttempts(tx: Tx, userId: number, sources?: readonly string[]) {
  await tx
    .deleteFrom("sign_in_attempts")
    .where("user_id", "=", userId)
    .$if(sources !== undefined, (some) => some.where("source", "=", sql<string>`any(${sources}::text[])`))
    .execute();
  await tx.updateTable("users").set({ failed_attempts: 0, locked_until: null }).where("id", "=", userId).execute();
}

const OLD_ATTEMPTS_BATCH = 1000;

/** Removes counts to which nothing was added for a month. */
export async function removeOldAttempts(tx: Tx): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from sign_in_attempts where (user_id, source) in (
      select user_id, source from sign_in_attempts
      where attempted_at < now() - interval '30 days' limit ${sql.lit(OLD_ATTEMPTS_BATCH)})`.execute(tx);
  return numAffectedRows === BigInt(OLD_ATTEMPTS_BATCH);
}

/** Audits a failed attempt, also for an account that does not exist, and notifies the user if it locked the account. */
async function recordFailure(
  tx: Tx,
  { jobs }: Services,
  origin: Origin,
  event: string,
  account: AttemptedAccount | undefined,
  sources: readonly string[],
) {
  const target = account && targetOf(account);
  await writeAudit(tx, event, null, origin, target);
  // A successful attempt in the meantime may have ended the lock.
  if (!account?.isLastAttempt || !(await isLocked(tx, account.id, sources))) return;
  await writeAudit(tx, "user_locked", null, origin, target);
  if (await isOnlyLock(tx, account.id)) await mailTo(jobs, tx, { kind: "account_locked", userId: account.id });
}

/** Whether no other source is locked: otherwise its owner was told of the attempts a few minutes ago. */
async function isOnlyLock(tx: Tx, userId: number): Promise<boolean> {
  const { rows } = await sql`
    select from sign_in_attempts where user_id = ${userId} and locked_until > now() limit 2`.execute(tx);
  return rows.length === 1;
}
