import type { Db } from "#db/database.ts";

/** The domains that a group claims. */
export const domainsOf = (db: Db, groupId: number) =>
  db.selectFrom("verified_domains as d").selectAll().where("d.group_id", "=", groupId);

/** The verified ones among them. */
export const verifiedDomainsOf = (db: Db, groupId: number) =>
  domainsOf(db, groupId).where("d.verified_at", "is not", null);

export type DomainRow = Awaited<ReturnType<ReturnType<typeof domainsOf>["executeTakeFirstOrThrow"]>>;
