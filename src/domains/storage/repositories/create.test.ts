import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { projectRepository } from "#git/storages/storage.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

/** The previous release inserts projects, repositories and pushes without the columns that were added since. */
describe("statements of the previous release", () => {
  let app: TestApp;
  let namespace: number;
  before(async () => {
    app = await testApp();
    const values = { kind: "group", path: "release-before", name: "Release before" } as const;
    const group = app.services.db.write.insertInto("namespaces").values(values).returning("id");
    namespace = (await group.executeTakeFirstOrThrow()).id;
  });
  after(() => app.close());

  const newProject = (path: string) =>
    sql<{ id: number }>`
      insert into projects (namespace_id, name, path, repository_storage)
      values (${namespace}, ${path}, ${path}, 'spare') returning id`;
  const repositoryOf = (id: number) =>
    app.services.db.write.selectFrom("repositories").selectAll().where("project_id", "=", id).executeTakeFirst();

  test("create a repository for every project, at the path derived from its id", async () => {
    const { rows } = await newProject("bare").execute(app.services.db.write);
    const id = rows[0]?.id ?? 0;
    const repository = await repositoryOf(id);
    assert.ok(repository && repository.id > 0);
    assert.deepEqual([repository.storage, repository.disk_path], ["spare", projectRepository(id)]);
  });

  test("may insert the repository with the project", async () => {
    const id = await app.services.db.transaction(async (tx) => {
      const { rows } = await newProject("readme").execute(tx);
      await sql`insert into repositories (project_id, pushed_at, beginning)
        values (${rows[0]?.id}, now(), 'commit')`.execute(tx);
      return rows[0]?.id ?? 0;
    });
    const repository = await repositoryOf(id);
    assert.deepEqual([repository?.storage, repository?.beginning], ["spare", "commit"]);
  });

  test("may update it by upsert, and insert pushes by project", async () => {
    const { write } = app.services.db;
    const { rows } = await newProject("pushed").execute(write);
    const id = rows[0]?.id ?? 0;
    await sql`insert into repositories (project_id, pushed_at) values (${id}, now())
      on conflict (project_id) do update set unpacked_pushes = repositories.unpacked_pushes + 1`.execute(write);
    await sql`insert into pushes (project_id, refs, old_ids, new_ids, held_until)
      values (${id}, array['refs/heads/main'], array[''], array[''], 'infinity')`.execute(write);
    const push = write.selectFrom("pushes").select("repository_id").where("project_id", "=", id);
    const repository = await repositoryOf(id);
    assert.equal(repository?.unpacked_pushes, 1);
    assert.equal((await push.executeTakeFirstOrThrow()).repository_id, repository?.id);
    await write.deleteFrom("pushes").where("project_id", "=", id).execute();
  });
});
