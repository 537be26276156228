import { sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { badFields, conflict } from "#lib/refusal.ts";
import { requireColor } from "#domains/planning/items/colors.ts";
import { availableLabels } from "./of-items.ts";
import { type LabelContainer, ofProject } from "#domains/planning/items/containers.ts";
import type { LabelChanges, LabelName, NewLabel } from "./params.ts";
import { type LabelRow, labels, lockLabel, lockLabelToDelete } from "./queries.ts";

const now = sql<string>`now()`;

export const labelTaken = () => conflict("Label already exists");

/** Creates a label of a project or group; the groups above must not have one of this name either. */
export async function createLabel(tx: Tx, container: LabelContainer, given: NewLabel): Promise<LabelRow> {
  const name = checkedName(given.name);
  const color = requireColor(given.color);
  await refuseTaken(tx, container, name);
  const { id } = await tx
    .insertInto("labels")
    .values({ ...ownerOf(container), name, color, description: given.description || null, archived: given.archived })
    .returning("id")
    .executeTakeFirstOrThrow();
  await setPriority(tx, container, id, given.priority);
  return labelById(tx, container, id);
}

/** Changes a label of a project or group itself, not one of the groups above. */
export async function changeLabel(
  tx: Tx,
  container: LabelContainer,
  named: LabelName,
  { new_name, color, description, archived, priority }: LabelChanges,
): Promise<LabelRow> {
  const label = await lockLabel(tx, ownOnly(container), named);
  const name = new_name === undefined ? undefined : checkedName(new_name);
  if (name !== undefined && name !== label.name) await refuseTaken(tx, container, name);
  await tx
    .updateTable("labels")
    .set({ name, archived, updated_at: now })
    .$if(color !== undefined, (update) => update.set({ color: requireColor(color ?? "") }))
    .$if(description !== undefined, (update) => update.set({ description: description || null }))
    .where("id", "=", label.id)
    .execute();
  await setPriority(tx, container, label.id, priority);
  return labelById(tx, container, label.id);
}

/** Deletes a label. Its links are left to a job, and no longer count: every read joins the labels. */
export async function removeLabel(tx: Tx, container: LabelContainer, named: LabelName): Promise<LabelRow> {
  const label = await lockLabelToDelete(tx, ownOnly(container), named);
  await tx.deleteFrom("labels").where("id", "=", label.id).execute();
  return label;
}

/**
 * Makes the label of a project one of its group. It keeps its id, and thereby links and events. If the group has a label
 * of this name, that one is returned, and the project's remains to be merged into it.
 */
export async function promoteLabel(tx: Tx, project: ProjectSeen, named: LabelName): Promise<LabelRow> {
  const label = await lockLabel(tx, ofProject(project, false), named);
  const group_id = project.namespace_id;
  const existing = await labels(tx, project.id)
    .where("l.group_id", "=", group_id)
    .where("l.name", "=", label.name)
    .executeTakeFirst();
  if (existing) return existing;
  await tx
    .updateTable("labels")
    .set({ project_id: null, group_id, updated_at: now })
    .where("id", "=", label.id)
    .execute();
  return labelById(tx, ofProject(project), label.id);
}

const ownerOf = (container: LabelContainer) =>
  "project_id" in container ? { project_id: container.project_id } : { group_id: container.group_id };

/** A container without the groups above it. */
const ownOnly = (container: LabelContainer): LabelContainer =>
  "project_id" in container
    ? { ...container, traversal_ids: [] }
    : { ...container, traversal_ids: [container.group_id] };

const labelById = (tx: Tx, container: LabelContainer, id: number): Promise<LabelRow> =>
  labels(tx, "project_id" in container ? container.project_id : null)
    .where("l.id", "=", id)
    .executeTakeFirstOrThrow();

async function refuseTaken(tx: Tx, container: LabelContainer, name: string) {
  const taken = await availableLabels(tx, container).select("l.id").where("l.name", "=", name).executeTakeFirst();
  if (taken) throw labelTaken();
}

function checkedName(text: string): string {
  const name = text.trim();
  if (name.includes(",")) throw nameWithComma();
  return name;
}

export const nameWithComma = () =>
  badFields({ name: ["must not contain a comma, which separates the names in a list of labels"] });

/** Ranks a label in a project; null ends that, undefined changes nothing. */
async function setPriority(tx: Tx, container: LabelContainer, label_id: number, priority: number | null | undefined) {
  if (priority === undefined || !("project_id" in container)) return;
  const { project_id } = container;
  if (priority === null) {
    await tx
      .deleteFrom("label_priorities")
      .where("project_id", "=", project_id)
      .where("label_id", "=", label_id)
      .execute();
    return;
  }
  await tx
    .insertInto("label_priorities")
    .values({ project_id, label_id, priority })
    .onConflict((conflicting) => conflicting.columns(["project_id", "label_id"]).doUpdateSet({ priority }))
    .execute();
}
