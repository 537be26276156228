import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";

/** SQL for the full path of the namespace that the statement calls `alias`. */
export const fullPath = (alias: string): RawBuilder<string> => sql.raw(fullPathText(alias));

/** The same for a statement that is a text. */
export const fullPathText = (alias: string): string => joined(alias, "path", "/");

/** SQL for its full name: the names of all namespaces above and its own. */
export const fullName = (alias: string): RawBuilder<string> => sql.raw(joined(alias, "name", " / "));

// The number of traversal ids is the depth, so ordering by it puts the root first.
const joined = (alias: string, column: "path" | "name", between: string): string => `(
  select string_agg(above.${column}, '${between}' order by cardinality(above.traversal_ids))
  from namespaces above where above.id = any(${alias}.traversal_ids))`;

/** Namespaces with the columns that every view shows; a personal namespace has the avatar of its user. */
export const namespaces = (db: Db) =>
  db
    .selectFrom("namespaces as n")
    .leftJoin("users as u", "u.namespace_id", "n.id")
    .select([
      "n.id",
      "n.kind",
      "n.name",
      "n.path",
      "n.parent_id",
      fullPath("n").as("full_path"),
      "u.id as user_id",
      sql<string | null>`case n.kind when 'user' then u.avatar_file else n.avatar_file end`.as("avatar_file"),
    ]);

export type NamespaceRow = Awaited<ReturnType<ReturnType<typeof namespaces>["executeTakeFirstOrThrow"]>>;

/** Finds namespaces by id, in no particular order. */
export const namespacesByIds = (db: Db, ids: readonly number[]): Promise<NamespaceRow[]> =>
  namespaces(db)
    .where("n.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();

/** Whether a group, user or project currently has a path in a namespace; the parent id 0 is the top level. */
export async function isTaken(db: Db, parentId: number, path: string): Promise<boolean> {
  const route = await db
    .selectFrom("routes")
    .select("path")
    .where("parent_id", "=", parentId)
    .where("path", "=", path.toLowerCase())
    .where("moved", "=", sql.lit(false))
    .executeTakeFirst();
  return route !== undefined;
}

/** The path with the lowest number from 1 to 100 appended that is free, if there is one. */
export async function freePathLike(db: Db, parentId: number, path: string): Promise<string | undefined> {
  // The offset is an optimization fence: as a join it would read every top-level route.
  const { rows } = await sql<{ path: string }>`
    select c.path || suffix::text as path
    from (select ${path.slice(0, 250)} as path, generate_series(1, 100) as suffix) c
    where not exists (
      select from routes r
      where r.parent_id = ${parentId} and r.path = lower(c.path || suffix::text) and r.moved = false offset 0)
    order by suffix limit 1`.execute(db);
  return rows[0]?.path;
}
