import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { idOfRow, type ItemColumn } from "./item.ts";
import { isSubscribed } from "./subscriptions.ts";
import { issuesSeenIn, issueVisibleTo } from "./visibility.ts";

/** How many thumbs point up and down. */
export interface Votes {
  readonly upvotes: number;
  readonly downvotes: number;
}

export const NO_VOTES: Votes = { upvotes: 0, downvotes: 0 };

/** What is counted around an item, and whether the actor is subscribed to it. */
export interface ItemCounts extends Votes {
  /** The comments that the actor may see. */
  readonly comments: number;
  /** Whether the actor gets its news; false unless asked for, since it takes a lookup in the comments. */
  readonly subscribed: boolean;
}

export interface IssueCounts extends ItemCounts {
  /** The open issues that it blocks, of those that the actor may see. */
  readonly blocking: number;
}

const NONE: ItemCounts = { comments: 0, subscribed: false, ...NO_VOTES };
export const NO_COUNTS: IssueCounts = { ...NONE, blocking: 0 };

/** The votes of the rows of a kind, each by one lookup in an index. */
const votesOf = (column: ItemColumn): RawBuilder<unknown> => {
  const count = (name: "thumbsup" | "thumbsdown") =>
    sql`(select count(*) from award_emoji a where ${sql.ref(`a.${column}`)} = ${idOfRow(column)} and a.name = ${sql.lit(name)})`;
  return sql`${count("thumbsup")} as upvotes, ${count("thumbsdown")} as downvotes`;
};

/** The same of some merge requests. */
export async function mergeRequestCounts(
  db: Db,
  ids: readonly number[],
  actor: Actor | null,
  withSubscription: boolean,
): Promise<(id: number) => ItemCounts> {
  const { rows } = await sql<ItemCounts & { id: number }>`
    select mr.id, ${votesOf("merge_request_id")},
      ${withSubscription ? isSubscribed("merge_request_id", actor) : sql`false`} as subscribed,
      ${commentsOn("merge_request_id", actor)} as comments
    from merge_requests mr join projects p on p.id = mr.project_id
    where mr.id = any(${ids}::bigint[])`.execute(db);
  const byId = new Map(rows.map(({ id, ...counts }) => [id, counts]));
  return (id) => byId.get(id) ?? NONE;
}

/** The comments on the row of a kind, in `projects as p`, that an actor may see. */
const commentsOn = (column: ItemColumn, actor: Actor | null): RawBuilder<unknown> => sql`(
  select c.open + case when c.internal > 0 and ${issuesSeenIn(actor).confidential} then c.internal else 0 end
  from (
    select count(*) filter (where not internal) as open, count(*) filter (where internal) as internal
    from notes where ${sql.ref(`notes.${column}`)} = ${idOfRow(column)} and not system
  ) c)`;

/** The same of some issues. It depends on the viewer, so it is never stored. */
export async function issueCounts(
  db: Db,
  issueIds: readonly number[],
  actor: Actor | null,
  withSubscription: boolean,
): Promise<ReadonlyMap<number, IssueCounts>> {
  const { rows } = await sql<IssueCounts & { id: number }>`
    with blocked as (
      select b.source_id as id, count(*) as count
      from issue_links b join issues i on i.id = b.target_id join projects p on p.id = i.project_id
      where b.source_id = any(${issueIds}::bigint[]) and b.link_type = 'blocks' and i.state = 'opened'
        and ${issueVisibleTo(actor)}
      group by b.source_id
    )
    select i.id, coalesce(blocked.count, 0) as blocking, ${votesOf("issue_id")},
      ${withSubscription ? isSubscribed("issue_id", actor) : sql`false`} as subscribed,
      ${commentsOn("issue_id", actor)} as comments
    from issues i join projects p on p.id = i.project_id left join blocked on blocked.id = i.id
    where i.id = any(${issueIds}::bigint[])`.execute(db);
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}

export async function votesOfEpics(db: Db, epicIds: readonly number[]): Promise<ReadonlyMap<number, Votes>> {
  const { rows } = await sql<Votes & { id: number }>`
    select e.id, ${votesOf("epic_id")} from unnest(${epicIds}::bigint[]) e (id)`.execute(db);
  return new Map(rows.map(({ id, ...votes }) => [id, votes]));
}
