import type { Db } from "#db/database.ts";

/** The domains that a group says are its own. */
export const domainsOf = (db: Db, groupId: number) =>
  db.selectFrom("verified_domains as d").selectAll().where("d.group_id", "=", groupId);

/** Those of them that it has proved. */
export const provenDomainsOf = (db: Db, groupId: number) =>
  domainsOf(db, groupId).where("d.verified_at", "is not", null);

export type DomainRow = Awaited<ReturnType<ReturnType<typeof domainsOf>["executeTakeFirstOrThrow"]>>;
