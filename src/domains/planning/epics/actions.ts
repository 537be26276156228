import { sql } from "kysely";
import type { GroupSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { applyLabels } from "#domains/planning/labels/of-items.ts";
import { ofGroup } from "#domains/planning/items/containers.ts";
import { newMentions } from "#domains/attention/notifications/mentions.ts";
import type { Tx } from "#db/database.ts";
import { recordEvent } from "#domains/foundation/events/record.ts";
import { notify } from "#domains/attention/notifications/notify.ts";
import { refuseDeletion } from "#domains/planning/items/rights.ts";
import { stateColumns, statesReached } from "#domains/planning/items/states.ts";
import { changesOf, recordChanges } from "#domains/planning/items/system-notes.ts";
import { updateTodos } from "#domains/attention/todos/of-items.ts";
import { requireColor } from "#domains/planning/items/colors.ts";
import { EPIC } from "./kind.ts";
import type { EpicWrite } from "./new-epic.ts";
import type { EpicChanges } from "./params.ts";
import { recordParent } from "./parents.ts";
import { type EpicRow, epics, lockEpic } from "./queries.ts";
import { readersOfEpic } from "./readers.ts";
import { checkConfidential, lockParents, lockParent, placeBelow } from "./tree.ts";

/** Changes an epic. Its time of change stays the same if nothing is different afterwards. */
export async function changeEpic(write: EpicWrite, params: EpicChanges): Promise<EpicRow> {
  const { tx, group, actor } = write;
  if (params.parent_id !== undefined) await lockParents(tx, group);
  const epic = await lockEpic(tx, group, actor, params.epic_iid);
  const columns = {
    ...changedColumns(epic, params),
    ...stateColumns(epic, actor, params.state_event),
    ...(await parentColumns(write, epic, params)),
  };
  if (columns.confidential !== undefined) await checkConfidential(tx, { ...epic, ...columns });
  const item = { kind: EPIC, id: epic.id } as const;
  const isRelabelled = await applyLabels(tx, actor.user.id, ofGroup(group), item, params);
  if (Object.keys(columns).length === 0 && !isRelabelled) return epic;
  await tx
    .updateTable("epics")
    .set({ ...columns, updated_at: sql`now()` })
    .where("id", "=", epic.id)
    .execute();
  await recordChanges(tx, item, actor.user.id, changesOf(EPIC, epic, columns));
  if (columns.parent_id !== undefined) await recordParent(tx, epic, columns.parent_id, actor.user.id);
  const changed = await epics(tx).where("e.id", "=", epic.id).executeTakeFirstOrThrow();
  const mentions = newMentions(params.description ?? null, epic.description);
  const mentioned = await readersOfEpic(tx, changed, mentions);
  await updateTodos(tx, item, actor.user.id, { mentioned });
  const reached = statesReached(columns);
  const target = { type: "Epic", id: epic.id } as const;
  for (const state of reached) await recordEvent(tx, actor.user.id, state, { group_id: group.id }, target);
  await notify(write.services, tx, item, actor.user.id, reached, { mentioned });
  return changed;
}

const COLUMNS = [
  ...(["title", "description", "color", "confidential"] as const),
  ...(["start_date_fixed", "start_date_is_fixed", "due_date_fixed", "due_date_is_fixed"] as const),
];
type Columns = Partial<Pick<EpicRow, (typeof COLUMNS)[number]>>;

/** The columns whose values differ from those of the epic. */
function changedColumns(epic: EpicRow, { color, ...params }: EpicChanges): Columns {
  const given: Columns = { ...params, ...(color !== undefined && { color: requireColor(color) }) };
  const changed = COLUMNS.filter((name) => given[name] !== undefined && given[name] !== epic[name]);
  return Object.fromEntries(changed.map((name) => [name, given[name]]));
}

async function parentColumns(
  { tx, actor, group }: EpicWrite,
  epic: EpicRow,
  { parent_id: id, confidential }: EpicChanges,
) {
  if (id === undefined || id === epic.parent_id) return {};
  if (id === null) return { parent_id: null, relative_position: null };
  const parent = await lockParent(tx, actor, id);
  const placed = { id: epic.id, confidential: confidential ?? epic.confidential, traversal_ids: group.traversal_ids };
  return { parent_id: id, relative_position: await placeBelow(tx, parent, placed) };
}

/** Deletes an epic; its child epics and issues stay. */
export async function deleteEpic(tx: Tx, group: GroupSeen, actor: Actor, iid: number): Promise<EpicRow> {
  const epic = await lockEpic(tx, group, actor, iid);
  refuseDeletion(actor, group, "group");
  await tx.deleteFrom("epics").where("id", "=", epic.id).execute();
  return epic;
}
