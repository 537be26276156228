import { type Selectable, sql } from "kysely";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Db } from "#db/database.ts";
import type { Database } from "#db/types.ts";

export type Recipient = Pick<
  Selectable<Database["users"]>,
  "id" | "username" | "email" | "unconfirmed_email" | "confirmed_at" | "state" | "user_type" | "sign_in_count"
>;

export const recipient = (db: Db, id: number): Promise<Recipient | undefined> =>
  db
    .selectFrom("users")
    .select(["id", "username", "email", "unconfirmed_email", "confirmed_at", "state", "user_type", "sign_in_count"])
    .where("id", "=", id)
    .where("removal_began_at", "is", null)
    .executeTakeFirst();

/** Whether the account belongs to a person who may sign in. */
export const isOpen = ({ user_type, state }: Pick<Recipient, "user_type" | "state">): boolean =>
  user_type === "human" && !CLOSED_STATES.includes(state);

/** Whether an address of a user is still unconfirmed. */
export async function awaitsConfirmation(db: Db, user: Recipient, email: string): Promise<boolean> {
  if (email === user.email.toLowerCase()) return user.confirmed_at === null;
  if (email === user.unconfirmed_email?.toLowerCase()) return true;
  return (await secondary(db, user.id, email))?.confirmed_at === null;
}

/** Whether an address of a user was confirmed. */
export async function isConfirmed(db: Db, user: Recipient, email: string): Promise<boolean> {
  if (email === user.email.toLowerCase()) return user.confirmed_at !== null;
  return typeof (await secondary(db, user.id, email))?.confirmed_at === "string";
}

const secondary = (db: Db, userId: number, email: string) =>
  db
    .selectFrom("emails")
    .select("confirmed_at")
    .where("user_id", "=", userId)
    .where(sql`lower(email)`, "=", email)
    .executeTakeFirst();

/** The user who confirmed this address. */
export async function ownerOf(db: Db, email: string): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select id from users where lower(email) = ${email} and confirmed_at is not null
    union all
    select user_id from emails where lower(email) = ${email} and confirmed_at is not null
    limit 1`.execute(db);
  return rows[0]?.id;
}
