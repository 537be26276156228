import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { issuesSeenIn } from "./visibility.ts";

/** How many thumbs point up and down. */
export interface Votes {
  readonly upvotes: number;
  readonly downvotes: number;
}

export const NO_VOTES: Votes = { upvotes: 0, downvotes: 0 };

/** What people said about an issue. */
export interface IssueCounts extends Votes {
  /** The comments that the actor may see. */
  readonly comments: number;
}

export const NOTHING_SAID: IssueCounts = { comments: 0, ...NO_VOTES };

/** The votes of the rows of `i`, each for one lookup in an index. */
const votesOf = (column: "issue_id" | "epic_id"): RawBuilder<unknown> => {
  const count = (name: "thumbsup" | "thumbsdown") =>
    sql`(select count(*) from award_emoji a where ${sql.ref(`a.${column}`)} = i.id and a.name = ${sql.lit(name)})`;
  return sql`${count("thumbsup")} as upvotes, ${count("thumbsdown")} as downvotes`;
};

/** The comments that an actor may see, and the votes, of some issues. They depend on the viewer, so none is stored. */
export async function issueCounts(
  db: Db,
  issueIds: readonly number[],
  actor: Actor | null,
): Promise<ReadonlyMap<number, IssueCounts>> {
  const { confidential: seesInternal } = issuesSeenIn(actor);
  const { rows } = await sql<IssueCounts & { id: number }>`
    select i.id, c.open + case when c.internal > 0 and ${seesInternal} then c.internal else 0 end as comments,
      ${votesOf("issue_id")}
    from issues i join projects p on p.id = i.project_id
      cross join lateral (
        select count(*) filter (where not internal) as open, count(*) filter (where internal) as internal
        from notes where issue_id = i.id and not system
      ) c
    where i.id = any(${issueIds}::bigint[])`.execute(db);
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}

export async function votesOfEpics(db: Db, epicIds: readonly number[]): Promise<ReadonlyMap<number, Votes>> {
  const { rows } = await sql<Votes & { id: number }>`
    select i.id, ${votesOf("epic_id")} from unnest(${epicIds}::bigint[]) i (id)`.execute(db);
  return new Map(rows.map(({ id, ...votes }) => [id, votes]));
}
