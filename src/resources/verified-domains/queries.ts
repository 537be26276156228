import type { Db } from "#db/database.ts";

/** The domains that a group says are its own. */
export const domainsOf = (db: Db, groupId: number) =>
  db.selectFrom("verified_domains as d").selectAll().where("d.group_id", "=", groupId);

export type DomainRow = Awaited<ReturnType<ReturnType<typeof domainsOf>["executeTakeFirstOrThrow"]>>;
