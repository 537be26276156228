import { type RawBuilder, sql } from "kysely";
import { containing } from "#lib/like.ts";

/** A search text, split into the words that names must contain. */
export interface Search {
  readonly text: string;
  readonly words: readonly string[];
  readonly privateEmails: boolean;
}

const MAX_WORDS = 8;

/** The index of all names has nothing for shorter words. */
const MIN_INDEXED_LETTERS = 3;

/** Splits a search into words and quoted phrases; those of at least `minLetters` letters match inside names. */
export function parseSearch(search: string, privateEmails: boolean, minLetters = MIN_INDEXED_LETTERS): Search {
  const text = search.trim().replace(/^@/, "");
  const words = [...text.matchAll(/"([^"]*)"|(\S+)/g)]
    .map(([, phrase, word]) => (phrase ?? word ?? "").trim())
    .filter((word) => [...word].length >= minLetters)
    .slice(0, MAX_WORDS);
  return { text, words, privateEmails };
}

/** Parses a search in the rows of one account, group or project: they are few, so any word matches inside names. */
export const parseLocalSearch = (search: string): Search => parseSearch(search, false, 1);

/** The condition on `users as u` for a search. */
export function matches({ text, words, privateEmails }: Search): RawBuilder<boolean> {
  const conditions = words.length > 0 ? [containsAll(sql`u.search_text`, words)] : equalsName(text);
  // An address matches only as a whole.
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
    words.map((word) => sql`${searchText} like lower(${containing(word)})`),
    sql` and `,
  )})`;

// Without a word that may match inside a name, the whole text must be the name.
const equalsName = (text: string): RawBuilder<boolean>[] => [
  sql`lower(u.name) = lower(${text})`,
  sql`lower(u.username) = lower(${text})`,
];
