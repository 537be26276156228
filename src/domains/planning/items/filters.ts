import { sql } from "kysely";
import type { Rows } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import { idOfRow, type ItemKind, type PeopleTable } from "#domains/conversation/items/item.ts";

export const not = (condition: Condition): Condition => sql`not (${condition})`;

export const isWildcard = (value: string | number) => /^(?:any|none)$/i.test(String(value));

/** The condition for `None` or `Any`, in any case; undefined for another value. */
export function wildcard(value: string | number, isAny: Condition): Condition | undefined {
  if (!isWildcard(value)) return undefined;
  return String(value).toLowerCase() === "any" ? isAny : not(isAny);
}

/** A lookup for one row. Without the offset PostgreSQL may join it, and read all rows that any item has. */
export const found = (rows: Rows): Condition => sql`exists (${rows} offset 0)`;

export const userNamed = (name: string): Rows =>
  sql`(select u.id from users u where lower(u.username) = ${name.toLowerCase()})`;
export const userOf = (id: number): Rows => sql`${id}::bigint`;
/** The id of nobody. */
export const NOBODY = userOf(0);

/** What a filter by those who are asked to work on the items of a kind means. */
export function peopleFilters(kind: ItemKind, table: PeopleTable) {
  const rows = sql`select from ${sql.table(table)} a where ${sql.ref(`a.${kind.column}`)} = ${idOfRow(kind)}`;
  const isAny = found(rows);
  const includes = (person: Rows): Condition => found(sql`${rows} and a.user_id = ${person}`);
  return {
    includes,
    /** An id, 0 for nobody, or a wildcard. */
    is(value: number | string): Condition {
      if (value === 0) return not(isAny);
      return wildcard(value, isAny) ?? includes(userOf(Number(value)));
    },
    /** The ids of the items of somebody. */
    idsOf: (person: Rows): Rows =>
      sql`(select ${sql.ref(`a.${kind.column}`)} as id from ${sql.table(table)} a where a.user_id = ${person})`,
  };
}

const PLACES = ["title", "description"] as const;

/** The search text has an index; a search in one place is compared with that place as well. */
export function searched({ alias }: ItemKind, search: string, places: readonly (typeof PLACES)[number][]): Condition {
  const [place, ...others] = new Set(places);
  const inText = matches(search, sql.ref(`${alias}.search_text`));
  if (place === undefined || others.length > 0) return inText;
  const text = sql`lower(left(${sql.ref(`${alias}.${place}`)}, 10000))`;
  // A single line, so that a word too short for the index can be the whole of it.
  return sql`(${inText} and ${matches(search, sql`(chr(10) || ${text} || chr(10))`)})`;
}
