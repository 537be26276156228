import Type from "typebox";
import { inRepository } from "#access/code.ts";
import { isShortId } from "#git/objects/names.ts";
import { readTree } from "#git/objects/trees.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Flag } from "#http/params/vocabulary.ts";
import { missing } from "#lib/refusal.ts";
import { FilePath, Revision } from "#domains/code/commits/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { answerBudget, fitRows } from "#domains/code/repository/answer-budget.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { base64Of, bytesForJson, sendRaw } from "#domains/code/repository/raw.ts";
import { type CodeRequest, openAt } from "#domains/code/repository/reading.ts";
import { Blob, presentBlob, presentEntry, TreeEntry } from "./entity.ts";
import { treePage } from "./list.ts";

const access = inRepository("read", { scopes: ["read_repository"] });
const BlobId = Type.Object({ ...ProjectId.properties, sha: Type.String({ maxLength: 64 }) });

export const trees = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/repository/tree",
    summary: "List a directory of a repository",
    access,
    params: Type.Object({
      ...ProjectId.properties,
      path: Type.Optional(FilePath),
      ref: Type.Optional(Revision),
      recursive: Flag,
    }),
    returns: pageOf(TreeEntry, { id: "path", pageToken: true, type: "Tree" }),
    async handle({ params, page, setHeader, ...request }) {
      const { repository, commit } = await openAt(request, params.ref, "Tree");
      const tree = await readTree(repository, commit, params.path);
      if (!tree) throw missing("invalid revision or path");
      const budget = answerBudget(setHeader);
      const entries = await page.slice(
        async (wanted) => {
          const { rows, more, total, truncated } = await treePage(repository, tree, params.recursive ?? false, wanted);
          if (truncated) budget.markTruncated();
          const fitting = await fitRows(budget, rows, async (entry) => [() => presentEntry(entry)]);
          return { rows: fitting, more: more || fitting.length < rows.length, ...(total !== undefined && { total }) };
        },
        ({ path }) => path,
      );
      return [...entries];
    },
  }),

  blob: endpoint({
    method: "GET",
    path: "/projects/:id/repository/blobs/:sha",
    summary: "Get a blob by its id",
    access,
    params: BlobId,
    returns: Blob,
    async handle({ params, ...request }) {
      const { repository, blob } = await openBlob(request, params.sha);
      return presentBlob(blob, await base64Of(await bytesForJson(repository, blob, request)));
    },
  }),

  rawBlob: endpoint({
    method: "GET",
    path: "/projects/:id/repository/blobs/:sha/raw",
    summary: "Get the bytes of a blob by its id",
    access,
    params: BlobId,
    returns: plain("application/octet-stream"),
    async handle({ params, ...request }) {
      const { repository, blob } = await openBlob(request, params.sha);
      return sendRaw(repository, blob, blob.id, request);
    },
  }),
};

async function openBlob(
  { services, project, consumer }: Pick<CodeRequest, "services" | "project" | "consumer">,
  sha: string,
) {
  const repository = await repositoryOf(services, project, consumer);
  const blob = isShortId(sha) ? await repository.objects.info(sha.toLowerCase()) : undefined;
  if (blob?.type !== "blob") throw missing("Blob");
  return { repository, blob };
}
