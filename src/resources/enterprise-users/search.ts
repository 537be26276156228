import { sql } from "kysely";
import { readSearch } from "#resources/users/search.ts";
import type { Condition } from "./people.ts";

/** Whether the pattern is shown to the planner, or is kept from it until the statement runs. */
type Pattern = "shown" | "kept";

/**
 * Finds every word in the name or username of `u`, or the text in their address: these people are the group's own.
 * Where the pattern is kept from it, the planner takes it for a rare one, which it looks up by trigrams; where it is
 * shown, the planner may find out that it is common, but may as well be wrong.
 */
export function searchFor(asked: string): (pattern: Pattern) => Condition {
  const { text, words } = readSearch(asked, false);
  if ([...text].length < 3) {
    // There are no trigrams to look for, so it must be the whole name.
    return () => sql`(lower(u.name) = lower(${text}) or lower(u.username) = lower(${text}))`;
  }
  return (pattern) => {
    const contains = (part: string) => {
      const like = sql`lower(${`%${part.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`})`;
      return pattern === "kept" ? sql`(select ${like})` : like;
    };
    const named = words.map((word) => sql`u.search_text like ${contains(word)}`);
    const anywhere = [
      ...(named.length > 0 ? [sql`(${sql.join(named, sql` and `)})`] : []),
      sql`lower(u.email) like ${contains(text)}`,
    ];
    return sql`(${sql.join(anywhere, sql` or `)})`;
  };
}
