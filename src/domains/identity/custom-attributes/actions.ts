import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";

export const setAttribute = (tx: Tx, userId: number, key: string, value: string) =>
  tx
    .insertInto("user_custom_attributes")
    .values({ user_id: userId, key, value })
    .onConflict((clash) => clash.columns(["user_id", "key"]).doUpdateSet({ value, updated_at: sql<string>`now()` }))
    .execute();

export async function removeAttribute(tx: Tx, userId: number, key: string) {
  const removed = await tx
    .deleteFrom("user_custom_attributes")
    .where("user_id", "=", userId)
    .where("key", "=", key)
    .returning("updated_at")
    .executeTakeFirst();
  if (!removed) throw missing("Custom Attribute");
  return removed;
}
