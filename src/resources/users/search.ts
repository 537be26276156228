import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";

/** A search in progress: what was asked, and the users it hits where those are few enough to be named. */
export interface Search {
  readonly text: string;
  readonly words: readonly string[];
  readonly privateEmails: boolean;
  /** The ids of all hits, or undefined where there are more than `MOST_HITS`. */
  readonly hits?: readonly number[];
}

export const MOST_HITS = 10_000;
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

/**
 * Names the hits of a search while they are few. The trigram indexes find them at once whatever the list is ordered by;
 * left to itself, the planner may walk the whole order to find twenty rare ones. A search with more hits than that is
 * so common that walking the order meets them soon.
 */
export async function findHits(db: Db, search: Search): Promise<Search> {
  const { rows } = await sql<{ id: number }>`
    select u.id from users u where ${conditionOf(search)} limit ${sql.lit(MOST_HITS + 1)}`.execute(db);
  return rows.length > MOST_HITS ? search : { ...search, hits: rows.map(({ id }) => id) };
}

export const matchesSearch = (search: Search): RawBuilder<boolean> =>
  search.hits ? sql<boolean>`u.id = any(${search.hits}::bigint[])` : conditionOf(search);

function conditionOf({ text, words, privateEmails }: Search): RawBuilder<boolean> {
  const conditions = [
    nameMatches("name", text, words),
    nameMatches("username", text, words),
    sql<boolean>`lower(u.public_email) = lower(${text})`,
    ...(privateEmails
      ? [
          sql<boolean>`lower(u.email) = lower(${text})`,
          sql<boolean>`u.id = (select user_id from emails where lower(email) = lower(${text}) and confirmed_at is not null)`,
        ]
      : []),
  ];
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`;
}

// Without a word of three letters there is no trigram to look for, so the whole text must be the name.
function nameMatches(column: "name" | "username", text: string, words: readonly string[]): RawBuilder<boolean> {
  const name = sql.ref(`u.${column}`);
  if (words.length === 0) return sql<boolean>`lower(${name}) = lower(${text})`;
  return sql<boolean>`(${sql.join(
    words.map((word) => sql`${name} ilike ${`%${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`),
    sql` and `,
  )})`;
}
