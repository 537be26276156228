import { inGroup, inProject } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { type AuditTarget, type Conditional, endpoint, type WriteContext } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { type LabelContainer, ofGroup, ofProject } from "#domains/planning/items/labels.ts";
import { requirePlannerOfGroup } from "#domains/planning/items/rights.ts";
import { changeMilestone, createMilestone, promoteMilestone, removeMilestone } from "./actions.ts";
import { Milestone, presentMilestone } from "./entity.ts";
import { clearMilestone, mergeMilestones } from "./jobs.ts";
import { listGroupMilestones, listProjectMilestones, PAGING } from "./list.ts";
import {
  GroupMilestoneFilters,
  MilestoneChanges,
  MilestoneId,
  NewMilestone,
  ProjectMilestoneFilters,
} from "./params.ts";
import { type MilestoneRow, milestones, requireMilestone } from "./queries.ts";

const feature = "issues";
const reader = inProject("viewer", { feature });
const writer = inProject("planner", { feature, unlessArchived: true });
const writerInGroup = inGroup("planner", { unlessArchived: true });

export const projectMilestones = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/milestones",
    summary: "List the milestones of a project, and on request those of the groups above",
    access: reader,
    params: ProjectMilestoneFilters,
    returns: pageOf(Milestone, PAGING),
    handle: ({ db, project, params, page, site }) =>
      page(milestones(db), presentMilestone(site), listProjectMilestones(project, params)),
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/milestones/:milestone_id",
    summary: "Get a milestone of a project",
    access: reader,
    params: MilestoneId,
    returns: Milestone,
    handle: async ({ db, project, params, site }) =>
      presentMilestone(site)(await requireMilestone(db, ofProject(project), params.milestone_id)),
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/milestones",
    summary: "Create a milestone of a project",
    access: writer,
    params: NewMilestone,
    returns: Milestone,
    audit: "milestone_created",
    handle: ({ project, params, ...context }) => create(context, ofProject(project), params),
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id/milestones/:milestone_id",
    summary: "Change, close or activate a milestone of a project",
    access: writer,
    params: MilestoneChanges,
    returns: Milestone,
    audit: "milestone_updated",
    handle: ({ project, params, ...context }) => change(context, ofProject(project), params),
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/milestones/:milestone_id",
    summary: "Delete a milestone of a project",
    access: writer,
    params: MilestoneId,
    audit: "milestone_deleted",
    conditional: true,
    handle: ({ project, params, ...context }) => remove(context, ofProject(project), params.milestone_id),
  }),

  promote: endpoint({
    method: "POST",
    path: "/projects/:id/milestones/:milestone_id/promote",
    summary:
      "Make a milestone of a project one of its group; those of the same title in the group's projects join it later",
    access: writer,
    params: MilestoneId,
    returns: Milestone,
    status: 200,
    audit: "milestone_promoted",
    async prepare({ services, actor, project, params }) {
      await requireMilestone(services.db.write, ofProject(project), params.milestone_id);
      await requirePlannerOfGroup(services.db, actor, project);
      return {};
    },
    async handle({ tx, services, project, params, audit, site }) {
      const milestone = await promoteMilestone(tx, project, params.milestone_id);
      await services.jobs.add(tx, mergeMilestones, { milestone_id: milestone.id, title: milestone.title });
      audit({ ...targetOf(milestone), entity: { type: "Project", id: project.id } });
      return presentMilestone(site)(milestone);
    },
  }),
};

export const groupMilestones = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/milestones",
    summary: "List the milestones of a group, and on request those of what is above or below it",
    access: inGroup("viewer"),
    params: GroupMilestoneFilters,
    returns: pageOf(Milestone, PAGING),
    handle: ({ db, actor, group, params, page, site }) =>
      page(milestones(db), presentMilestone(site), listGroupMilestones(group, actor, params)),
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/milestones/:milestone_id",
    summary: "Get a milestone of a group",
    access: inGroup("viewer"),
    params: MilestoneId,
    returns: Milestone,
    handle: async ({ db, group, params, site }) =>
      presentMilestone(site)(await requireMilestone(db, ofGroup(group), params.milestone_id)),
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/milestones",
    summary: "Create a milestone of a group",
    access: writerInGroup,
    params: NewMilestone,
    returns: Milestone,
    audit: "milestone_created",
    handle: ({ group, params, ...context }) => create(context, ofGroup(group), params),
  }),

  update: endpoint({
    method: "PUT",
    path: "/groups/:id/milestones/:milestone_id",
    summary: "Change, close or activate a milestone of a group",
    access: writerInGroup,
    params: MilestoneChanges,
    returns: Milestone,
    audit: "milestone_updated",
    handle: ({ group, params, ...context }) => change(context, ofGroup(group), params),
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/milestones/:milestone_id",
    summary: "Delete a milestone of a group",
    access: writerInGroup,
    params: MilestoneId,
    audit: "milestone_deleted",
    conditional: true,
    handle: ({ group, params, ...context }) => remove(context, ofGroup(group), params.milestone_id),
  }),
};

type Write = WriteContext & { readonly actor: Actor; readonly site: string };

async function create({ tx, actor, audit, site }: Write, container: LabelContainer, given: NewMilestone) {
  const milestone = await createMilestone({ tx, actor }, container, given);
  audit(targetOf(milestone));
  return presentMilestone(site)(milestone);
}

async function change({ tx, actor, audit, site }: Write, container: LabelContainer, given: MilestoneChanges) {
  const milestone = await changeMilestone({ tx, actor }, container, given);
  audit(targetOf(milestone));
  return presentMilestone(site)(milestone);
}

async function remove(
  { tx, actor, audit, services, unlessModified }: WriteContext & Conditional & { readonly actor: Actor },
  container: LabelContainer,
  id: number,
) {
  const milestone = await removeMilestone({ tx, actor }, container, id);
  unlessModified(milestone.updated_at);
  await services.jobs.add(tx, clearMilestone, { milestone_id: milestone.id });
  audit(targetOf(milestone));
}

const targetOf = ({ id, title, state, start_date, due_date, project_id, group_id }: MilestoneRow): AuditTarget => ({
  type: "Milestone",
  id,
  name: title,
  details: { state, start_date, due_date },
  entity: project_id === null ? { type: "Group", id: group_id ?? 0 } : { type: "Project", id: project_id },
});
