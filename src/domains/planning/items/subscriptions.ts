import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import { idOfRow, type Item, kindOf, rowsOf } from "./item.ts";

/** Whether a user takes part in the row of `issues as i` or `epics as e`: wrote it, works on it or commented on it. */
export function takesPart(column: Item["column"], userId: RawBuilder<unknown>): RawBuilder<boolean> {
  const { alias, people } = kindOf({ column });
  const areIn = people.map(
    (table) => sql`or exists (select from ${sql.table(table)} a
      where ${sql.ref(`a.${column}`)} = ${idOfRow(column)} and a.user_id = ${userId})`,
  );
  return sql`(${sql.ref(`${alias}.author_id`)} = ${userId} ${sql.join(areIn, sql` `)}
    or exists (select from notes c where ${sql.ref(`c.${column}`)} = ${idOfRow(column)} and not c.system
      and c.author_id = ${userId}))`;
}

/** Whether a user gets the news of the row of `issues as i` or `epics as e`: as one who takes part, or as they said. */
export function isSubscribed(column: Item["column"], actor: Actor | null): RawBuilder<boolean> {
  if (!actor) return sql`false`;
  const userId = sql`${actor.user.id}::bigint`;
  return sql`coalesce(
    (select s.subscribed from subscriptions s where ${sql.ref(`s.${column}`)} = ${idOfRow(column)} and s.user_id = ${userId}),
    ${takesPart(column, userId)}, false)`;
}

/** Whether a user gets the news of an item. */
export async function isSubscribedTo(db: Db, { column, id }: Item, actor: Actor | null): Promise<boolean> {
  const { rows } = await sql<{ subscribed: boolean }>`
    select ${isSubscribed(column, actor)} as subscribed
    from ${rowsOf(column)} where ${idOfRow(column)} = ${id}`.execute(db);
  return rows[0]?.subscribed ?? false;
}

/** Records that somebody wants to hear of an item, or no more of it. */
export async function setSubscription(
  tx: Tx,
  { column, id }: Item,
  userId: number,
  subscribed: boolean,
): Promise<void> {
  const item = sql.ref(column);
  await sql`
    insert into subscriptions (${item}, user_id, subscribed) values (${id}, ${userId}, ${subscribed})
    on conflict (${item}, user_id) where ${item} is not null
      do update set subscribed = excluded.subscribed, updated_at = now()
      where subscriptions.subscribed <> excluded.subscribed`.execute(tx);
}

/** Whoever subscribed to an issue, or ended that, did so for the one that it is moved to. */
export async function moveSubscriptions(tx: Tx, fromIssueId: number, toIssueId: number): Promise<void> {
  await sql`update subscriptions set issue_id = ${toIssueId} where issue_id = ${fromIssueId}`.execute(tx);
}
