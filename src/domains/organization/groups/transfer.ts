import { type Selectable, sql } from "kysely";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import {
  checkVisibilityIn,
  lockNamespace,
  type TargetNamespace,
  refuseClosed,
} from "#domains/foundation/namespaces/placement.ts";
import { isTaken } from "#domains/foundation/namespaces/queries.ts";
import { checkPath } from "#domains/foundation/namespaces/validate.ts";

/** A requested move of a group; a null parent is the top level. */
export interface Move {
  readonly id: number;
  readonly parent_id: number | null;
  readonly by_id: number;
}

type Row = Pick<Selectable<Database["namespaces"]>, "id" | "parent_id" | "path" | "visibility" | "traversal_ids">;

const MAX_DEPTH = 20;

/**
 * Moves a group with everything in it, unless that is more than `maxGroups` groups, and returns whether it did.
 * Previous paths redirect. The caller must hold `lockTree`.
 */
export async function transferGroup(tx: Tx, move: Move, maxGroups = Infinity): Promise<boolean> {
  const { group, parent, size } = await checkedTransfer(tx, move);
  if (size > maxGroups) return false;
  await sql`update namespaces set parent_id = ${move.parent_id}, updated_at = now() where id = ${group.id}`.execute(tx);
  await sql`
    update namespaces
    set traversal_ids = ${parent?.traversal_ids ?? []}::bigint[] || traversal_ids[${group.traversal_ids.length}::integer:]
    where ${inSubtree(group)}`.execute(tx);
  if (!parent) await ensureOwner(tx, group.id, move.by_id);
  return true;
}

async function checkedTransfer(tx: Tx, { id, parent_id }: Move) {
  const group = await tx
    .selectFrom("namespaces")
    .select(["id", "parent_id", "path", "visibility", "traversal_ids"])
    .where("id", "=", id)
    .where("kind", "=", "group")
    .forUpdate()
    .executeTakeFirst();
  const parent = parent_id === null ? undefined : await lockNamespace(tx, parent_id);
  if (!group || (parent_id !== null && parent?.kind !== "group")) throw missing("Group");
  if (group.parent_id === parent_id) throw badRequest("The group is there already");
  if (parent?.traversal_ids.includes(id)) throw badRequest("A group cannot be moved into itself or a group in it");
  if (parent) refuseClosed(parent);

  const { size, levels } = await measured(tx, group);
  const problems: Problems = {};
  checkPath(problems, group.path, parent ? "below" : "top");
  if (await isTaken(tx, parent_id ?? 0, group.path)) refuse(problems, "path", "has already been taken");
  if (parent) checkVisibilityIn(problems, group.visibility, parent);
  if (depthOf(parent) + levels > MAX_DEPTH) {
    refuse(problems, "parent_id", `is nested too deeply: there can be ${MAX_DEPTH} levels of groups`);
  }
  throwProblems(problems);
  return { group, parent, size };
}

const depthOf = (parent: TargetNamespace | undefined) => parent?.traversal_ids.length ?? 0;

const inSubtree = ({ id, traversal_ids }: Row) => sql`
  traversal_ids >= ${traversal_ids}::bigint[] and traversal_ids < ${[...traversal_ids.slice(0, -1), id + 1]}::bigint[]`;

/** Counts the groups in a subtree and its levels, both including the group itself. */
async function measured(tx: Tx, group: Row): Promise<{ size: number; levels: number }> {
  const { rows } = await sql<{ size: number; deepest: number }>`
    select count(*) as size, max(cardinality(traversal_ids)) as deepest from namespaces where ${inSubtree(group)}`.execute(
    tx,
  );
  const { size = 0, deepest = 0 } = rows[0] ?? {};
  return { size, levels: deepest - group.traversal_ids.length + 1 };
}

/** A top-level group inherits no Owners, so it must have one of its own. */
async function ensureOwner(tx: Tx, groupId: number, userId: number) {
  await sql`
    insert into members (group_id, user_id, access_level, created_by_id)
    select ${groupId}, ${userId}, ${sql.lit(LEVELS.owner)}, ${userId}
    where not exists (
      select from members m where m.group_id = ${groupId} and m.access_level = ${sql.lit(LEVELS.owner)} and ${sql.raw(live("m"))})
    on conflict (group_id, user_id) where group_id is not null
      do update set access_level = excluded.access_level, expires_at = null, updated_at = now()`.execute(tx);
}
