import { inRepository } from "#access/code.ts";
import { listRefs } from "#git/objects/refs.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { nameMatcher } from "#resources/repositories/name-search.ts";
import { repositoryOf } from "#resources/repositories/place.ts";
import { Tag } from "./entity.ts";
import { TagFilters, TagName } from "./params.ts";
import { describeTag, describeTags } from "./queries.ts";

const access = inRepository("read", { scopes: ["read_repository"] });

const ORDERS = { name: "refname", updated: "creatordate", version: "version:refname" } as const;

export const tags = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/repository/tags",
    summary: "List tags",
    access,
    params: TagFilters,
    returns: pageOf(Tag, { id: "name", pageToken: true }),
    async handle({ params, page, ...asking }) {
      const repository = await repositoryOf(asking.services, asking.project, asking.consumer);
      const order = `${params.sort === "asc" ? "" : "-"}${ORDERS[params.order_by]}` as const;
      const wants = nameMatcher(params.search);
      const refs = await page.found(
        (wanted) => listRefs(repository, { kind: "tags", order, wants }, wanted),
        ({ name }) => name,
      );
      return describeTags(asking, repository, refs);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/tags/:tag_name",
    summary: "Get a tag",
    access,
    params: TagName,
    returns: Tag,
    async handle({ params, ...asking }) {
      return describeTag(asking, await repositoryOf(asking.services, asking.project, asking.consumer), params.tag_name);
    },
  }),
};
