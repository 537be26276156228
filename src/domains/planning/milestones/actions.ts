import { sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { badFields } from "#lib/refusal.ts";
import { recordEvent } from "#domains/foundation/events/record.ts";
import { takeIid } from "#domains/planning/items/iids.ts";
import { type LabelContainer, ofProject } from "#domains/planning/items/containers.ts";
import type { MilestoneChanges, NewMilestone } from "./params.ts";
import {
  availableMilestones,
  lockMilestone,
  lockMilestoneToDelete,
  milestoneById,
  type MilestoneRow,
  milestones,
} from "./queries.ts";

interface MilestoneWrite {
  readonly tx: Tx;
  readonly actor: Actor;
}

const now = sql<string>`now()`;

export const titleTaken = () => badFields({ title: ["has already been taken"] });

/** Creates a milestone of a project or group; the groups above must not have one of this title either. */
export async function createMilestone(
  { tx, actor }: MilestoneWrite,
  container: LabelContainer,
  given: NewMilestone,
): Promise<MilestoneRow> {
  const title = checkedTitle(given.title);
  await refuseTaken(tx, container, title);
  const { description, start_date = null, due_date = null } = given;
  const [counter, column, owner] =
    "project_id" in container
      ? [takeIid("milestone of a project", container.project_id), sql.ref("project_id"), container.project_id]
      : [takeIid("milestone of a group", container.group_id), sql.ref("group_id"), container.group_id];
  const { rows } = await sql<{ id: number }>`
    with counter as (${counter})
    insert into milestones (${column}, iid, title, description, start_date, due_date)
    select ${owner}, iid, ${title}, ${description || null}, ${start_date}, ${due_date} from counter
    returning id`.execute(tx);
  const milestone = await milestoneById(tx, rows[0]!.id);
  await happened(tx, actor, "created", milestone);
  return milestone;
}

const STATES = { close: "closed", activate: "active" } as const;

/** Changes a milestone of a project or group itself, not one of the groups above. */
export async function changeMilestone(
  { tx, actor }: MilestoneWrite,
  container: LabelContainer,
  { milestone_id, title: given, description, state_event, start_date, due_date }: MilestoneChanges,
): Promise<MilestoneRow> {
  const milestone = await lockMilestone(tx, container, milestone_id);
  const title = given === undefined ? undefined : checkedTitle(given);
  if (title !== undefined && title !== milestone.title) await refuseTaken(tx, container, title);
  await tx
    .updateTable("milestones")
    .set({ title, start_date, due_date, state: state_event && STATES[state_event], updated_at: now })
    .$if(description !== undefined, (update) => update.set({ description: description || null }))
    .where("id", "=", milestone.id)
    .execute();
  const changed = await milestoneById(tx, milestone.id);
  if (changed.state !== milestone.state)
    await happened(tx, actor, changed.state === "closed" ? "closed" : "reopened", changed);
  return changed;
}

/** Deletes a milestone. A job clears it on its issues; it no longer counts there: every read joins the milestones. */
export async function removeMilestone(
  { tx, actor }: MilestoneWrite,
  container: LabelContainer,
  id: number,
): Promise<MilestoneRow> {
  const milestone = await lockMilestoneToDelete(tx, container, id);
  await tx.deleteFrom("milestones").where("id", "=", milestone.id).execute();
  await happened(tx, actor, "destroyed", milestone);
  return milestone;
}

/**
 * Makes the milestone of a project one of its group. It keeps its id, and thereby its issues, and gets a number of the
 * group. If the group has a milestone of this title, that one is returned, and the project's remains to be merged into it.
 */
export async function promoteMilestone(tx: Tx, project: ProjectSeen, id: number): Promise<MilestoneRow> {
  const milestone = await lockMilestone(tx, ofProject(project), id);
  const group_id = project.namespace_id;
  const existing = await milestones(tx)
    .where("m.group_id", "=", group_id)
    .where("m.title", "=", milestone.title)
    .executeTakeFirst();
  if (existing) return existing;
  await sql`
    with counter as (${takeIid("milestone of a group", group_id)})
    update milestones m set project_id = null, group_id = ${group_id}, iid = counter.iid, updated_at = now()
    from counter where m.id = ${milestone.id}`.execute(tx);
  return milestoneById(tx, milestone.id);
}

async function happened(
  tx: Tx,
  { user }: Actor,
  action: "created" | "closed" | "reopened" | "destroyed",
  { id, project_id, group_id }: MilestoneRow,
) {
  const place = project_id === null ? { group_id: group_id ?? 0 } : { project_id };
  await recordEvent(tx, user.id, action, place, { type: "Milestone", id });
}

async function refuseTaken(tx: Tx, container: LabelContainer, title: string) {
  const taken = await availableMilestones(tx, container).where("m.title", "=", title).executeTakeFirst();
  if (taken) throw titleTaken();
}

/** Words that mean many milestones where issues are filtered by one. */
const RESERVED = /^#?(?:any|none|upcoming|started)$/i;

function checkedTitle(text: string): string {
  const title = text.trim();
  if (RESERVED.test(title)) throw badFields({ title: ["is a word that filters of issues use"] });
  return title;
}
