import { hash } from "node:crypto";
import Type, { type Static } from "typebox";
import { inRepository } from "#access/code.ts";
import { lastChange } from "#git/objects/history.ts";
import { findEntry } from "#git/objects/trees.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { isObjectId } from "#git/refs.ts";
import { missing } from "#lib/refusal.ts";
import { answerBudget } from "#domains/code/repository/answer-budget.ts";
import { base64Of, bytesForJson, sendRaw } from "#domains/code/repository/raw.ts";
import { type CodeRequest, openAt } from "#domains/code/repository/reading.ts";
import { bytesOf, MAX_COMMIT_BODY_BYTES } from "#domains/code/commits/params.ts";
import { blamedLines } from "./blame.ts";
import { type FileMetadata, BlamedLines, RepositoryFile, setFileHeaders } from "./entity.ts";
import { BlamedFile, FileChange, FileOfRef, FileRemoval, NewFile } from "./params.ts";
import { commitFile } from "./actions.ts";

const readAccess = inRepository("read", { scopes: ["read_repository"] });

const CommittedFile = Type.Object(
  { file_path: Type.String(), branch: Type.String() },
  { additionalProperties: false, title: "CommittedFile" },
);

const writeOptions = {
  path: "/projects/:id/repository/files/:file_path",
  formatSuffixAfter: isObjectId,
  access: inRepository("push"),
  maxBodyBytes: MAX_COMMIT_BODY_BYTES,
  transaction: "own",
} as const;

export const repositoryFiles = {
  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/files/:file_path",
    formatSuffixAfter: isObjectId,
    summary: "Get a file of a repository",
    access: readAccess,
    params: FileOfRef,
    returns: RepositoryFile,
    async handle({ params, setHeader, ...request }) {
      const { repository, blob, metadata } = await openFile(request, params);
      const last_commit_id = (await lastChange(repository, metadata.commit_id, metadata.file_path)) ?? null;
      // A file too large for JSON still gets headers with its size.
      setFileHeaders(setHeader, { ...metadata, last_commit_id });
      const bytes = await bytesForJson(repository, blob, request);
      const content_sha256 = hash("sha256", bytes, "hex");
      setFileHeaders(setHeader, { content_sha256 });
      return { ...metadata, last_commit_id, content_sha256, content: await base64Of(bytes) };
    },
  }),

  raw: endpoint({
    method: "GET",
    path: "/projects/:id/repository/files/:file_path/raw",
    summary: "Get the bytes of a file of a repository",
    access: readAccess,
    params: FileOfRef,
    returns: plain("application/octet-stream"),
    async handle({ params, ...request }) {
      const { repository, blob, metadata } = await openFile(request, params);
      setFileHeaders(request.setHeader, metadata);
      return sendRaw(repository, blob, metadata.file_name, request);
    },
  }),

  blame: endpoint({
    method: "GET",
    path: "/projects/:id/repository/files/:file_path/blame",
    summary: "Get the commits that last changed the lines of a file",
    access: readAccess,
    params: BlamedFile,
    returns: Type.Array(BlamedLines),
    async handle({ params, setHeader, ...request }) {
      const { repository, blob, metadata } = await openFile(request, params);
      setFileHeaders(setHeader, metadata);
      const at = { commit: metadata.commit_id, path: metadata.file_path };
      return blamedLines(repository, blob, at, params.range, answerBudget(setHeader));
    },
  }),

  create: endpoint({
    ...writeOptions,
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
    ...writeOptions,
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
    ...writeOptions,
    method: "DELETE",
    summary: "Delete a file in a repository",
    params: FileRemoval,
    audit: "repository_file_deleted",
    async handle({ params, ...writing }) {
      await commitFile(writing, params, { action: "delete", path: params.file_path });
    },
  }),
};

async function openFile(
  request: Pick<CodeRequest, "services" | "project" | "consumer">,
  params: Static<typeof FileOfRef>,
) {
  const { repository, commit } = await openAt(request, params.ref, "Commit");
  const entry = await findEntry(repository, commit, params.file_path);
  const blob = entry?.type === "blob" ? await repository.objects.info(entry.id) : undefined;
  if (!entry || !blob) throw missing("File");
  const metadata: FileMetadata = {
    file_name: entry.name,
    file_path: entry.path,
    size: blob.size,
    encoding: "base64",
    ref: params.ref ?? request.project.default_branch ?? "HEAD",
    blob_id: blob.id,
    commit_id: commit,
    execute_filemode: entry.mode === "100755",
  };
  return { repository, blob, metadata };
}
