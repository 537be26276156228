import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Item, ItemKind } from "#domains/conversation/items/item.ts";

/** Whom a change of an item asks to look at it. */
export interface ToldPeople {
  readonly assigned?: readonly number[];
  /** Those asked to review. */
  readonly reviewing?: readonly number[];
  readonly mentioned?: readonly number[];
}

/**
 * A statement that inserts the to-dos of what `item` selects, a row with an id. Authors are not told of their own
 * mentions. Whoever already has such a to-do pending gets no other.
 */
export function todosOf(
  { column }: ItemKind,
  item: RawBuilder<unknown>,
  authorId: number | null,
  { assigned = [], reviewing = [], mentioned = [] }: ToldPeople,
): RawBuilder<unknown> {
  const others = mentioned.filter((id) => id !== authorId);
  return sql`insert into todos (${sql.ref(column)}, user_id, author_id, action)
    select item.id, told.user_id, ${authorId}::bigint, told.action from (${item}) item cross join (
      select unnest(${assigned}::bigint[]) as user_id, 'assigned' as action
      union all select unnest(${reviewing}::bigint[]), 'review_requested'
      union all select unnest(${others}::bigint[]), 'mentioned') told
    on conflict do nothing`;
}

/**
 * After a user changed an item: what they were asked about it is done, since they have acted on it, and others are asked.
 * The caller has locked the item.
 */
export async function updateTodos(tx: Tx, item: Item, userId: number, told: ToldPeople): Promise<void> {
  await completeTodos(tx, item, userId);
  if (!told.assigned?.length && !told.reviewing?.length && !told.mentioned?.length) return;
  await todosOf(item.kind, sql`select ${item.id}::bigint as id`, userId, told).execute(tx);
}

async function completeTodos(tx: Tx, { kind: { column }, id }: Item, userId: number): Promise<void> {
  await sql`update todos set state = 'done', updated_at = now()
    where ${sql.ref(column)} = ${id} and user_id = ${userId} and state = 'pending'`.execute(tx);
}

/** Marks what people were asked, who are no longer assigned or no longer reviewers, as done. */
export async function completeAssignments(
  tx: Tx,
  { kind: { column }, id }: Item,
  userIds: readonly number[],
  action: "assigned" | "review_requested" = "assigned",
): Promise<void> {
  if (userIds.length === 0) return;
  await sql`update todos set state = 'done', updated_at = now()
    where ${sql.ref(column)} = ${id} and user_id = any(${userIds}::bigint[]) and action = ${action}
      and state = 'pending'`.execute(tx);
}

/** What people were asked about an issue goes with it to its new project. */
export async function moveTodos(tx: Tx, fromIssueId: number, toIssueId: number): Promise<void> {
  await sql`update todos set issue_id = ${toIssueId} where issue_id = ${fromIssueId} and state = 'pending'`.execute(tx);
}
