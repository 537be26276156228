import { sql } from "kysely";
import type { Databases, Tx } from "#db/database.ts";
import Type from "typebox";
import { projectRepository, type RepositoryName } from "#git/storages/storage.ts";
import { defineJob } from "#jobs/define.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { Refusal } from "#lib/refusal.ts";
import { PUSHES_PER_PACKING, repositoryMaintenance, repositoryCreation } from "./maintenance.ts";
import { projectLocations, repositoryAt, repositoryOf, type StorageLocation } from "./location.ts";
import { readmeOn } from "./readme.ts";
import { repositoryRemoval } from "./removal.ts";

/** A repository of this size is packed even after a single push. */
const LARGE_BYTES = 10 * 2 ** 20;

const locationOf = (db: Databases, projectId: number) =>
  projectLocations(db.write).where("p.id", "=", projectId).executeTakeFirst();

export const createRepository = defineJob({
  ...repositoryCreation,
  async run({ payload: { project_id: id }, services, transaction }) {
    const project = await locationOf(services.db, id);
    const repository = project && (await repositoryOf(services, project, BACKGROUND).catch(nothingIfMissing));
    if (!repository) return;
    const branch = project.default_branch ?? "main";
    await repository.setHead(branch);
    const readme = await readmeOn(repository, branch);
    await transaction((tx) => markCreated(tx, project, readme));
  },
});

/**
 * Drops the first commit, from which the repository need not be created any more. Not while it moves, nor once it has
 * moved: a move that began before the repository existed copies nothing, so it is created anew at the destination.
 */
const markCreated = (tx: Tx, location: StorageLocation, readme: string | null) =>
  sql`
    update repositories set beginning = null, readme = ${readme}
    where id = ${location.repository_id} and storage = ${location.repository_storage}
      and disk_path = ${location.repository_path} and coalesce(read_only_until <= now(), true)`.execute(tx);

/** A project may be deleted while its repository is created. */
function nothingIfMissing(error: unknown) {
  if (error instanceof Refusal && error.kind === "missing") return undefined;
  throw error;
}

/** Removes the repositories of deleted projects, and copies that no move needs. */
export const removeRepositories = defineJob({
  ...repositoryRemoval,
  async run({ payload, services, signal }) {
    const storage = services.git.storage(payload.storage);
    for (const path of payload.paths) {
      signal.throwIfAborted();
      await storage.repository(path as RepositoryName).remove();
    }
  },
});

/** The same as the release before queues it. */
export const removeProjectRepositories = defineJob({
  name: "repositories.remove",
  queue: "git",
  payload: Type.Object(
    { storage: Type.String(), project_ids: Type.Array(Type.Integer()) },
    { additionalProperties: false },
  ),
  run: ({ payload: { storage, project_ids }, ...context }) =>
    removeRepositories.run({ ...context, payload: { storage, paths: project_ids.map(projectRepository) } }),
});

export const maintainRepository = defineJob({
  ...repositoryMaintenance,
  async run({ payload: { project_id: id }, services, signal, transaction }) {
    const project = await locationOf(services.db, id);
    const known = await services.db.write
      .selectFrom("repositories")
      .select("unpacked_pushes")
      .where("project_id", "=", id)
      .executeTakeFirst();
    if (!project || !known) return;
    const repository = repositoryAt(services, project);
    if (known.unpacked_pushes < PUSHES_PER_PACKING && (await repository.size()) < LARGE_BYTES) return;
    await repository.maintain({ signal });
    const size_bytes = await repository.size();
    await transaction((tx) =>
      tx
        .updateTable("repositories")
        .set({ size_bytes, unpacked_pushes: sql<number>`unpacked_pushes - ${known.unpacked_pushes}` })
        .where("project_id", "=", id)
        .execute(),
    );
  },
});
