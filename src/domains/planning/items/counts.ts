import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { idOfRow, type ItemKind, rowsInContainer } from "#domains/conversation/items/item.ts";
import { isSubscribed } from "#domains/attention/subscriptions/queries.ts";
import { issuesSeenIn } from "./visibility.ts";

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

export const NO_ITEM_COUNTS: ItemCounts = { comments: 0, subscribed: false, ...NO_VOTES };

/** The votes of the rows of a kind, each by one lookup in an index. */
const votesOf = (kind: ItemKind): RawBuilder<unknown> => {
  const count = (name: "thumbsup" | "thumbsdown") =>
    sql`(select count(*) from award_emoji a where ${sql.ref(`a.${kind.column}`)} = ${idOfRow(kind)} and a.name = ${sql.lit(name)})`;
  return sql`${count("thumbsup")} as upvotes, ${count("thumbsdown")} as downvotes`;
};

/** The columns of `ItemCounts` for the rows of a kind, in `projects as p`. */
export const countsOf = (kind: ItemKind, actor: Actor | null, withSubscription: boolean): RawBuilder<unknown> => sql`
  ${votesOf(kind)}, ${withSubscription ? isSubscribed(kind, actor) : sql`false`} as subscribed,
  ${commentsOn(kind, actor)} as comments`;

/** The comments on the row of a kind, in `projects as p`, that an actor may see. */
const commentsOn = (kind: ItemKind, actor: Actor | null): RawBuilder<unknown> => sql`(
  select c.open + case when c.internal > 0 and ${issuesSeenIn(actor).confidential} then c.internal else 0 end
  from (
    select count(*) filter (where not internal) as open, count(*) filter (where internal) as internal
    from notes where ${sql.ref(`notes.${kind.column}`)} = ${idOfRow(kind)} and not system
  ) c)`;

/** What is counted around some items of projects. */
export async function itemCounts(
  db: Db,
  kind: ItemKind,
  ids: readonly number[],
  actor: Actor | null,
  withSubscription: boolean,
): Promise<(id: number) => ItemCounts> {
  const { rows } = await sql<ItemCounts & { id: number }>`
    select ${idOfRow(kind)}, ${countsOf(kind, actor, withSubscription)}
    from ${rowsInContainer(kind)} where ${idOfRow(kind)} = any(${ids}::bigint[])`.execute(db);
  const byId = new Map(rows.map(({ id, ...counts }) => [id, counts]));
  return (id) => byId.get(id) ?? NO_ITEM_COUNTS;
}

/** The votes alone. */
export async function votesOfItems(
  db: Db,
  kind: ItemKind,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Votes>> {
  const { rows } = await sql<Votes & { id: number }>`
    select ${idOfRow(kind)}, ${votesOf(kind)}
    from unnest(${ids}::bigint[]) ${sql.ref(kind.alias)} (id)`.execute(db);
  return new Map(rows.map(({ id, ...votes }) => [id, votes]));
}
