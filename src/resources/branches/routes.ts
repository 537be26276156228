import { inRepository } from "#access/code.ts";
import { listRefs, type RefOrder } from "#git/objects/refs.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { badParameter } from "#lib/refusal.ts";
import { nameMatcher } from "#resources/repositories/name-search.ts";
import { repositoryOf } from "#resources/repositories/place.ts";
import { Branch } from "./entity.ts";
import { BranchFilters, BranchName } from "./params.ts";
import { describeBranch, describeBranches } from "./queries.ts";

const access = inRepository("read", { scopes: ["read_repository"] });

const ORDERS: Readonly<Record<string, RefOrder>> = {
  name_asc: "refname",
  updated_asc: "committerdate",
  updated_desc: "-committerdate",
};

export const branches = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/repository/branches",
    summary: "List branches",
    access,
    params: BranchFilters,
    returns: pageOf(Branch, { id: "name", pageToken: true }),
    async handle({ params, page, ...asking }) {
      if (params.regex !== undefined) throw badParameter("regex is not supported, use search");
      const repository = await repositoryOf(asking.services, asking.project, asking.consumer);
      const order = ORDERS[params.sort] ?? "refname";
      const wants = nameMatcher(params.search);
      const refs = await page.found(
        (wanted) => listRefs(repository, { kind: "heads", order, wants }, wanted),
        ({ name }) => name,
      );
      return describeBranches(asking, repository, refs);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/branches/:branch",
    summary: "Get a branch",
    access,
    params: BranchName,
    returns: Branch,
    async handle({ params, ...asking }) {
      return describeBranch(
        asking,
        await repositoryOf(asking.services, asking.project, asking.consumer),
        params.branch,
      );
    },
  }),
};
