import { sql } from "kysely";
import { holding } from "#lib/like.ts";
import { readSearch } from "#resources/users/search.ts";
import type { Condition } from "./people.ts";

/** How people are found: rare ones by an index of trigrams, common ones on the way through all in order. */
type Way = "by trigrams" | "on the way";

/**
 * Finds every word in the name or username of `u`, or the text in their address: these people are the group's own.
 * A pattern that is kept from the planner until the statement runs is taken for a rare one, and an expression of its own
 * has no index, which leaves the walk.
 */
export function searchFor(asked: string): (way: Way) => Condition {
  const { text, words } = readSearch(asked, false);
  if ([...text].length < 3) {
    // There are no trigrams to look for, so it must be the whole name.
    return () => sql`(lower(u.name) = lower(${text}) or lower(u.username) = lower(${text}))`;
  }
  return (way) => {
    const contains = (column: string, part: string) => {
      const pattern = sql`lower(${holding(part)})`;
      return way === "by trigrams"
        ? sql`${sql.raw(column)} like (select ${pattern})`
        : sql`${sql.raw(column)} || '' like ${pattern}`;
    };
    const named = words.map((word) => contains("u.search_text", word));
    const anywhere = [
      ...(named.length > 0 ? [sql`(${sql.join(named, sql` and `)})`] : []),
      contains("lower(u.email)", text),
    ];
    return sql`(${sql.join(anywhere, sql` or `)})`;
  };
}
