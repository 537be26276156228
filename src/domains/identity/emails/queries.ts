import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import type { EmailRow } from "./entity.ts";

export const emailsOf = (db: Db, userId: number) =>
  db
    .selectFrom("emails as e")
    .select(["e.id", "e.email", "e.confirmed_at", "e.updated_at"])
    .where("e.user_id", "=", userId);

export async function emailOf(db: Db, userId: number, id: number): Promise<EmailRow> {
  const email = await emailsOf(db, userId).where("e.id", "=", id).executeTakeFirst();
  if (!email) throw missing("Email");
  return email;
}
