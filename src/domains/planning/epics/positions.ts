import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { noEpic } from "./queries.ts";
import type { NewPosition } from "./params.ts";

/** The distance of new positions, which leaves space to move others between. */
const STEP = 1 << 20;

/** What an epic has in an order of its own, by the column that names the epic. */
const PARENTS = { epics: "parent_id", epic_issues: "epic_id" } as const;
type Ordered = keyof typeof PARENTS;

/** A position after all others. */
export async function lastPosition(tx: Tx, table: Ordered, epicId: number): Promise<number> {
  const { rows } = await sql<{ position: number }>`
    select coalesce(max(relative_position), 0) + ${sql.lit(STEP)} as position
    from ${sql.table(table)} where ${sql.ref(PARENTS[table])} = ${epicId}`.execute(tx);
  return rows[0]?.position ?? STEP;
}

/** The child epics or issues of an epic, and the ids of those that the caller may see. */
interface Siblings {
  readonly table: Ordered;
  readonly epicId: number;
  readonly visible: RawBuilder<unknown>;
}

interface Sibling {
  readonly id: number;
  readonly relative_position: number | null;
}

/**
 * Moves a child epic or an issue of an epic, which the caller has locked, next to another that the caller may see. If
 * there is no space between the two, all are numbered anew.
 */
export async function reposition(
  tx: Tx,
  { table, epicId, visible }: Siblings,
  id: number,
  { move_before_id: before, move_after_id: after }: NewPosition,
): Promise<void> {
  const { rows } = await sql<Sibling & { readonly is_visible: boolean }>`
    select s.id, s.relative_position, s.id in (${visible}) as is_visible from ${sql.table(table)} s
    where ${sql.ref(`s.${PARENTS[table]}`)} = ${epicId} order by s.relative_position nulls last, s.id`.execute(tx);
  const others = rows.filter((row) => row.id !== id);
  const named = others.findIndex((row) => row.id === (before ?? after));
  const moved = rows.find((row) => row.id === id);
  if (!moved?.is_visible || !others[named]?.is_visible) return noEpic();
  const place = before === undefined ? named : named + 1;
  const position = between(others[place - 1], others[place]);
  if (position !== undefined) return setPositions(tx, table, [id], [position]);
  const ids = others.toSpliced(place, 0, moved).map((row) => row.id);
  await setPositions(
    tx,
    table,
    ids,
    ids.map((_, index) => (index + 1) * STEP),
  );
}

/** A whole number between the positions of two neighbours, of which one may be missing. */
function between(left: Sibling | undefined, right: Sibling | undefined): number | undefined {
  if (left?.relative_position === null || right?.relative_position === null) return undefined;
  if (!left) return right && right.relative_position - STEP;
  if (!right) return left.relative_position + STEP;
  const middle = Math.floor((left.relative_position + right.relative_position) / 2);
  return middle > left.relative_position ? middle : undefined;
}

async function setPositions(tx: Tx, table: Ordered, ids: readonly number[], positions: readonly number[]) {
  await sql`update ${sql.table(table)} t set relative_position = given.position
    from unnest(${ids}::bigint[], ${positions}::bigint[]) given (id, position) where t.id = given.id`.execute(tx);
}
