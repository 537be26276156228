import { type Selectable, sql, type UpdateObject } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import type { Jobs } from "#jobs/add.ts";
import type { Problems } from "#lib/problems.ts";
import type { Link } from "#domains/foundation/mails/links.ts";
import { isConfirmed, isOpen } from "#domains/foundation/mails/recipients.ts";
import { forgetAttempts } from "#domains/identity/sessions/attempts.ts";
import { invalidateCredentials } from "#domains/identity/credentials/actions.ts";
import { changePrimaryEmail, lockAddress } from "#domains/identity/users/emails.ts";

type User = Selectable<Database["users"]>;

const now = sql<string>`now()`;

/** Confirms the address that a link was mailed to, primary or secondary; returns undefined if the user no longer has it. */
export async function confirmAddress(tx: Tx, { user_id, email }: Link): Promise<User | undefined> {
  const user = await lockUser(tx, user_id);
  if (!user) return undefined;
  if (email === user.email.toLowerCase()) {
    await setColumns(tx, user.id, { confirmed_at: user.confirmed_at ?? now });
    return user;
  }
  const { numUpdatedRows } = await tx
    .updateTable("emails")
    .set({ confirmed_at: sql<string>`coalesce(confirmed_at, now())`, updated_at: now })
    .where("user_id", "=", user.id)
    .where(sql`lower(email)`, "=", email)
    .executeTakeFirstOrThrow();
  if (email === user.unconfirmed_email?.toLowerCase()) {
    await setColumns(tx, user.id, await pendingEmailChange(tx, user, email));
    return user;
  }
  return numUpdatedRows > 0n ? user : undefined;
}

/** Makes the confirmed address the primary one; it need not have been a secondary address before. */
async function pendingEmailChange(tx: Tx, user: User, email: string): Promise<UpdateObject<Database, "users">> {
  await lockAddress(tx, email);
  const problems: Problems = {};
  const columns = await changePrimaryEmail(tx, user, email, true, problems);
  return problems["email"] ? { email, unconfirmed_email: null, confirmed_at: now } : columns;
}

/** The user whose password a link may change; undefined if the account was closed or no longer has the address. */
export async function userOfLink(db: Db, link: Link): Promise<User | undefined> {
  const user = await db.selectFrom("users").selectAll().where("id", "=", link.user_id).executeTakeFirst();
  return user && (await mayChoose(db, user, link)) ? user : undefined;
}

/**
 * Sets a password by a link and ends every session. A mailed link proves access to the mailbox, and for
 * an invitation an administrator vouches for the address, so either confirms the primary address.
 */
export async function choosePassword(tx: Tx, jobs: Jobs, link: Link, digest: string): Promise<User | undefined> {
  const user = await lockUser(tx, link.user_id);
  if (!user || !(await mayChoose(tx, user, link))) return undefined;
  await setColumns(tx, user.id, {
    password_digest: digest,
    password_expired: false,
    ...(link.email === user.email.toLowerCase() && { confirmed_at: user.confirmed_at ?? now }),
  });
  await forgetAttempts(tx, user.id);
  await invalidateCredentials(tx, jobs, user.id);
  return user;
}

/** An invitation is only for those who never signed in: somebody may have found it since. */
async function mayChoose(db: Db, user: User, { purpose, email }: Link): Promise<boolean> {
  if (user.removal_began_at !== null || !isOpen(user)) return false;
  if (purpose === "invite") return user.sign_in_count === 0 && email === user.email.toLowerCase();
  return email === user.email.toLowerCase() || isConfirmed(db, user, email);
}

const lockUser = (tx: Tx, id: number): Promise<User | undefined> =>
  tx
    .selectFrom("users")
    .selectAll()
    .where("id", "=", id)
    .where("removal_began_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();

const setColumns = (tx: Tx, id: number, columns: UpdateObject<Database, "users">) =>
  tx
    .updateTable("users")
    .set({ ...columns, updated_at: now })
    .where("id", "=", id)
    .execute();
