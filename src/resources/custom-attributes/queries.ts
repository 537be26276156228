import type { Db, Tx } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";

export const attributesOf = (db: Db, userId: number) =>
  db.selectFrom("user_custom_attributes").select(["key", "value"]).where("user_id", "=", userId);

export const setAttribute = (tx: Tx, userId: number, key: string, value: string) =>
  tx
    .insertInto("user_custom_attributes")
    .values({ user_id: userId, key, value })
    .onConflict((clash) => clash.columns(["user_id", "key"]).doUpdateSet({ value }))
    .execute();

export async function removeAttribute(tx: Tx, userId: number, key: string) {
  const { numDeletedRows } = await tx
    .deleteFrom("user_custom_attributes")
    .where("user_id", "=", userId)
    .where("key", "=", key)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw missing("Custom Attribute");
}
