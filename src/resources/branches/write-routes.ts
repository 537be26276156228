import { inRepository } from "#access/code.ts";
import { endpoint } from "#http/endpoint.ts";
import { Accepted, accepted } from "#resources/namespaces/entity.ts";
import { ProjectId } from "#resources/projects/params.ts";
import { openToWrite, targetOf } from "#resources/repositories/writing.ts";
import { createBranch, deleteBranch } from "./actions.ts";
import { Branch } from "./entity.ts";
import { removeMergedBranches } from "./jobs.ts";
import { BranchName } from "./params.ts";
import { describeBranch } from "./queries.ts";
import { NewBranch } from "./write-params.ts";

const access = inRepository("push");

export const branchWrites = {
  create: endpoint({
    method: "POST",
    path: "/projects/:id/repository/branches",
    summary: "Create a branch",
    access,
    params: NewBranch,
    transaction: "own",
    returns: Branch,
    audit: "branch_created",
    async handle({ params, ...writing }) {
      return describeBranch(writing, await createBranch(writing, params), params.branch);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/repository/branches/:branch",
    summary: "Delete a branch",
    access,
    params: BranchName,
    transaction: "own",
    audit: "branch_deleted",
    handle: ({ params, ...writing }) => deleteBranch(writing, params.branch),
  }),

  deleteMerged: endpoint({
    method: "DELETE",
    path: "/projects/:id/repository/merged_branches",
    summary: "Delete the branches that are merged into the default branch",
    access,
    params: ProjectId,
    returns: Accepted,
    status: 202,
    audit: "merged_branches_deleted",
    // What cannot be changed now is refused now, and not by the job, which nobody hears.
    prepare: openToWrite,
    async handle({ tx, services, actor, project, audit }) {
      await services.jobs.add(tx, removeMergedBranches, { project_id: project.id, user_id: actor.user.id });
      audit(targetOf(project));
      return accepted;
    },
  }),
};
