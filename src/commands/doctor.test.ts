import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { openGit } from "#git/storages/open.ts";
import { copyPath, projectRepository } from "#git/storages/storage.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { deleteProjects } from "#domains/storage/repositories/removal.ts";
import { repositoryLocations, repositoryOf } from "#domains/storage/repositories/location.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { sql } from "kysely";
import { checkGit, checkRepositories } from "./doctor-repositories.ts";

describe("what the doctor says of git", () => {
  let app: TestApp;
  let insert: RowInserter;
  let group: number;
  before(async () => {
    // All projects and repositories count.
    app = await testApp({ databaseUrl: await freshDatabase() });
    insert = rowInserter(app);
    group = await insert.group();
  });
  after(() => app.close());

  const told = async () => (await checkRepositories(app.services)).map(({ good, text }) => `${good} ${text}`);
  const project = async (columns: object = {}) => {
    const id = await insert.project(group, columns);
    const location = repositoryLocations(app.services.db.write).where("r.project_id", "=", id);
    return { id, ...(await location.executeTakeFirstOrThrow()) };
  };
  const pushed = async (id: number, beginning: string | null = null) =>
    app.services.db.write
      .updateTable("repositories")
      .set({ pushed_at: sql<string>`now()`, beginning })
      .where("project_id", "=", id)
      .execute();

  test("all is well where every repository has its project, and the other way round", async () => {
    await project();
    const used = await project();
    await repositoryOf(app.services, used, BACKGROUND);
    await pushed(used.id);
    const begun = await project();
    await pushed(begun.id, "commit refs/heads/main\n");
    assert.deepEqual(await told(), [
      "true Every repository belongs to something",
      "true Whatever was pushed to has its repository",
    ]);
  });

  test("repositories without a project are named, but for those that are about to go", async () => {
    const storage = app.services.git.storage("default");
    for (let id = 900_001; id <= 900_007; id++) await storage.repository(projectRepository(id)).create("main");
    const leaving = await project();
    await repositoryOf(app.services, leaving, BACKGROUND);
    await app.services.db.transaction((tx) => deleteProjects(tx, app.services.jobs, sql`id = ${leaving.id}`));
    const [nobodys = ""] = await told();
    assert.match(nobodys, /^false Repositories that belong to nothing: 7 \((?:default @hashed\/\S+, ){5}…\)/);
    for (let id = 900_001; id <= 900_007; id++) await storage.repository(projectRepository(id)).remove();
    assert.deepEqual((await told())[0], "true Every repository belongs to something");
  });

  test("the copy of a move that is under way belongs to its project", async () => {
    const moving = await project();
    const { rows } = await sql<{ id: number }>`
      insert into repository_storage_moves
        (repository_id, project_id, state, attempt, source_storage, destination_storage)
      values (${moving.repository_id}, ${moving.id}, 'started', 2, 'default', 'second') returning id`.execute(
      app.services.db.write,
    );
    const copy = copyPath(projectRepository(moving.id), rows[0]?.id ?? 0, 2);
    const repository = app.services.git.storage("second").repository(copy);
    await repository.create("main");
    assert.equal((await told())[0], "true Every repository belongs to something");
    await sql`update repository_storage_moves set attempt = 3`.execute(app.services.db.write);
    assert.match((await told())[0] ?? "", /^false Repositories that belong to nothing: 1 \(second @hashed/);
    await repository.remove();
  });

  test("projects that were pushed to and have no repository are named", async () => {
    const lost = await project();
    await repositoryOf(app.services, lost, BACKGROUND);
    await pushed(lost.id);
    const directory = join(app.services.config.dataDir, "repositories", `${projectRepository(lost.id)}.git`);
    await rm(directory, { recursive: true });
    assert.equal(
      (await told())[1],
      `false Pushed to, but the repository is gone: 1 (project ${lost.id}); restore it from a backup`,
    );
    await app.services.db.write.deleteFrom("projects").where("id", "=", lost.id).execute();
  });

  test("projects on a storage that is not there are counted", async () => {
    const { id } = await project({ repository_storage: "elsewhere" });
    assert.match((await told())[2] ?? "", /^false Repositories on the unknown storage elsewhere: 1;/);
    await app.services.db.write.deleteFrom("projects").where("id", "=", id).execute();
  });

  test("git and its storages can be used, or it says why not", async () => {
    const good = await checkGit(app.services);
    assert.deepEqual(
      good.map((finding) => finding.good),
      [true, true, true, true],
    );
    assert.match(good[0]?.text ?? "", /^git 2\.\d+/);
    const git = openGit(readConfig({ PATH: "/nonexistent", FAIRLEAD_STORAGES: "broken=/dev/null/x" }));
    const [version, storage] = await checkGit({ git });
    assert.match(version?.text ?? "", /^git cannot be run \(.*ENOENT.*\); install it in a directory of PATH$/);
    assert.match(
      storage?.text ?? "",
      /^The storage broken cannot be written \(.*ENOTDIR.*\); check FAIRLEAD_STORAGES$/,
    );
    await git.close();
  });
});
