import { sql } from "kysely";
import type { Databases } from "#db/database.ts";
import { projectRepository } from "#git/storages/storage.ts";
import { defineJob } from "#jobs/define.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { Refusal } from "#lib/refusal.ts";
import { MANY_PUSHES, repositoryMaintenance, repositoryPlacing } from "./maintenance.ts";
import { repositoryOf } from "./place.ts";
import { readmeOn } from "./readme.ts";
import { repositoryRemoval } from "./removal.ts";

/** Bytes from which a repository is packed even if it was pushed to once. */
const LARGE = 10 * 2 ** 20;

const placeOf = (db: Databases, id: number) =>
  db.write
    .selectFrom("projects")
    .select(["id", "repository_storage", "default_branch"])
    .where("id", "=", id)
    .executeTakeFirst();

export const placeRepository = defineJob({
  ...repositoryPlacing,
  async run({ payload: { project_id: id }, services, transaction }) {
    const project = await placeOf(services.db, id);
    const repository = project && (await repositoryOf(services, project, BACKGROUND).catch(nothingIfMissing));
    if (!repository) return;
    const branch = project.default_branch ?? "main";
    await repository.setHead(branch);
    const readme = await readmeOn(repository, branch);
    await transaction((tx) =>
      tx.updateTable("repositories").set({ beginning: null, readme }).where("project_id", "=", id).execute(),
    );
  },
});

/** A project may be removed while its repository is made. */
function nothingIfMissing(error: unknown) {
  if (error instanceof Refusal && error.kind === "missing") return undefined;
  throw error;
}

/** Removes the repositories of projects that are gone. */
export const removeRepositories = defineJob({
  ...repositoryRemoval,
  async run({ payload, services, signal }) {
    const storage = services.git.storage(payload.storage);
    for (const id of payload.project_ids) {
      signal.throwIfAborted();
      await storage.repository(projectRepository(id)).remove();
    }
  },
});

export const maintainRepository = defineJob({
  ...repositoryMaintenance,
  async run({ payload: { project_id: id }, services, signal, transaction }) {
    const project = await placeOf(services.db, id);
    const known = await services.db.write
      .selectFrom("repositories")
      .select("unpacked_pushes")
      .where("project_id", "=", id)
      .executeTakeFirst();
    if (!project || !known) return;
    const repository = services.git.storage(project.repository_storage).repository(projectRepository(id));
    if (known.unpacked_pushes < MANY_PUSHES && (await repository.size()) < LARGE) return;
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
