import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";

/** A search in progress: what was asked, and the users it hits where those are few enough to be named. */
export interface Search {
  readonly text: string;
  readonly words: readonly string[];
  readonly privateEmails: boolean;
  /** The ids of all hits, or undefined where there are more than `MOST_HITS`. */
  readonly hits?: readonly number[];
}

const MOST_HITS = 20_000;
const MOST_WORDS = 8;

/** How far a search with too many hits may be paged by number; further on, keyset paging is as fast as at the start. */
export const FARTHEST = 5000;

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
 * Names the hits of a search among the given users while they are few. The trigram index finds them at once, whatever
 * the list is ordered by; left to itself, the planner may walk the whole order to find twenty rare ones. A search with
 * more hits is so common that a walk meets them soon.
 */
export async function findHits(users: SelectQueryBuilder<any, any, unknown>, search: Search): Promise<Search> {
  const found = await users
    .clearSelect()
    .select("u.id")
    .where(conditionOf(search, sql.ref("u.search_text")))
    .limit(sql.lit(MOST_HITS + 1))
    .execute();
  const ids = (found as { id: number }[]).map(({ id }) => id);
  return ids.length > MOST_HITS ? search : { ...search, hits: ids };
}

export const matchesSearch = (search: Search): RawBuilder<boolean> =>
  search.hits
    ? sql<boolean>`u.id = any(${search.hits}::bigint[])`
    : // As an expression of its own the column has no trigram index, which leaves the walk in order.
      conditionOf(search, sql`(u.search_text || '')`);

function conditionOf({ text, words, privateEmails }: Search, searchText: RawBuilder<unknown>): RawBuilder<boolean> {
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

const containsAll = (searchText: RawBuilder<unknown>, words: readonly string[]): RawBuilder<boolean> =>
  sql`(${sql.join(
    words.map((word) => sql`${searchText} like lower(${`%${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`})`),
    sql` and `,
  )})`;

// Without a word of three letters there is no trigram to look for, so the whole text must be the name.
const isName = (text: string): RawBuilder<boolean>[] => [
  sql`lower(u.name) = lower(${text})`,
  sql`lower(u.username) = lower(${text})`,
];
