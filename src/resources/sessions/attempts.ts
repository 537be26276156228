import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { mailTo } from "#resources/mails/send.ts";
import { targetOf } from "#resources/users/named.ts";
import type { Services } from "#services.ts";

const MOST_WRONG = 10;
const LOCKED_FOR = sql`interval '10 minutes'`;

/** Whose password or code is tried: a username, an address in any case, or somebody who is signed in. */
type Whose = { readonly login: string } | { readonly userId: number };

/** The account that a password or code is tried on. */
export interface Tried {
  readonly id: number;
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly password_digest: string | null;
  readonly password_expired: boolean;
  readonly two_factor_enabled: boolean;
  /** False while the account is locked: then nothing about it may be looked at. */
  readonly counted: boolean;
  /** Whether this is the tenth: if it is wrong, the account stays locked. */
  readonly last: boolean;
}

export const WRONG = Symbol("wrong");

/**
 * Lets a password or code be looked at, and counts it before that: however many come at once, ten are looked at and no
 * more. What `look` throws is no wrong try and is not counted; with a right one it says itself what becomes of the count.
 */
export async function counted<T>(
  services: Services,
  origin: Origin,
  event: string,
  whose: Whose,
  look: (account: Tried | undefined) => Promise<T | typeof WRONG>,
): Promise<T | typeof WRONG> {
  const { db } = services;
  const account = await count(db, whose);
  let found: T | typeof WRONG;
  try {
    found = await look(account);
  } catch (error) {
    if (account?.counted) await db.transaction((tx) => uncount(tx, account.id));
    throw error;
  }
  if (found === WRONG) await db.transaction((tx) => recordWrong(tx, services, origin, event, account));
  return found;
}

function count(db: Databases, whose: Whose): Promise<Tried | undefined> {
  return db.transaction(async (tx) => {
    // What follows waits for the disk; here it would show by the time whether there was anything to write.
    await sql`set local synchronous_commit = off`.execute(tx);
    const account = await tx
      .selectFrom("users")
      .select(["id", "username", "name", "email", "password_digest", "password_expired", "two_factor_enabled"])
      .where("id", "in", "login" in whose ? namedBy(whose.login.trim()) : sql<number>`(${whose.userId}::bigint)`)
      .where("user_type", "=", "human")
      .where("removal_began_at", "is", null)
      .forUpdate()
      .executeTakeFirst();
    // Done for nobody too, because it takes time.
    const tries = await tx
      .updateTable("users")
      .set({
        failed_attempts: sql`case when locked_until is null then failed_attempts + 1 else 1 end`,
        locked_until: sql`case when locked_until is null and failed_attempts + 1 >= ${sql.lit(MOST_WRONG)}
          then now() + ${LOCKED_FOR} end`,
      })
      .where("id", "=", account?.id ?? 0)
      .where(sql<boolean>`(locked_until is null or locked_until <= now())`)
      .returning("failed_attempts")
      .executeTakeFirst();
    return account && { ...account, counted: tries !== undefined, last: tries?.failed_attempts === MOST_WRONG };
  });
}

/** The account of a login; who has no password cannot be tried and so not be locked out. */
const namedBy = (login: string) => sql<number>`(
  select u.id from users u where lower(u.username) = lower(${login}::text) and u.password_digest is not null
  union all
  select u.id from users u where lower(u.email) = lower(${login}::text) and u.password_digest is not null
  union all
  select u.id from emails e join users u on u.id = e.user_id
  where lower(e.email) = lower(${login}::text) and e.confirmed_at is not null and u.password_digest is not null
  limit 1)`;

/** Takes a counted try back: it was a right one, or none at all. */
export async function uncount(tx: Tx, userId: number) {
  await tx
    .updateTable("users")
    .set({ failed_attempts: sql`greatest(failed_attempts - 1, 0)`, locked_until: null })
    .where("id", "=", userId)
    .execute();
}

/** Writes a wrong try down, of an account that is not there too, and tells its owner when it is locked. */
async function recordWrong(tx: Tx, { jobs }: Services, origin: Origin, event: string, account: Tried | undefined) {
  const target = account && targetOf(account);
  await writeAudit(tx, event, null, origin, target);
  if (!account?.last || !(await isLocked(tx, account.id))) return;
  await writeAudit(tx, "user_locked", null, origin, target);
  await mailTo(jobs, tx, { kind: "account_locked", userId: account.id });
}

/** A right try in between may have ended the lock. */
const isLocked = async (tx: Tx, userId: number) =>
  (await tx
    .selectFrom("users")
    .select("id")
    .where("id", "=", userId)
    .where("locked_until", ">", sql<string>`now()`)
    .forUpdate()
    .executeTakeFirst()) !== undefined;
