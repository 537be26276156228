import { sql } from "kysely";
import { archivedAbove, type GroupSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { needsRole } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import { forbidden, unprocessable } from "#lib/refusal.ts";
import { hasRoleInGroup } from "#domains/planning/items/visibility.ts";
import { MAX_LEVELS } from "./dates.ts";
import { lastPosition } from "./positions.ts";
import { type EpicRow, noEpic, visibleEpics } from "./queries.ts";

/** How many child epics one may have. */
const MAX_CHILDREN = 1000;

/** The epic to place below another; a new one has no id yet. */
interface Placed {
  readonly id?: number;
  readonly confidential: boolean;
  /** The groups that it is in, root first. */
  readonly traversal_ids: readonly number[];
}

const related = (tx: Tx, actor: Actor, id: number) =>
  visibleEpics(tx, actor)
    .select(["n.traversal_ids", sql<boolean>`${sql.raw(archivedAbove)}`.as("is_archived")])
    .where("e.id", "=", id)
    .forNoKeyUpdate("e");

/** Finds the epic that another is to be placed below; one that the caller may not see is answered like a missing one. */
export async function lockParent(tx: Tx, actor: Actor, id: number): Promise<EpicRow> {
  const isManaged = hasRoleInGroup(actor, "planner").as("is_managed");
  const row = await related(tx, actor, id).select(isManaged).executeTakeFirst();
  if (!row) return noEpic();
  if (!row.is_managed) throw needsRole("planner", "group of the parent");
  return row;
}

/** Finds an epic of a group or one below it. Who manages the epics of a group manages those of all groups below. */
export async function lockChild(tx: Tx, actor: Actor, { id: groupId }: GroupSeen, id: number) {
  const row = await related(tx, actor, id)
    .where(sql<boolean>`${groupId} = any(n.traversal_ids)`)
    .executeTakeFirst();
  if (!row) return noEpic();
  if (row.is_archived) throw forbidden("The group of the child epic is archived");
  return row;
}

/**
 * Lets all who change parents in one tree of groups wait for each other, since two at once could close a circle. It is
 * taken before any row is locked, so that no two of them wait for each other's rows.
 */
export const lockParents = (tx: Tx, { traversal_ids: [root = 0] }: Pick<GroupSeen, "traversal_ids">) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`parents of epics below ${root}`}, 0))`.execute(tx);

/**
 * Refuses to place an epic below another if that makes a circle, more than seven levels or too many children; the
 * caller has called `lockParents`. Returns the position after the other children.
 */
export async function placeBelow(tx: Tx, parent: EpicRow, placed: Placed): Promise<number> {
  const { traversal_ids: ids, confidential } = placed;
  if (!ids.includes(parent.group_id)) {
    throw unprocessable("The parent must be in the same group as the child epic, or in a group above it");
  }
  if (parent.confidential && !confidential) {
    throw unprocessable("A confidential epic cannot have a child epic that is not confidential");
  }
  const [root = 0] = ids;
  const { levels, is_circle, is_apart, children } = await shapeOf(tx, parent.id, placed.id ?? 0, root);
  if (is_circle) throw unprocessable("An epic cannot be below itself or one of its own child epics");
  if (is_apart) throw unprocessable("The parent and all child epics must be in one top-level group");
  if (levels > MAX_LEVELS) throw unprocessable(`Epics cannot be nested in more than ${MAX_LEVELS} levels`);
  if (children >= MAX_CHILDREN) throw unprocessable(`An epic cannot have more than ${MAX_CHILDREN} child epics`);
  return lastPosition(tx, "epics", parent.id);
}

interface Shape {
  readonly levels: number;
  readonly is_circle: boolean;
  /** Whether a group that was moved left relatives elsewhere, whose parents another lock protects. */
  readonly is_apart: boolean;
  readonly children: number;
}

/** The tree of a parent with a child below it: one level more than allowed is enough to know. */
async function shapeOf(tx: Tx, parentId: number, childId: number, root: number): Promise<Shape> {
  const { rows } = await sql<Shape>`
    with recursive above as (
      select id, parent_id, group_id, 1 as level from epics where id = ${parentId}
      union all
      select e.id, e.parent_id, e.group_id, a.level + 1 from above a join epics e on e.id = a.parent_id
      where a.level <= ${sql.lit(MAX_LEVELS)}
    ), below as (
      select id, group_id, 1 as level from epics where id = ${childId}
      union all
      select e.id, e.group_id, b.level + 1 from below b join epics e on e.parent_id = b.id
      where b.level <= ${sql.lit(MAX_LEVELS)}
    )
    select (select max(level) from above) + coalesce((select max(level) from below), 1) as levels,
      exists (select from above where id = ${childId}) as is_circle,
      exists (select from (select group_id from above union select group_id from below) g
        join namespaces n on n.id = g.group_id where n.traversal_ids[1] <> ${root}) as is_apart,
      (select count(*) from epics where parent_id = ${parentId} and id <> ${childId}) as children`.execute(tx);
  return rows[0] ?? { levels: 0, is_circle: false, is_apart: false, children: 0 };
}

/**
 * Refuses a change of `confidential` after which a confidential epic had a child or an issue that is not. It does not
 * tell of the parent, which the caller may not see.
 */
export async function checkConfidential(
  tx: Tx,
  { id, parent_id, confidential }: Pick<EpicRow, "id" | "parent_id" | "confidential">,
): Promise<void> {
  const { rows } = await sql<{ is_refused: boolean }>`select ${
    confidential
      ? sql`exists (select from epics where parent_id = ${id} and not confidential) or exists (
          select from epic_issues l join issues i on i.id = l.issue_id where l.epic_id = ${id} and not i.confidential)`
      : sql`exists (select from epics where id = ${parent_id} and confidential for share)`
  } as is_refused`.execute(tx);
  if (!rows[0]?.is_refused) return;
  throw unprocessable(
    confidential
      ? "A confidential epic cannot have issues or child epics that are not confidential"
      : "The epic must stay confidential",
  );
}
