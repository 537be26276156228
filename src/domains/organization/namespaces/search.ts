import { type RawBuilder, sql } from "kysely";
import { containing, escapeLike } from "#lib/like.ts";

const MAX_WORDS = 8;

/**
 * The search condition on `search_text`, which has the name, the path and maybe more on separate lines: it must contain
 * every word. Words under three letters are ignored; a search without a longer word must equal a whole line.
 */
export function matches(search: string, searchText: RawBuilder<unknown>): RawBuilder<boolean> {
  const text = search.trim();
  const words = text
    .split(/\s+/)
    .filter((word) => [...word].length >= 3)
    .slice(0, MAX_WORDS);
  const like = (pattern: string) => sql<boolean>`${searchText} like lower(${pattern})`;
  if (words.length === 0) {
    const line = escapeLike(text);
    return sql<boolean>`(${sql.join([`${line}\n%`, `%\n${line}`, `%\n${line}\n%`].map(like), sql` or `)})`;
  }
  return sql<boolean>`(${sql.join(
    words.map((word) => like(containing(word))),
    sql` and `,
  )})`;
}
