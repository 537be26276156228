import { sql } from "kysely";
import Type, { type TSchema } from "typebox";
import type { Access } from "#access/access.ts";
import type { ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { findEntry } from "#git/objects/trees.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import type { Consumer } from "#lib/consumer.ts";
import { missing } from "#lib/refusal.ts";
import { MAX_COMMIT_BODY_BYTES } from "#domains/code/commits/params.ts";
import { sendRaw } from "#domains/code/repository/raw.ts";
import { namedCommit } from "#domains/code/repository/reading.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { deleteSnippets } from "#domains/storage/repositories/removal.ts";
import type { Services } from "#services.ts";
import { requireChangeable, requireSnippet, type SnippetSeen } from "./access.ts";
import { changeSnippet } from "./actions.ts";
import { Snippet } from "./entity.ts";
import { changesOf, file } from "./params.ts";
import { lockedSnippet } from "./queries.ts";
import { snippetTarget } from "./repository.ts";
import { snippetView } from "./views.ts";

/** Where one snippet is found, and who may read and change it. */
interface OneSnippet {
  readonly path: string;
  /** What it is called in summaries. */
  readonly word: string;
  readonly reader: Access<{ readonly actor: Actor | null; readonly project?: ProjectSeen }>;
  /** What an editor must be beside what the snippet requires. */
  readonly editor: Access<{ readonly actor: Actor; readonly project?: ProjectSeen }>;
  /** The parameters in the path; the last is the id of the snippet. */
  readonly names: { readonly id: TSchema; readonly snippet_id?: TSchema };
}

const idIn = ({ id, snippet_id }: { readonly id: unknown; readonly snippet_id?: unknown }) => Number(snippet_id ?? id);

/** The endpoints of one snippet, by itself or below its project. */
export const snippetEndpoints = (one: OneSnippet) => ({ ...reading(one), ...editing(one) });

const reading = ({ path, word, reader, names }: OneSnippet) => ({
  get: endpoint({
    method: "GET",
    path,
    summary: `Get ${word}`,
    access: reader,
    params: Type.Object(names),
    returns: Snippet,
    async handle({ db, databases, params, ...viewer }) {
      const { id } = await requireSnippet(databases, viewer, idIn(params));
      return snippetView(db, id, viewer);
    },
  }),

  raw: endpoint({
    method: "GET",
    path: `${path}/raw`,
    summary: `Get the bytes of the first file of ${word}`,
    access: reader,
    params: Type.Object(names),
    returns: plain("application/octet-stream"),
    async handle({ databases, params, ...request }) {
      const snippet = await requireSnippet(databases, request, idIn(params));
      return sendFile(request, snippet, undefined, snippet.file_names[0] ?? "");
    },
  }),

  rawFile: endpoint({
    method: "GET",
    path: `${path}/files/:ref/:file_path/raw`,
    summary: `Get the bytes of a file of ${word}`,
    access: reader,
    params: Type.Object({ ...names, ...file }),
    returns: plain("application/octet-stream"),
    async handle({ databases, params, ...request }) {
      const snippet = await requireSnippet(databases, request, idIn(params));
      return sendFile(request, snippet, params.ref, params.file_path);
    },
  }),
});

const editing = ({ path, word, editor, names }: OneSnippet) => ({
  update: endpoint({
    method: "PUT",
    path,
    summary: `Change ${word}`,
    access: editor,
    params: changesOf(names),
    returns: Snippet,
    audit: "snippet_updated",
    transaction: "own",
    maxBodyBytes: MAX_COMMIT_BODY_BYTES,
    async handle({ params, ...write }) {
      const snippet = await requireChangeable(write.databases, write, idIn(params));
      await changeSnippet(snippet, write, params);
      return snippetView(write.databases.write, snippet.id, write);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path,
    summary: `Delete ${word}`,
    access: editor,
    params: Type.Object(names),
    audit: "snippet_deleted",
    conditional: true,
    async prepare({ services, params, ...caller }) {
      return { snippet: await requireChangeable(services.db, caller, idIn(params)) };
    },
    async handle({ tx, services, snippet, audit, unlessModified }) {
      unlessModified((await lockedSnippet(tx, snippet.id)).updated_at);
      await deleteSnippets(tx, services.jobs, sql`id = ${snippet.id}`);
      audit(snippetTarget(snippet));
    },
  }),
});

interface FileRequest {
  readonly services: Services;
  readonly consumer: Consumer;
  header(name: string): string | undefined;
  setHeader(name: string, value: string): void;
}

async function sendFile(request: FileRequest, snippet: SnippetSeen, ref: string | undefined, path: string) {
  const repository = await repositoryOf(request.services, snippet, request.consumer);
  const commit = await namedCommit(repository, snippet, ref);
  const entry = commit === undefined ? undefined : await findEntry(repository, commit, path);
  const blob = entry?.type === "blob" ? await repository.objects.info(entry.id) : undefined;
  if (!entry || !blob) throw missing("File");
  return sendRaw(repository, blob, entry.name, request);
}
