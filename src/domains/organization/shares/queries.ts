import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { live } from "#access/levels.ts";
import { groupVisibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";

/** What is shared. */
export type Kind = "group" | "project";

/** The groups that some groups or projects are shared with and that the caller may see. */
export const sharesOf = (db: Db, actor: Actor | null, kind: Kind, ids: readonly number[]) =>
  db
    .selectFrom("shares as s")
    .innerJoin("namespaces as n", "n.id", "s.with_group_id")
    .select([
      `s.${kind}_id as shared_id`,
      "s.with_group_id",
      "s.access_level",
      "s.expires_at",
      "n.name",
      fullPath("n").as("full_path"),
    ])
    .where(`s.${kind}_id`, "=", sql<number>`any(${ids}::bigint[])`)
    .where(sql<boolean>`${sql.raw(live("s"))}`)
    // Without the offset PostgreSQL reads all groups that the actor may see to join a few.
    .where(
      sql<boolean>`exists (
        select from namespaces n where n.id = s.with_group_id and ${groupVisibleTo(actor)} offset 0)`,
    )
    .orderBy("s.id")
    .execute();

export type ShareRow = Awaited<ReturnType<typeof sharesOf>>[number];
