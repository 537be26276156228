import { sql } from "kysely";
import type { GroupSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { epicVisibleIn, epicVisibleTo } from "#domains/planning/items/visibility.ts";

/** Epics without their descriptions, as rows of `e`. */
export const epics = (db: Db) =>
  db
    .selectFrom("epics as e")
    .select([
      "e.id",
      "e.group_id",
      "e.iid",
      "e.parent_id",
      "e.author_id",
      "e.created_at",
      "e.updated_at",
      "e.closed_at",
    ])
    .select(["e.start_date_fixed", "e.start_date_is_fixed", "e.due_date_fixed", "e.due_date_is_fixed"])
    .select(["e.state", "e.confidential", "e.color", "e.title"]);

export type EpicRow = Awaited<ReturnType<ReturnType<typeof epics>["executeTakeFirstOrThrow"]>> & {
  readonly description?: string | null;
};
export type DescribedEpic = EpicRow & { readonly description: string | null };

/** Finds an epic of a group by its number; one that the caller may not see is answered like a missing one. */
export async function requireEpic(db: Db, group: GroupSeen, actor: Actor | null, iid: number): Promise<EpicRow> {
  return (await visibleEpic(db, group, actor, iid).executeTakeFirst()) ?? noEpic();
}

/** Finds an epic of a group by its id, or else by its number; one that the actor may not see counts as missing. */
export async function requireEpicByAnyId(
  db: Db,
  group: GroupSeen,
  actor: Actor | null,
  idOrIid: number,
): Promise<EpicRow> {
  const epic = await epics(db)
    .where("e.group_id", "=", group.id)
    .where(sql<boolean>`(e.id = ${idOrIid} or e.iid = ${idOrIid}::bigint)`)
    .where(epicVisibleIn(group, actor))
    .orderBy(sql`e.id = ${idOrIid}`, "desc")
    .limit(1)
    .executeTakeFirst();
  return epic ?? noEpic();
}

/** An epic by its number with its description, locked against other changes. */
export async function lockEpic(tx: Tx, group: GroupSeen, actor: Actor, iid: number): Promise<DescribedEpic> {
  const locked = visibleEpic(tx, group, actor, iid).select("e.description").forUpdate("e");
  return (await locked.executeTakeFirst()) ?? noEpic();
}

// A number that is too large for the column is that of no epic.
const visibleEpic = (db: Db, group: GroupSeen, actor: Actor | null, iid: number) =>
  epics(db)
    .where("e.group_id", "=", group.id)
    .where(sql<boolean>`e.iid = ${iid}::bigint`)
    .where(epicVisibleIn(group, actor));

export const noEpic = (): never => {
  throw new Refusal("missing", "404 Not found");
};

/** Epics of any group that the actor may see, with their groups as `n`. */
export const visibleEpics = (db: Db, actor: Actor | null) =>
  epics(db).innerJoin("namespaces as n", "n.id", "e.group_id").where(epicVisibleTo(actor));

/** The parents of some epics by id, as far as the actor may see them. */
export async function parentsOf(
  db: Db,
  rows: readonly Pick<EpicRow, "parent_id">[],
  actor: Actor | null,
): Promise<Map<number, EpicRow>> {
  const ids = [...new Set(rows.flatMap(({ parent_id }) => parent_id ?? []))];
  if (ids.length === 0) return new Map();
  const found = await visibleEpics(db, actor)
    .where("e.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
  return new Map(found.map((row) => [row.id, row]));
}
