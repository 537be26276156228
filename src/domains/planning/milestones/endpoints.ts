import type { Access } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import { type AuditTarget, endpoint } from "#http/endpoint.ts";
import type { LabelContainer } from "#domains/planning/items/containers.ts";
import { changeMilestone, createMilestone, removeMilestone } from "./actions.ts";
import { Milestone, presentMilestone } from "./entity.ts";
import { clearMilestone } from "./jobs.ts";
import { MilestoneChanges, MilestoneId, NewMilestone } from "./params.ts";
import { type MilestoneRow, requireMilestone } from "./queries.ts";

/** A project or a group, as far as the endpoints for one of its milestones differ. */
export interface MilestonesOf<Seen extends object = object> {
  readonly word: "project" | "group";
  readonly path: "/projects/:id/milestones" | "/groups/:id/milestones";
  readonly reader: Access<Seen & { readonly actor: Actor | null }>;
  readonly writer: Access<Seen & { readonly actor: Actor }>;
  container(seen: Seen): LabelContainer;
}

/** The compiler checks what a rule grants for each container by itself; the function makes the endpoints of either. */
export const milestoneEndpoints = <Seen extends object>(of: MilestonesOf<Seen>) => {
  const either = of as unknown as MilestonesOf;
  return { ...readAndCreate(either), ...changeAndDelete(either) };
};

const readAndCreate = ({ word, path, reader, writer, container }: MilestonesOf) => ({
  get: endpoint({
    method: "GET",
    path: `${path}/:milestone_id`,
    summary: `Get a milestone of a ${word}`,
    access: reader,
    params: MilestoneId,
    returns: Milestone,
    handle: async ({ db, params, site, ...seen }) =>
      presentMilestone(site)(await requireMilestone(db, container(seen), params.milestone_id)),
  }),

  create: endpoint({
    method: "POST",
    path,
    summary: `Create a milestone of a ${word}`,
    access: writer,
    params: NewMilestone,
    returns: Milestone,
    audit: "milestone_created",
    async handle({ params, site, ...write }) {
      const milestone = await createMilestone(write, container(write), params);
      write.audit(milestoneTarget(milestone));
      return presentMilestone(site)(milestone);
    },
  }),
});

const changeAndDelete = ({ word, path, writer, container }: MilestonesOf) => ({
  update: endpoint({
    method: "PUT",
    path: `${path}/:milestone_id`,
    summary: `Change, close or activate a milestone of a ${word}`,
    access: writer,
    params: MilestoneChanges,
    returns: Milestone,
    audit: "milestone_updated",
    async handle({ params, site, ...write }) {
      const milestone = await changeMilestone(write, container(write), params);
      write.audit(milestoneTarget(milestone));
      return presentMilestone(site)(milestone);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: `${path}/:milestone_id`,
    summary: `Delete a milestone of a ${word}`,
    access: writer,
    params: MilestoneId,
    audit: "milestone_deleted",
    conditional: true,
    async handle({ params, unlessModified, ...write }) {
      const milestone = await removeMilestone(write, container(write), params.milestone_id);
      unlessModified(milestone.updated_at);
      await write.services.jobs.add(write.tx, clearMilestone, { milestone_id: milestone.id });
      write.audit(milestoneTarget(milestone));
    },
  }),
});

export const milestoneTarget = (row: MilestoneRow): AuditTarget => {
  const { id, title, state, start_date, due_date, project_id, group_id } = row;
  return {
    type: "Milestone",
    id,
    name: title,
    details: { state, start_date, due_date },
    entity: project_id === null ? { type: "Group", id: group_id ?? 0 } : { type: "Project", id: project_id },
  };
};
