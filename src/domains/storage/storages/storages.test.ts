import assert from "node:assert/strict";
import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("storages", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    for (const storage of app.services.git.storages) await storage.prepare();
  });
  after(() => app.close());

  test("are listed with weight, space, repositories and moves; one that cannot be reached is not healthy", async () => {
    const { token } = await app.makeUser({ admin: true });
    const made = [];
    for (const name of ["one", "two"]) {
      made.push((await app.post("/projects", { token, payload: { name } })).body);
    }
    await app.post(`/projects/${made[0].id}/repository_storage_moves`, { token });
    const read = async () => (await app.get("/admin/storages", { token })).body;
    const [first, second] = await read();
    assert.ok(first.free_bytes > 0 && first.free_bytes <= first.total_bytes);
    const space = { free_bytes: first.free_bytes, total_bytes: first.total_bytes };
    assert.deepEqual(first, {
      ...{ name: "default", weight: 100, healthy: true, ...space, repositories_count: 2, moves_count: 1 },
    });
    assert.deepEqual([second.name, second.weight, second.repositories_count, second.moves_count], ["second", 0, 0, 0]);

    await rm(join(app.services.config.dataDir, "second"), { recursive: true });
    await symlink("/nonexistent", join(app.services.config.dataDir, "second"));
    const [, gone] = await read();
    assert.deepEqual([gone.healthy, gone.free_bytes, gone.total_bytes], [false, null, null]);
  });
});
