import { type Selectable, sql } from "kysely";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import { checkVisibilityIn, holdPlace, type Place, refuseClosed } from "#resources/namespaces/placement.ts";
import { isTaken } from "#resources/namespaces/queries.ts";
import { checkPath } from "#resources/namespaces/validate.ts";

/** A group that is to move, where to, null being the top, and who wants it. */
export interface Move {
  readonly id: number;
  readonly parent_id: number | null;
  readonly by_id: number;
}

type Row = Pick<Selectable<Database["namespaces"]>, "id" | "parent_id" | "path" | "visibility" | "traversal_ids">;

const MOST_LEVELS = 20;

/**
 * Moves a group with all that is in it, unless that is more than `most` groups, and says whether it did; the addresses
 * of before lead on. The caller holds the tree alone.
 */
export async function transferGroup(tx: Tx, move: Move, most = Infinity): Promise<boolean> {
  const { group, place, size } = await checkedTransfer(tx, move);
  if (size > most) return false;
  await sql`update namespaces set parent_id = ${move.parent_id}, updated_at = now() where id = ${group.id}`.execute(tx);
  await sql`
    update namespaces
    set traversal_ids = ${place?.traversal_ids ?? []}::bigint[] || traversal_ids[${group.traversal_ids.length}::integer:]
    where ${inSubtree(group)}`.execute(tx);
  if (!place) await makeOwnerIfNone(tx, group.id, move.by_id);
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
  const place = parent_id === null ? undefined : await holdPlace(tx, parent_id);
  if (!group || (parent_id !== null && place?.kind !== "group")) throw missing("Group");
  if (group.parent_id === parent_id) throw badRequest("The group is there already");
  if (place?.traversal_ids.includes(id)) throw badRequest("A group cannot be moved into itself or a group in it");
  if (place) refuseClosed(place);

  const { size, levels } = await measured(tx, group);
  const problems: Problems = {};
  checkPath(problems, group.path, place ? "below" : "top");
  if (await isTaken(tx, parent_id ?? 0, group.path)) refuse(problems, "path", "has already been taken");
  if (place) checkVisibilityIn(problems, group.visibility, place);
  if (depthOf(place) + levels > MOST_LEVELS) {
    refuse(problems, "parent_id", `is nested too deeply: there can be ${MOST_LEVELS} levels of groups`);
  }
  throwProblems(problems);
  return { group, place, size };
}

const depthOf = (place: Place | undefined) => place?.traversal_ids.length ?? 0;

const inSubtree = ({ id, traversal_ids }: Row) => sql`
  traversal_ids >= ${traversal_ids}::bigint[] and traversal_ids < ${[...traversal_ids.slice(0, -1), id + 1]}::bigint[]`;

/** How many groups there are in a group, itself included, and on how many levels. */
async function measured(tx: Tx, group: Row): Promise<{ size: number; levels: number }> {
  const { rows } = await sql<{ size: number; deepest: number }>`
    select count(*) as size, max(cardinality(traversal_ids)) as deepest from namespaces where ${inSubtree(group)}`.execute(
    tx,
  );
  const { size = 0, deepest = 0 } = rows[0] ?? {};
  return { size, levels: deepest - group.traversal_ids.length + 1 };
}

/** At the top no group above has Owners, so there must be one in the group itself. */
async function makeOwnerIfNone(tx: Tx, groupId: number, userId: number) {
  await sql`
    insert into members (group_id, user_id, access_level, created_by_id)
    select ${groupId}, ${userId}, ${sql.lit(LEVELS.owner)}, ${userId}
    where not exists (
      select from members m where m.group_id = ${groupId} and m.access_level = ${sql.lit(LEVELS.owner)} and ${sql.raw(live("m"))})
    on conflict (group_id, user_id) where group_id is not null
      do update set access_level = excluded.access_level, expires_at = null`.execute(tx);
}
