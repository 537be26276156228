import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { unchanged } from "#lib/refusal.ts";
import { type Item, ITEM_COLUMNS } from "#domains/conversation/items/item.ts";
import type { TodoKind } from "./kinds.ts";
import { requireTodo, type TodoRow } from "./queries.ts";

/** What is marked in one statement. */
const BATCH = 5000;

/** Asks the caller to look at an item; refused if they already are asked to. */
export async function markTodo(tx: Tx, actor: Actor, { kind: { column }, id }: Item): Promise<TodoRow> {
  const { rows } = await sql<TodoRow>`
    insert into todos (${sql.ref(column)}, user_id, author_id, action)
    select ${id}, ${actor.user.id}, ${actor.user.id}, 'marked'
    where not exists (
      select from todos t where t.${sql.ref(column)} = ${id} and t.user_id = ${actor.user.id} and t.state = 'pending')
    on conflict do nothing
    returning id, author_id, ${sql.join(ITEM_COLUMNS.map((name) => sql.ref(name)))}, action, state, created_at,
      updated_at`.execute(tx);
  const [row] = rows;
  if (!row) throw unchanged();
  return row;
}

export async function completeTodo(tx: Tx, kinds: readonly TodoKind[], actor: Actor, id: number): Promise<TodoRow> {
  const todo = await requireTodo(tx, kinds, actor, id);
  if (todo.state === "done") return todo;
  await sql`update todos set state = 'done', updated_at = now() where id = ${id}`.execute(tx);
  return requireTodo(tx, kinds, actor, id);
}

/** Marks some of the pending to-dos of a user as done, up to an id, and returns how many. */
export async function completeBatch(tx: Tx, userId: number, upTo: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update todos set state = 'done', updated_at = now() where id in (
      select id from todos where user_id = ${userId} and state = 'pending' and id <= ${upTo}
      order by id desc limit ${sql.lit(BATCH)})`.execute(tx);
  return Number(numAffectedRows);
}

/** Marks the newest pending to-dos of a user as done, and returns the id up to which others are left, if any are. */
export async function completeAll(tx: Tx, userId: number): Promise<number | undefined> {
  const { rows } = await sql<{ newest: number | null }>`
    select max(id) as newest from todos where user_id = ${userId} and state = 'pending'`.execute(tx);
  const newest = rows[0]?.newest;
  if (!newest) return undefined;
  return (await completeBatch(tx, userId, newest)) < BATCH ? undefined : newest;
}
