import { hash } from "node:crypto";
import Type, { type Static } from "typebox";
import { inRepository } from "#access/code.ts";
import { lastChange } from "#git/objects/history.ts";
import { findEntry } from "#git/objects/trees.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { missing } from "#lib/refusal.ts";
import { answerBudget } from "#resources/repositories/answer-budget.ts";
import { base64Of, bytesForJson, sendRaw } from "#resources/repositories/raw.ts";
import { type Asking, openAt } from "#resources/repositories/reading.ts";
import { blamedLines } from "./blame.ts";
import { type AboutFile, BlamedLines, RepositoryFile, setFileHeaders } from "./entity.ts";
import { BlamedFile, FileOfRef } from "./params.ts";

const access = inRepository("read", { scopes: ["read_repository"] });

export const repositoryFiles = {
  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/files/:file_path",
    summary: "Get a file of a repository",
    access,
    params: FileOfRef,
    returns: RepositoryFile,
    async handle({ params, setHeader, ...asking }) {
      const { repository, blob, about } = await openFile(asking, params);
      const last_commit_id = (await lastChange(repository, about.commit_id, about.file_path)) ?? null;
      // Of what is too large for JSON, the headers still tell how large.
      setFileHeaders(setHeader, { ...about, last_commit_id });
      const bytes = await bytesForJson(repository, blob, asking);
      const content_sha256 = hash("sha256", bytes, "hex");
      setFileHeaders(setHeader, { content_sha256 });
      return { ...about, last_commit_id, content_sha256, content: await base64Of(bytes) };
    },
  }),

  raw: endpoint({
    method: "GET",
    path: "/projects/:id/repository/files/:file_path/raw",
    summary: "Get the bytes of a file of a repository",
    access,
    params: FileOfRef,
    returns: plain("application/octet-stream"),
    async handle({ params, ...asking }) {
      const { repository, blob, about } = await openFile(asking, params);
      setFileHeaders(asking.setHeader, about);
      return sendRaw(repository, blob, about.file_name, asking);
    },
  }),
  blame: endpoint({
    method: "GET",
    path: "/projects/:id/repository/files/:file_path/blame",
    summary: "Get the commits that wrote the lines of a file",
    access,
    params: BlamedFile,
    returns: Type.Array(BlamedLines),
    async handle({ params, setHeader, ...asking }) {
      const { repository, blob, about } = await openFile(asking, params);
      setFileHeaders(setHeader, about);
      const at = { commit: about.commit_id, path: about.file_path };
      return blamedLines(repository, blob, at, params.range, answerBudget(setHeader));
    },
  }),
};

async function openFile(asking: Pick<Asking, "services" | "project" | "consumer">, params: Static<typeof FileOfRef>) {
  const { repository, commit } = await openAt(asking, params.ref, "Commit");
  const entry = await findEntry(repository, commit, params.file_path);
  const blob = entry?.type === "blob" ? await repository.objects.info(entry.id) : undefined;
  if (!entry || !blob) throw missing("File");
  const about: AboutFile = {
    file_name: entry.name,
    file_path: entry.path,
    size: blob.size,
    encoding: "base64",
    ref: params.ref ?? asking.project.default_branch ?? "HEAD",
    blob_id: blob.id,
    commit_id: commit,
    execute_filemode: entry.mode === "100755",
  };
  return { repository, blob, about };
}
