import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { missing } from "#lib/refusal.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import type { TodoFilters } from "./params.ts";

export const todos = (db: Db) =>
  db
    .selectFrom("todos as t")
    .select(["t.id", "t.author_id", "t.issue_id", "t.epic_id", "t.action", "t.state", "t.created_at", "t.updated_at"]);

export type TodoRow = Awaited<ReturnType<ReturnType<typeof todos>["executeTakeFirstOrThrow"]>>;

export const PAGING = { id: "t.id", sort: "desc" } as const;

/** The to-dos of a user about issues and about epics, as far as they may still see these. */
export function listTodos(actor: Actor, filters: TodoFilters): Listing {
  const { action, author_id, project_id, group_id, state, type } = filters;
  const isOwn = sql`t.user_id = ${actor.user.id} and t.state = ${state}`;
  const aboutIssues = sql`(select t.* from todos t join issues i on i.id = t.issue_id join projects p on p.id = i.project_id
    where ${isOwn} and ${issueVisibleTo(actor)}
      and ${project_id === undefined ? sql`true` : sql`i.project_id = ${project_id}`}
      and ${group_id === undefined ? sql`true` : isBelow(sql`p.namespace_id`, group_id)})`;
  const aboutEpics = sql`(select t.* from todos t join epics e on e.id = t.epic_id join namespaces n on n.id = e.group_id
    where ${isOwn} and ${epicVisibleTo(actor)}
      and ${group_id === undefined ? sql`true` : isBelow(sql`e.group_id`, group_id)})`;
  return {
    from: "todos as t",
    sources: [
      ...(type === undefined || type === "Issue" ? [{ scan: aboutIssues }] : []),
      ...((type === undefined || type === "Epic") && project_id === undefined ? [{ scan: aboutEpics }] : []),
    ],
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
export async function requireTodo(db: Db, actor: Actor, id: number): Promise<TodoRow> {
  const isVisible = sql<boolean>`(
    exists (select from issues i join projects p on p.id = i.project_id
      where i.id = t.issue_id and ${issueVisibleTo(actor)})
    or exists (select from epics e join namespaces n on n.id = e.group_id
      where e.id = t.epic_id and ${epicVisibleTo(actor)}))`;
  const row = await todos(db)
    .where("t.id", "=", id)
    .where("t.user_id", "=", actor.user.id)
    .where(isVisible)
    .executeTakeFirst();
  if (!row) throw missing("Todo");
  return row;
}
