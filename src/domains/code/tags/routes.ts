import { inRepository } from "#access/code.ts";
import { listRefs } from "#git/objects/refs.ts";
import { endpoint } from "#http/endpoint.ts";
import { isObjectId } from "#git/refs.ts";
import { pageOf } from "#http/paging.ts";
import { nameMatcher } from "#domains/code/repository/name-search.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { Tag } from "./entity.ts";
import { NewTag, TagFilters, TagName } from "./params.ts";
import { describeTag, describeTags } from "./queries.ts";
import { createTag, deleteTag } from "./actions.ts";

const readAccess = inRepository("read", { scopes: ["read_repository"] });

const ORDERS = { name: "refname", updated: "creatordate", version: "version:refname" } as const;

const pushAccess = inRepository("push");

export const tags = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/repository/tags",
    summary: "List tags",
    access: readAccess,
    params: TagFilters,
    returns: pageOf(Tag, { id: "name", pageToken: true }),
    async handle({ params, page, ...request }) {
      const repository = await repositoryOf(request.services, request.project, request.consumer);
      const order = `${params.sort === "asc" ? "" : "-"}${ORDERS[params.order_by]}` as const;
      const matches = nameMatcher(params.search);
      const refs = await page.slice(
        (wanted) => listRefs(repository, { kind: "tags", order, matches }, wanted),
        ({ name }) => name,
      );
      return describeTags(request, repository, refs);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/tags/:tag_name",
    formatSuffixAfter: isObjectId,
    summary: "Get a tag",
    access: readAccess,
    params: TagName,
    returns: Tag,
    async handle({ params, ...request }) {
      return describeTag(
        request,
        await repositoryOf(request.services, request.project, request.consumer),
        params.tag_name,
      );
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/repository/tags",
    summary: "Create a tag",
    access: pushAccess,
    params: NewTag,
    transaction: "own",
    returns: Tag,
    audit: "tag_created",
    async handle({ params, ...writing }) {
      return describeTag(writing, await createTag(writing, params), params.tag_name);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/repository/tags/:tag_name",
    formatSuffixAfter: isObjectId,
    summary: "Delete a tag",
    access: pushAccess,
    params: TagName,
    transaction: "own",
    audit: "tag_deleted",
    handle: ({ params, ...writing }) => deleteTag(writing, params.tag_name),
  }),
};
