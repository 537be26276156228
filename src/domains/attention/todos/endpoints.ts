import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { completeAll, completeTodo, markTodo } from "./actions.ts";
import { todoOf } from "./entity.ts";
import { completeTodos } from "./jobs.ts";
import type { TodoKind } from "./kinds.ts";
import { TodoFilters, TodoId } from "./params.ts";
import { listTodos, PAGING, todos } from "./queries.ts";
import { todoView, todoViews } from "./views.ts";

/** The endpoints for to-dos about items of some kinds. */
export function todoEndpoints(kinds: readonly TodoKind[]) {
  const Todo = todoOf(kinds.map(({ entity }) => entity));
  const marks = kinds.map((kind) => [`mark${kind.items.kind.name}`, markEndpoint(kind, kinds, Todo)] as const);
  return { ...ownEndpoints(kinds, Todo), ...Object.fromEntries(marks) };
}

const ownEndpoints = (kinds: readonly TodoKind[], Todo: ReturnType<typeof todoOf>) => ({
  list: endpoint({
    method: "GET",
    path: "/todos",
    summary: "List the to-dos of the caller, the newest first: the pending ones, or with `state` those that are done",
    access: signedIn(),
    params: TodoFilters,
    returns: pageOf(Todo, PAGING),
    async handle({ db, params, page, ...viewer }) {
      return todoViews(db, kinds, await page.rows(todos(db), listTodos(kinds, viewer.actor, params)), viewer);
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
      todoView(tx, kinds, await completeTodo(tx, kinds, actor, params.id), { actor, site }),
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
});

const markEndpoint = ({ items, alias }: TodoKind, kinds: readonly TodoKind[], Todo: ReturnType<typeof todoOf>) =>
  endpoint({
    method: "POST",
    path: `${items.path}/todo`,
    ...(alias !== undefined && { alias }),
    summary: `Create a to-do of the caller about ${items.one}; 304 if there is one already`,
    ...items.availability,
    access: items.signedIn,
    params: items.params,
    returns: Todo,
    audit: auditedForOthers("todo_created"),
    unchanged: true,
    async handle({ tx, params, site, ...seen }) {
      const item = await items.find(tx, seen, params);
      return todoView(tx, kinds, await markTodo(tx, seen.actor, item), { actor: seen.actor, site });
    },
  });
