import { sql } from "kysely";
import type { Db } from "#db/database.ts";

/** Service accounts, of one group where one is named; one that is being removed is gone already. */
export function accountsOf(db: Db, groupId?: number) {
  const query = db
    .selectFrom("users as u")
    .select(["u.id", "u.username", "u.name", "u.email", "u.unconfirmed_email"])
    .where("u.user_type", "=", sql.lit("service_account"))
    .where("u.removal_began_at", "is", null);
  return groupId === undefined ? query : query.where("u.provisioned_by_group_id", "=", groupId);
}

export type AccountRow = Awaited<ReturnType<ReturnType<typeof accountsOf>["executeTakeFirstOrThrow"]>>;

/** A user of any kind whom a request names as a service account. */
export const namedAccount = (db: Db, id: number) =>
  db
    .selectFrom("users as u")
    .select(["u.id", "u.username", "u.name", "u.email", "u.namespace_id", "u.user_type", "u.provisioned_by_group_id"])
    .select(sql<boolean>`u.admin or u.auditor`.as("sees_all"))
    .where("u.id", "=", id)
    .where("u.removal_began_at", "is", null);

export type NamedAccount = Awaited<ReturnType<ReturnType<typeof namedAccount>["executeTakeFirstOrThrow"]>>;
