import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { missing } from "#lib/refusal.ts";
import {
  idOfRow,
  isVisibleItem,
  ITEM_COLUMNS,
  namespaceOfRow,
  rowsInContainer,
} from "#domains/conversation/items/item.ts";
import type { TodoKind } from "./kinds.ts";
import type { TodoFilters } from "./params.ts";

export const todos = (db: Db) =>
  db
    .selectFrom("todos as t")
    .select(["t.id", "t.author_id", "t.action", "t.state", "t.created_at", "t.updated_at"])
    .select(ITEM_COLUMNS.map((column) => `t.${column}` as const));

export type TodoRow = Awaited<ReturnType<ReturnType<typeof todos>["executeTakeFirstOrThrow"]>>;

export const PAGING = { id: "t.id", sort: "desc" } as const;

/** The to-dos of a user, as far as they may still see what these are about. */
export function listTodos(kinds: readonly TodoKind[], actor: Actor, filters: TodoFilters): Listing {
  const { action, author_id, project_id, group_id, state, type } = filters;
  const isOwn = sql`t.user_id = ${actor.user.id} and t.state = ${state}`;
  const asked = kinds
    .map(({ items: { kind } }) => kind)
    .filter(({ name, container }) => (type ?? name) === name && (project_id === undefined || container === "project"));
  return {
    from: "todos as t",
    sources: asked.map((kind) => ({
      scan: sql`(select t.* from todos t join (${rowsInContainer(kind)}) on ${idOfRow(kind)} = ${sql.ref(`t.${kind.column}`)}
        where ${isOwn} and ${kind.isVisible(actor)}
          and ${project_id === undefined ? sql`true` : sql`p.id = ${project_id}`}
          and ${group_id === undefined ? sql`true` : isBelow(namespaceOfRow(kind), group_id)})`,
    })),
    filters: [
      action !== undefined && sql<boolean>`t.action = ${action}`,
      author_id !== undefined && sql<boolean>`t.author_id = ${author_id}`,
    ],
  };
}

/** Whether a namespace is a group or below it. */
const isBelow = (namespaceId: RawBuilder<unknown>, groupId: number) => sql`${namespaceId} in (
  select s from namespaces g cross join subtree(g.traversal_ids, g.subtree_end) s where g.id = ${groupId})`;

/** Finds a to-do of the caller; one of others, or whose item they may not see any more, is answered like a missing one. */
export async function requireTodo(db: Db, kinds: readonly TodoKind[], actor: Actor, id: number): Promise<TodoRow> {
  const isVisible = kinds.map(({ items: { kind } }) => isVisibleItem(kind, `t.${kind.column}`, actor));
  const row = await todos(db)
    .where("t.id", "=", id)
    .where("t.user_id", "=", actor.user.id)
    .where(sql<boolean>`(${sql.join(isVisible, sql` or `)})`)
    .executeTakeFirst();
  if (!row) throw missing("Todo");
  return row;
}
