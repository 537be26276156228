import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { groupVisibleTo, visibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import { isAvailableIn, ofGroup, ofProject } from "#domains/planning/items/containers.ts";

/**
 * The label events of an item that an actor may see. An event whose label belongs to a project or group that is hidden
 * from the actor is left out; one whose label was deleted stays.
 */
export const eventsOf = (db: Db, of: ItemSeen, actor: Actor) =>
  db
    .selectFrom("label_events as v")
    .leftJoin("labels as l", "l.id", "v.label_id")
    .select(["v.id", "v.user_id", "v.action", "v.created_at"])
    .select(["l.id as label_id", "l.name", "l.description", "l.color"])
    .where(sql<boolean>`${sql.ref(`v.${of.kind.column}`)} = ${of.id}`)
    .where(sql<boolean>`(l.id is null or ${isReadable(of, actor)})`);

export type LabelEventRow = Awaited<ReturnType<ReturnType<typeof eventsOf>["executeTakeFirstOrThrow"]>>;

/** Whether an actor who sees an item may see the row of `labels as l`. */
function isReadable({ place, container }: ItemSeen, actor: Actor): RawBuilder<boolean> {
  const itsLabels = place === "project" ? ofProject(container) : ofGroup(container);
  return sql`(${isAvailableIn(itsLabels)}
    or exists (select from projects p where p.id = l.project_id and ${visibleTo(actor)})
    or exists (select from namespaces n where n.id = l.group_id and ${groupVisibleTo(actor)}))`;
}

export async function requireLabelEvent(db: Db, of: ItemSeen, actor: Actor, id: number): Promise<LabelEventRow> {
  const row = await eventsOf(db, of, actor).where("v.id", "=", id).executeTakeFirst();
  if (!row) throw missing("ResourceLabelEvent");
  return row;
}
