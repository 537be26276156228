import { signedIn } from "#access/access.ts";
import { inGroup, inProject } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import Type from "typebox";
import { EpicId } from "#domains/planning/epics/params.ts";
import { requireEpic } from "#domains/planning/epics/queries.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { requireIssue } from "#domains/planning/issues/queries.ts";
import { completeAll, completeTodo, markTodo } from "./actions.ts";
import { Todo } from "./entity.ts";
import { completeTodos } from "./jobs.ts";
import { TodoFilters, TodoId } from "./params.ts";
import { listTodos, PAGING, todos as todoRows } from "./queries.ts";
import { todoView, todoViews } from "./views.ts";

export const todos = {
  list: endpoint({
    method: "GET",
    path: "/todos",
    summary: "List the to-dos of the caller, the newest first: the pending ones, or with `state` those that are done",
    access: signedIn(),
    params: TodoFilters,
    returns: pageOf(Todo, PAGING),
    async handle({ db, params, page, ...viewer }) {
      const rows = await page.rows(todoRows(db), listTodos(viewer.actor, params));
      return todoViews(db, rows, viewer);
    },
  }),

  markAsDone: endpoint({
    method: "POST",
    path: "/todos/:id/mark_as_done",
    summary: "Mark a to-do of the caller as done",
    access: signedIn(),
    params: TodoId,
    returns: Todo,
    audit: auditedForOthers("todo_done"),
    handle: async ({ tx, actor, params, site }) =>
      todoView(tx, await completeTodo(tx, actor, params.id), { actor, site }),
  }),

  markAllAsDone: endpoint({
    method: "POST",
    path: "/todos/mark_as_done",
    summary: "Mark all to-dos of the caller as done",
    access: signedIn(),
    params: Type.Object({}),
    audit: auditedForOthers("todos_done"),
    async handle({ tx, actor, services }) {
      const upTo = await completeAll(tx, actor.user.id);
      if (upTo !== undefined) await services.jobs.add(tx, completeTodos, { user_id: actor.user.id, up_to: upTo });
    },
  }),

  markIssue: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/todo",
    summary: "Create a to-do of the caller about an issue; 304 if there is one already",
    access: inProject("viewer", { feature: "issues", signedIn: true }),
    params: IssueId,
    returns: Todo,
    audit: auditedForOthers("todo_created"),
    async handle({ tx, project, actor, params, site }) {
      const { id } = await requireIssue(tx, project, actor, params.issue_iid);
      return todoView(tx, await markTodo(tx, actor, { column: "issue_id", id }), { actor, site });
    },
  }),

  markEpic: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_iid/todo",
    alias: "/groups/:id/epics/:epic_iid/todos",
    summary: "Create a to-do of the caller about an epic; 304 if there is one already",
    plan: "premium",
    access: inGroup("viewer", { signedIn: true }),
    params: EpicId,
    returns: Todo,
    audit: auditedForOthers("todo_created"),
    async handle({ tx, group, actor, params, site }) {
      const { id } = await requireEpic(tx, group, actor, params.epic_iid);
      return todoView(tx, await markTodo(tx, actor, { column: "epic_id", id }), { actor, site });
    },
  }),
};
