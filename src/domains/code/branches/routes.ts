import { inRepository } from "#access/code.ts";
import { listRefs, type RefOrder } from "#git/objects/refs.ts";
import { endpoint } from "#http/endpoint.ts";
import { isObjectId } from "#git/refs.ts";
import { pageOf } from "#http/paging.ts";
import { badParameter } from "#lib/refusal.ts";
import { nameMatcher } from "#domains/code/repository/name-search.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { Accepted, accepted } from "#domains/organization/namespaces/entity.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { targetOf } from "#domains/code/repository/project.ts";
import { authorizeWrite } from "#domains/code/repository/writing.ts";
import { Branch } from "./entity.ts";
import { BranchFilters, BranchName, NewBranch } from "./params.ts";
import { describeBranch, describeBranches } from "./queries.ts";
import { createBranch, deleteBranch } from "./actions.ts";
import { removeMergedBranches } from "./jobs.ts";

const readAccess = inRepository("read", { scopes: ["read_repository"] });

const ORDERS: Readonly<Record<string, RefOrder>> = {
  name_asc: "refname",
  updated_asc: "committerdate",
  updated_desc: "-committerdate",
};

const pushAccess = inRepository("push");

export const branches = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/repository/branches",
    summary: "List branches",
    access: readAccess,
    params: BranchFilters,
    returns: pageOf(Branch, { id: "name", pageToken: true }),
    async handle({ params, page, ...request }) {
      if (params.regex !== undefined) throw badParameter("regex is not supported, use search");
      const repository = await repositoryOf(request.services, request.project, request.consumer);
      const order = ORDERS[params.sort] ?? "refname";
      const matches = nameMatcher(params.search);
      const refs = await page.slice(
        (wanted) => listRefs(repository, { kind: "heads", order, matches }, wanted),
        ({ name }) => name,
      );
      return describeBranches(request, repository, refs);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/branches/:branch",
    formatSuffixAfter: isObjectId,
    summary: "Get a branch",
    access: readAccess,
    params: BranchName,
    returns: Branch,
    async handle({ params, ...request }) {
      return describeBranch(
        request,
        await repositoryOf(request.services, request.project, request.consumer),
        params.branch,
      );
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/repository/branches",
    summary: "Create a branch",
    access: pushAccess,
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
    formatSuffixAfter: isObjectId,
    summary: "Delete a branch",
    access: pushAccess,
    params: BranchName,
    transaction: "own",
    audit: "branch_deleted",
    handle: ({ params, ...writing }) => deleteBranch(writing, params.branch),
  }),

  deleteMerged: endpoint({
    method: "DELETE",
    path: "/projects/:id/repository/merged_branches",
    summary: "Delete the branches that are merged into the default branch",
    access: pushAccess,
    params: ProjectId,
    returns: Accepted,
    status: 202,
    audit: "merged_branches_deleted",
    // Refuses the request now, since nobody sees a refusal of the job.
    prepare: authorizeWrite,
    async handle({ tx, services, actor, project, audit }) {
      await services.jobs.add(tx, removeMergedBranches, { project_id: project.id, user_id: actor.user.id });
      audit(targetOf(project));
      return accepted;
    },
  }),
};
