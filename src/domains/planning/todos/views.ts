import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { fullName, fullPath, namespacesByIds } from "#domains/foundation/namespaces/queries.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { summariesOf } from "#domains/identity/users/queries.ts";
import { presentNamespace } from "#domains/organization/namespaces/entity.ts";
import { presentIdentity } from "#domains/organization/projects/identity.ts";
import type { Answer } from "#domains/planning/items/answer.ts";
import type { Epic } from "#domains/planning/epics/entity.ts";
import { epics } from "#domains/planning/epics/queries.ts";
import { epicViews } from "#domains/planning/epics/views.ts";
import type { Issue } from "#domains/planning/issues/entity.ts";
import { issues } from "#domains/planning/issues/queries.ts";
import { issueViews } from "#domains/planning/issues/views.ts";
import type { Todo } from "./entity.ts";
import type { TodoRow } from "./queries.ts";

interface TodoViewer extends Answer {
  readonly actor: Actor;
  readonly site: string;
}

/** Presents to-dos in the order of the rows with a constant number of statements. The caller may see their items. */
export async function todoViews(db: Db, rows: readonly TodoRow[], viewer: TodoViewer): Promise<Todo[]> {
  const authorIds = [...new Set(rows.flatMap(({ author_id }) => author_id ?? []))];
  const authors = new Map((await summariesOf(db, authorIds)).map((row) => [row.id, presentSummary(viewer.site)(row)]));
  const items = Map.groupBy(rows, keyOf);
  const copies = Math.max(1, ...[...items.values()].map(({ length }) => length));
  const targets = {
    ...(await issuesOf(db, rows, { ...viewer, copies })),
    ...(await epicsOf(db, rows, { ...viewer, copies })),
  };
  return rows.flatMap((row) => {
    const target = targets[keyOf(row)];
    return target ? presentTodo(row, target, authors.get(row.author_id ?? 0) ?? null) : [];
  });
}

const keyOf = ({ issue_id, epic_id }: TodoRow) => `${issue_id ?? ""} ${epic_id ?? ""}`;

export async function todoView(db: Db, row: TodoRow, viewer: TodoViewer): Promise<Todo> {
  const [view] = await todoViews(db, [row], viewer);
  if (!view) throw new Error(`to-do ${row.id} has no item`);
  return view;
}

/** An item with the container that it is in. */
type Target =
  | { readonly target: Issue; readonly project: NonNullable<Todo["project"]> }
  | { readonly target: Epic; readonly group: NonNullable<Todo["group"]> };
type Targets = Record<string, Target>;

function presentTodo(row: TodoRow, { target, ...container }: Target, author: Todo["author"]): Todo {
  return {
    id: row.id,
    ...container,
    author,
    action_name: row.action,
    target_type: row.issue_id === null ? "Epic" : "Issue",
    target,
    target_url: target.web_url,
    body: target.title,
    state: row.state,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

async function issuesOf(db: Db, rows: readonly TodoRow[], viewer: TodoViewer): Promise<Targets> {
  const ids = rows.flatMap(({ issue_id }) => issue_id ?? []);
  if (ids.length === 0) return {};
  const found = await issues(db)
    .innerJoin("projects as p", "p.id", "i.project_id")
    .innerJoin("namespaces as n", "n.id", "p.namespace_id")
    .select(["p.name", "p.path", "p.description as about", "p.created_at as founded_at"])
    .select([fullPath("n").as("full_path"), fullName("n").as("full_name")])
    .where("i.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
  const projects = new Map(
    found.map(({ project_id: id, name, path, about: description, founded_at: created_at, ...namespace }) => [
      id,
      presentIdentity({ id, name, path, description, created_at }, namespace),
    ]),
  );
  const views = await issueViews(db, found, viewer);
  return Object.fromEntries(
    views.flatMap((target) => {
      const project = projects.get(target.project_id);
      return project ? [[`${target.id} `, { target, project }]] : [];
    }),
  );
}

async function epicsOf(db: Db, rows: readonly TodoRow[], viewer: TodoViewer): Promise<Targets> {
  const ids = rows.flatMap(({ epic_id }) => epic_id ?? []);
  if (ids.length === 0) return {};
  const found = await epics(db)
    .where("e.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
  const rowsOfGroups = await namespacesByIds(db, [...new Set(found.map(({ group_id }) => group_id))]);
  const groups = new Map(rowsOfGroups.map((row) => [row.id, presentNamespace(viewer.site)(row)]));
  const views = await epicViews(db, found, { ...viewer, groups: rowsOfGroups });
  return Object.fromEntries(
    views.flatMap((target) => {
      const group = groups.get(target.group_id);
      return group ? [[` ${target.id}`, { target, group }]] : [];
    }),
  );
}
