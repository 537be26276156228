import { type RawBuilder, sql } from "kysely";
import { asItIs, holding } from "#lib/like.ts";

const MOST_WORDS = 8;

/**
 * The condition of a search in `search_text`, which has a name, a path and maybe more in lines of their own: every word
 * is somewhere in it. A word of less than three letters is too common, so a text without a longer one must be a line.
 */
export function matches(asked: string, searchText: RawBuilder<unknown>): RawBuilder<boolean> {
  const text = asked.trim();
  const words = text
    .split(/\s+/)
    .filter((word) => [...word].length >= 3)
    .slice(0, MOST_WORDS);
  const like = (pattern: string) => sql<boolean>`${searchText} like lower(${pattern})`;
  if (words.length === 0) {
    const whole = asItIs(text);
    return sql<boolean>`(${sql.join([`${whole}\n%`, `%\n${whole}`, `%\n${whole}\n%`].map(like), sql` or `)})`;
  }
  return sql<boolean>`(${sql.join(
    words.map((word) => like(holding(word))),
    sql` and `,
  )})`;
}
