import { inGroup, inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { ofGroup, ofProject } from "#domains/planning/items/containers.ts";
import { requirePlannerOfGroup } from "#domains/planning/items/rights.ts";
import { promoteMilestone } from "./actions.ts";
import { milestoneEndpoints, milestoneTarget } from "./endpoints.ts";
import { Milestone, presentMilestone } from "./entity.ts";
import { mergeMilestones } from "./jobs.ts";
import { listGroupMilestones, listProjectMilestones, PAGING } from "./list.ts";
import { GroupMilestoneFilters, MilestoneId, ProjectMilestoneFilters } from "./params.ts";
import { milestones, requireMilestone } from "./queries.ts";

const feature = "issues";
const reader = inProject("viewer", { feature });
const writer = inProject("planner", { feature, unlessArchived: true });

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

  ...milestoneEndpoints({
    word: "project",
    path: "/projects/:id/milestones",
    reader,
    writer,
    container: ({ project }) => ofProject(project),
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
      audit({ ...milestoneTarget(milestone), entity: { type: "Project", id: project.id } });
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

  ...milestoneEndpoints({
    word: "group",
    path: "/groups/:id/milestones",
    reader: inGroup("viewer"),
    writer: inGroup("planner", { unlessArchived: true }),
    container: ({ group }) => ofGroup(group),
  }),
};
