import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { order } from "#db/lists/order.ts";
import type { PagingOptions } from "#http/paging.ts";

/** Service accounts of one group or of all, without those whose deletion has begun. */
export function accountsOf(db: Db, groupId?: number) {
  const query = db
    .selectFrom("users as u")
    .select(["u.id", "u.username", "u.name", "u.email", "u.unconfirmed_email", "u.confirmed_at"])
    .where("u.user_type", "=", sql.lit("service_account"))
    .where("u.removal_began_at", "is", null);
  return groupId === undefined ? query : query.where("u.provisioned_by_group_id", "=", groupId);
}

export type AccountRow = Awaited<ReturnType<ReturnType<typeof accountsOf>["executeTakeFirstOrThrow"]>>;

/** A user whom a request names as a service account; the caller checks the type. */
export const namedAccount = (db: Db, id: number) =>
  db
    .selectFrom("users as u")
    .select(["u.id", "u.username", "u.name", "u.email", "u.namespace_id", "u.user_type", "u.provisioned_by_group_id"])
    .select("u.updated_at")
    .select(sql<boolean>`u.admin or u.auditor`.as("sees_all"))
    .where("u.id", "=", id)
    .where("u.removal_began_at", "is", null);

export type NamedAccount = Awaited<ReturnType<ReturnType<typeof namedAccount>["executeTakeFirstOrThrow"]>>;

export const accountPaging: PagingOptions = {
  id: "u.id",
  orders: { id: order("u.id", "bigint"), username: order("u.username", "text") },
  keyset: ["id", "username"],
  sort: "desc",
  type: "User",
};
