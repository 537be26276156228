import type { TSchema } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { fullName, fullPath } from "#domains/foundation/namespaces/queries.ts";
import type { presentNamespace } from "#domains/organization/namespaces/entity.ts";
import { presentIdentity } from "#domains/organization/projects/identity.ts";
import type { Answer } from "#domains/conversation/items/answer.ts";
import type { ItemResource } from "#domains/conversation/items/resource.ts";

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
  /** Where the items are in the API. */
  readonly items: ItemResource;
  /** Another path by which clients create a to-do about an item. */
  readonly alias?: string;
  /** What the API shows of an item. */
  readonly entity: TSchema;
  /** The items of some ids; those that are gone are left out. */
  targets(db: Db, ids: readonly number[], viewer: TodoViewer): Promise<TodoTarget[]>;
}

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
