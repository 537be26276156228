import { type Selectable, sql, type UpdateObject } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import type { Jobs } from "#jobs/add.ts";
import type { Problems } from "#lib/problems.ts";
import type { Link } from "#resources/mails/links.ts";
import { isConfirmed, isOpen } from "#resources/mails/recipients.ts";
import { endWhatOldOpened } from "#resources/sessions/password.ts";
import { emailChange, holdAddress } from "#resources/users/emails.ts";

type User = Selectable<Database["users"]>;

const now = sql<string>`now()`;

/** Confirms the address that a link was mailed to, whichever it is of its user's; undefined where it is none any more. */
export async function confirmAddress(tx: Tx, { user_id, email }: Link): Promise<User | undefined> {
  const user = await lockedUser(tx, user_id);
  if (!user) return undefined;
  if (email === user.email.toLowerCase()) {
    await change(tx, user.id, { confirmed_at: user.confirmed_at ?? now });
    return user;
  }
  const { numUpdatedRows } = await tx
    .updateTable("emails")
    .set({ confirmed_at: sql<string>`coalesce(confirmed_at, now())` })
    .where("user_id", "=", user.id)
    .where(sql`lower(email)`, "=", email)
    .executeTakeFirstOrThrow();
  if (email === user.unconfirmed_email?.toLowerCase()) {
    await change(tx, user.id, await awaitedMove(tx, user, email));
    return user;
  }
  return numUpdatedRows > 0n ? user : undefined;
}

/** The primary address becomes the one that waited for this: one of the secondary ones, or one that was none before. */
async function awaitedMove(tx: Tx, user: User, email: string): Promise<UpdateObject<Database, "users">> {
  await holdAddress(tx, email);
  const problems: Problems = {};
  const move = await emailChange(tx, user, email, true, problems);
  return problems["email"] ? { email, unconfirmed_email: null, confirmed_at: now } : move;
}

/** The user whose password a link may change; undefined where the account was closed or the address taken from it. */
export async function userOfReset(db: Db, { user_id, email }: Link): Promise<User | undefined> {
  const user = await db.selectFrom("users").selectAll().where("id", "=", user_id).executeTakeFirst();
  return user && (await mayReset(db, user, email)) ? user : undefined;
}

/** Sets a password by a link: who holds it reads the mail of that address, and whoever else was signed in is not any more. */
export async function resetPassword(tx: Tx, jobs: Jobs, link: Link, digest: string): Promise<User | undefined> {
  const user = await lockedUser(tx, link.user_id);
  if (!user || !(await mayReset(tx, user, link.email))) return undefined;
  await change(tx, user.id, {
    password_digest: digest,
    password_expired: false,
    failed_attempts: 0,
    locked_until: null,
    ...(link.email === user.email.toLowerCase() && { confirmed_at: user.confirmed_at ?? now }),
  });
  await endWhatOldOpened(tx, jobs, user.id);
  return user;
}

const mayReset = async (db: Db, user: User, email: string) =>
  user.removal_began_at === null &&
  isOpen(user) &&
  (email === user.email.toLowerCase() || (await isConfirmed(db, user, email)));

const lockedUser = (tx: Tx, id: number): Promise<User | undefined> =>
  tx
    .selectFrom("users")
    .selectAll()
    .where("id", "=", id)
    .where("removal_began_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();

const change = (tx: Tx, id: number, columns: UpdateObject<Database, "users">) =>
  tx
    .updateTable("users")
    .set({ ...columns, updated_at: now })
    .where("id", "=", id)
    .execute();
