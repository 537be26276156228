import { sql } from "kysely";
import type { Databases, Tx } from "#db/database.ts";
import Type from "typebox";
import { projectRepository, type RepositoryName } from "#git/storages/storage.ts";
import { defineJob, type JobContext } from "#jobs/define.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { Refusal } from "#lib/refusal.ts";
import { PUSHES_PER_PACKING, repositoryMaintenance, repositoryCreation } from "./maintenance.ts";
import { repositoryAt, repositoryLocations, repositoryOf, type StorageLocation } from "./location.ts";
import { readmeOn } from "./readme.ts";
import { repositoryRemoval } from "./removal.ts";

/** A repository of this size is packed even after a single push. */
const LARGE_BYTES = 10 * 2 ** 20;

const locationOf = (db: Databases, id: number) =>
  repositoryLocations(db.write).where("r.id", "=", id).executeTakeFirst();

export const createRepository = defineJob({
  ...repositoryCreation,
  async run({ payload: { repository_id: id }, services, transaction }) {
    const location = await locationOf(services.db, id);
    const repository = location && (await repositoryOf(services, location, BACKGROUND).catch(nothingIfMissing));
    if (!repository) return;
    const branch = location.default_branch ?? "main";
    await repository.setHead(branch);
    const readme = location.project_id === null ? null : await readmeOn(repository, branch);
    await transaction((tx) => markCreated(tx, location, readme));
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

/** What a repository belongs to may be deleted while it is created. */
function nothingIfMissing(error: unknown) {
  if (error instanceof Refusal && error.kind === "missing") return undefined;
  throw error;
}

/** Removes the repositories of what was deleted, and copies that no move needs. */
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
  async run({ payload: { repository_id: id }, services, signal, transaction }) {
    const known = await repositoryLocations(services.db.write)
      .select("r.unpacked_pushes")
      .where("r.id", "=", id)
      .executeTakeFirst();
    if (!known) return;
    const repository = repositoryAt(services, known);
    if (known.unpacked_pushes < PUSHES_PER_PACKING && (await repository.size()) < LARGE_BYTES) return;
    await repository.maintain({ signal });
    const size_bytes = await repository.size();
    await transaction((tx) =>
      tx
        .updateTable("repositories")
        .set({ size_bytes, unpacked_pushes: sql<number>`unpacked_pushes - ${known.unpacked_pushes}` })
        .where("id", "=", id)
        .execute(),
    );
  },
});

const ofProject = {
  queue: "git",
  payload: Type.Object({ project_id: Type.Integer() }, { additionalProperties: false }),
} as const;

/** Jobs as the release before queues them, by project. */
export const createProjectRepository = defineJob({
  ...ofProject,
  name: "repositories.place",
  run: (job) => runByRepository(job, createRepository),
});
export const maintainProjectRepository = defineJob({
  ...ofProject,
  name: "repositories.maintain",
  run: (job) => runByRepository(job, maintainRepository),
});

async function runByRepository(
  { payload: { project_id }, ...context }: JobContext<{ readonly project_id: number }>,
  job: Pick<typeof createRepository, "run">,
) {
  const found = await repositoryLocations(context.services.db.write)
    .where("r.project_id", "=", project_id)
    .executeTakeFirst();
  if (found) await job.run({ ...context, payload: { repository_id: found.repository_id } });
}
