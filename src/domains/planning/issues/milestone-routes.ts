import { inGroup, inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { ofGroup, ofProject } from "#domains/planning/items/containers.ts";
import { MilestoneId } from "#domains/planning/milestones/params.ts";
import { requireMilestone } from "#domains/planning/milestones/queries.ts";
import { listOfGroupMilestone, listOfProjectMilestone } from "./list.ts";
import { IssuePage, pageOfIssues } from "./pages.ts";

export const milestoneIssues = {
  listOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/milestones/:milestone_id/issues",
    summary: "List the issues of a project's milestone",
    access: inProject("viewer", { feature: "issues" }),
    params: MilestoneId,
    returns: IssuePage,
    async handle({ project, params, ...request }) {
      const { id } = await requireMilestone(request.db, ofProject(project), params.milestone_id);
      const listing = listOfProjectMilestone(project, request.actor, id);
      return pageOfIssues({ project, ...request, params: {} }, listing);
    },
  }),

  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/milestones/:milestone_id/issues",
    summary: "List the issues of a group's milestone, as far as the caller may see them",
    access: inGroup("viewer"),
    params: MilestoneId,
    returns: IssuePage,
    async handle({ group, params, ...request }) {
      const { id } = await requireMilestone(request.db, ofGroup(group), params.milestone_id);
      return pageOfIssues({ group, ...request, params: {} }, listOfGroupMilestone(group, request.actor, id));
    },
  }),
};
