import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";
import { type First, type Part, whole } from "./paging.ts";

/** How far hits that are too many to be named may be paged by number; keyset paging is as fast there as at the start. */
export const FARTHEST = 5000;

/**
 * A sample of a table's pages, and how many hits in it stand for so many in all, forty thousand, that even an index takes
 * long to find them. It is the same sample each time, so that two pages of a list agree.
 */
export const SAMPLE = sql.raw("tablesample system (0.25) repeatable (1)");
export const FREQUENT = 100;

/** What was found of a list that was looked up in parts. */
export interface Hits {
  /** The hits of all parts that have few. */
  readonly ids: readonly number[];
  /** Which parts have too many to be named, by their places in the list of parts. */
  readonly many: readonly number[];
}

/**
 * Looks up what is wanted, by whatever index serves it best, where that may be few: left to itself, the planner may walk
 * a whole order to find twenty rare rows. Up to `most` hits are to be named, with `named`; a part with more of them is
 * to be walked, which meets them soon. Each part is a query that selects `id`.
 */
export async function hitsOf(db: Db, parts: readonly Part[], most: number): Promise<Hits> {
  if (parts.length === 0) return { ids: [], many: [] };
  const first: First = (query) => query.limit(sql.lit(most + 1));
  // What is too many to be named is not sent either.
  const lists = parts.map(
    (part, at) => sql`select ${sql.lit(at)} as at, coalesce(array_agg(id), '{}') as ids
      from (${first(whole(part, first))}) hits having count(*) <= ${sql.lit(most)}`,
  );
  const { rows } = await sql<{ at: number; ids: number[] }>`${sql.join(lists, sql` union all `)}`.execute(db);
  const ids: number[] = [];
  const few = new Set<number>();
  for (const found of rows.toSorted((a, b) => a.ids.length - b.ids.length)) {
    if (ids.length + found.ids.length > most) break;
    ids.push(...found.ids);
    few.add(found.at);
  }
  return { ids, many: [...parts.keys()].filter((at) => !few.has(at)) };
}

/**
 * The rows of a table that have these ids. The offset is a fence: without it the planner may still walk an order and
 * hold every row of it against the list.
 */
export const named = (table: "namespaces" | "projects" | "users", ids: readonly number[]): RawBuilder<unknown> =>
  sql`(select * from ${sql.table(table)} where id = any(${`{${ids.join(",")}}`}::bigint[]) offset 0)`;
