import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";

/** The paths of a namespace and of those that it is in, root first, for statements that know it by `alias`. */
export const fullPath = (alias: string): RawBuilder<string> => joined(alias, "path", "/");

/** Their names, as people read them. */
export const fullName = (alias: string): RawBuilder<string> => joined(alias, "name", " / ");

// A namespace has as many ids above it as it is deep, itself included.
const joined = (alias: string, column: "path" | "name", between: string): RawBuilder<string> => sql<string>`(
  select string_agg(${sql.ref(`above.${column}`)}, ${sql.lit(between)} order by cardinality(above.traversal_ids))
  from namespaces above where above.id = any(${sql.ref(`${alias}.traversal_ids`)}))`;

/** Namespaces as every view of them wants them: of groups, and of users with the picture of the user. */
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

/** Namespaces by id, in no order. */
export const namespacesByIds = (db: Db, ids: readonly number[]): Promise<NamespaceRow[]> =>
  namespaces(db)
    .where("n.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();

/** Whether a group, user or project has an address now, below a namespace or, below 0, at the top. */
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

/** The path with the lowest number behind it that makes it free, if one up to a hundred does. */
export async function freePathLike(db: Db, parentId: number, path: string): Promise<string | undefined> {
  // The offset is a fence: as a join it would read all that is at the top.
  const { rows } = await sql<{ path: string }>`
    select path || number::text as path from (select ${path.slice(0, 250)} as path, generate_series(1, 100) as number) wanted
    where not exists (
      select from routes r
      where r.parent_id = ${parentId} and r.path = lower(wanted.path || number::text) and r.moved = false offset 0)
    order by number limit 1`.execute(db);
  return rows[0]?.path;
}
