import { type RawBuilder, sql } from "kysely";
import { holding } from "#lib/like.ts";

/** What was asked for, split into what names are searched for. */
export interface Search {
  readonly text: string;
  readonly words: readonly string[];
  readonly privateEmails: boolean;
}

const MOST_WORDS = 8;

/** Splits a search into words and quoted phrases; those of three letters and more match inside names. */
export function readSearch(asked: string, privateEmails: boolean): Search {
  const text = asked.trim().replace(/^@/, "");
  const words = [...text.matchAll(/"([^"]*)"|(\S+)/g)]
    .map(([, phrase, word]) => (phrase ?? word ?? "").trim())
    .filter((word) => [...word].length >= 3)
    .slice(0, MOST_WORDS);
  return { text, words, privateEmails };
}

/** The condition of a search, by the trigram index or, while walking in order, without it. */
export function matches({ text, words, privateEmails }: Search, walking: boolean): RawBuilder<boolean> {
  // As an expression of its own the column has no index, which leaves the walk.
  const searchText = walking ? sql`(u.search_text || '')` : sql`u.search_text`;
  const conditions = words.length > 0 ? [containsAll(searchText, words)] : isName(text);
  // Only a whole address matches an address.
  if (text.includes("@")) {
    conditions.push(sql`lower(u.public_email) = lower(${text})`);
    if (privateEmails) {
      conditions.push(sql`lower(u.email) = lower(${text})`);
      conditions.push(
        sql`u.id = (select user_id from emails where lower(email) = lower(${text}) and confirmed_at is not null)`,
      );
    }
  }
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`;
}

export const containsAll = (searchText: RawBuilder<unknown>, words: readonly string[]): RawBuilder<boolean> =>
  sql`(${sql.join(
    words.map((word) => sql`${searchText} like lower(${holding(word)})`),
    sql` and `,
  )})`;

// Without a word of three letters there is no trigram to look for, so the whole text must be the name.
const isName = (text: string): RawBuilder<boolean>[] => [
  sql`lower(u.name) = lower(${text})`,
  sql`lower(u.username) = lower(${text})`,
];
