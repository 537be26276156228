import Type from "typebox";
import { inRepository } from "#access/code.ts";
import { endpoint } from "#http/endpoint.ts";
import { bytesOf, MOST_COMMITTED } from "#resources/commits/write-params.ts";
import { commitFile } from "./actions.ts";
import { FileChange, FileRemoval, NewFile } from "./write-params.ts";

/** A file that was committed. */
const CommittedFile = Type.Object(
  { file_path: Type.String(), branch: Type.String() },
  { additionalProperties: false, title: "CommittedFile" },
);

const common = {
  path: "/projects/:id/repository/files/:file_path",
  access: inRepository("push"),
  mostBody: MOST_COMMITTED,
  transaction: "own",
} as const;

export const fileWrites = {
  create: endpoint({
    ...common,
    method: "POST",
    summary: "Create a file in a repository",
    params: NewFile,
    returns: CommittedFile,
    audit: "repository_file_created",
    handle: ({ params, ...writing }) =>
      commitFile(writing, params, {
        action: "create",
        path: params.file_path,
        content: bytesOf(params.content, params.encoding),
        executable: params.execute_filemode ?? false,
      }),
  }),

  update: endpoint({
    ...common,
    method: "PUT",
    summary: "Update a file in a repository",
    params: FileChange,
    returns: CommittedFile,
    audit: "repository_file_updated",
    handle: ({ params, ...writing }) =>
      commitFile(writing, params, {
        action: "update",
        path: params.file_path,
        content: bytesOf(params.content, params.encoding),
        ...(params.execute_filemode !== undefined && { executable: params.execute_filemode }),
      }),
  }),

  delete: endpoint({
    ...common,
    method: "DELETE",
    summary: "Delete a file in a repository",
    params: FileRemoval,
    audit: "repository_file_deleted",
    async handle({ params, ...writing }) {
      await commitFile(writing, params, { action: "delete", path: params.file_path });
    },
  }),
};
