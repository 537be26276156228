import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";

export const attributesOf = (db: Db, userId: number) =>
  db.selectFrom("user_custom_attributes").select(["key", "value"]).where("user_id", "=", userId);

export async function attributeOf(db: Db, userId: number, key: string) {
  const attribute = await attributesOf(db, userId).where("key", "=", key).executeTakeFirst();
  if (!attribute) throw missing("Custom Attribute");
  return attribute;
}
