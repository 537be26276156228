import { inRepository } from "#access/code.ts";
import { endpoint } from "#http/endpoint.ts";
import { createTag, deleteTag } from "./actions.ts";
import { Tag } from "./entity.ts";
import { TagName } from "./params.ts";
import { describeTag } from "./queries.ts";
import { NewTag } from "./write-params.ts";

const access = inRepository("push");

export const tagWrites = {
  create: endpoint({
    method: "POST",
    path: "/projects/:id/repository/tags",
    summary: "Create a tag",
    access,
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
    summary: "Delete a tag",
    access,
    params: TagName,
    transaction: "own",
    audit: "tag_deleted",
    handle: ({ params, ...writing }) => deleteTag(writing, params.tag_name),
  }),
};
