import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { idOfRow, type Item, type ItemKind, rowsOf } from "#domains/conversation/items/item.ts";

/** Whether a user takes part in the row of a kind: wrote it, works on it or commented on it. */
export function takesPart(kind: ItemKind, userId: RawBuilder<unknown>): RawBuilder<boolean> {
  const { alias, column, people } = kind;
  const areIn = people.map(
    (table) => sql`or exists (select from ${sql.table(table)} a
      where ${sql.ref(`a.${column}`)} = ${idOfRow(kind)} and a.user_id = ${userId})`,
  );
  return sql`(${sql.ref(`${alias}.author_id`)} = ${userId} ${sql.join(areIn, sql` `)}
    or exists (select from notes c where ${sql.ref(`c.${column}`)} = ${idOfRow(kind)} and not c.system
      and c.author_id = ${userId}))`;
}

/** Whether a user gets the news of the row of a kind: as one who takes part, or as they said. */
export function isSubscribed(kind: ItemKind, actor: Actor | null): RawBuilder<boolean> {
  if (!actor) return sql`false`;
  const userId = sql`${actor.user.id}::bigint`;
  return sql`coalesce(
    (select s.subscribed from subscriptions s where ${sql.ref(`s.${kind.column}`)} = ${idOfRow(kind)} and s.user_id = ${userId}),
    ${takesPart(kind, userId)}, false)`;
}

/** Whether a user gets the news of an item. */
export async function isSubscribedTo(db: Db, { kind, id }: Item, actor: Actor | null): Promise<boolean> {
  const { rows } = await sql<{ subscribed: boolean }>`
    select ${isSubscribed(kind, actor)} as subscribed
    from ${rowsOf(kind)} where ${idOfRow(kind)} = ${id}`.execute(db);
  return rows[0]?.subscribed ?? false;
}
