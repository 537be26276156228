import { type RawBuilder, sql } from "kysely";
import type { TSchema } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { fullName, fullPath, namespacesByIds } from "#domains/foundation/namespaces/queries.ts";
import { presentNamespace } from "#domains/organization/namespaces/entity.ts";
import { presentIdentity } from "#domains/organization/projects/identity.ts";
import { Epic } from "#domains/planning/epics/entity.ts";
import { epics } from "#domains/planning/epics/queries.ts";
import { epicViews } from "#domains/planning/epics/views.ts";
import { Issue } from "#domains/planning/issues/entity.ts";
import { issues } from "#domains/planning/issues/queries.ts";
import { issueViews } from "#domains/planning/issues/views.ts";
import type { Answer } from "#domains/planning/items/answer.ts";
import type { ItemColumn } from "#domains/planning/items/item.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { EPICS_BY_IID, ISSUES, type Noteable } from "#domains/planning/notes/noteables.ts";

export interface TodoViewer extends Answer {
  readonly actor: Actor;
  readonly site: string;
}

/** An item with the container that it is in. */
export interface TodoTarget {
  readonly target: { readonly id: number; readonly title: string; readonly web_url: string };
  readonly project?: ReturnType<typeof presentIdentity>;
  readonly group?: ReturnType<ReturnType<typeof presentNamespace>>;
}

/** What to-dos need to know of a kind of item. */
export interface TodoKind {
  readonly column: ItemColumn;
  /** Where the items are in the API. */
  readonly items: Noteable;
  /** Another path by which clients create a to-do about an item. */
  readonly alias?: string;
  /** What the API shows of an item. */
  readonly entity: TSchema;
  /** Whether an actor may see the row of the kind, which is in `projects as p` or `namespaces as n`. */
  isVisible(actor: Actor): RawBuilder<boolean>;
  /** The items of some ids; those that are gone are left out. */
  targets(db: Db, ids: readonly number[], viewer: TodoViewer): Promise<TodoTarget[]>;
}

const among = (ids: readonly number[]) => sql<number>`any(${ids}::bigint[])`;

export const ISSUE_TODOS: TodoKind = {
  column: "issue_id",
  items: ISSUES,
  entity: Issue,
  isVisible: issueVisibleTo,
  async targets(db, ids, viewer) {
    const rows = await issues(db)
      .innerJoin("projects as p", "p.id", "i.project_id")
      .innerJoin("namespaces as n", "n.id", "p.namespace_id")
      .select(PROJECT)
      .where("i.id", "=", among(ids))
      .execute();
    return inProjects(rows, await issueViews(db, rows, viewer));
  },
};

export const EPIC_TODOS: TodoKind = {
  column: "epic_id",
  items: EPICS_BY_IID,
  alias: `${EPICS_BY_IID.path}/todos`,
  entity: Epic,
  isVisible: epicVisibleTo,
  async targets(db, ids, viewer) {
    const found = await epics(db).where("e.id", "=", among(ids)).execute();
    const rows = await namespacesByIds(db, [...new Set(found.map(({ group_id }) => group_id))]);
    const groups = new Map(rows.map((row) => [row.id, presentNamespace(viewer.site)(row)]));
    const views = await epicViews(db, found, { ...viewer, groups: rows });
    return views.flatMap((target) => {
      const group = groups.get(target.group_id);
      return group ? { target, group } : [];
    });
  },
};

/** What to-dos show of the project of an item, as `projects as p` in `namespaces as n`. */
export const PROJECT = [
  ...(["p.name", "p.path", "p.description as about", "p.created_at as founded_at"] as const),
  ...([fullPath("n").as("full_path"), fullName("n").as("full_name")] as const),
] as const;

interface RowInProject {
  readonly project_id: number;
  readonly name: string;
  readonly path: string;
  readonly about: string;
  readonly founded_at: string;
  readonly full_path: string;
  readonly full_name: string;
}

/** Adds the projects of items, whose rows have them beside their own columns. */
export function inProjects(
  rows: readonly RowInProject[],
  targets: readonly (TodoTarget["target"] & { readonly project_id: number })[],
): TodoTarget[] {
  const projects = new Map(
    rows.map(({ project_id: id, name, path, about: description, founded_at: created_at, ...namespace }) => [
      id,
      presentIdentity({ id, name, path, description, created_at }, namespace),
    ]),
  );
  return targets.flatMap((target) => {
    const project = projects.get(target.project_id);
    return project ? { target, project } : [];
  });
}
