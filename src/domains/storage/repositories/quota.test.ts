import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gitOutput } from "#test/support/git.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { commit, type Pushing, pushedProject, pushingApp } from "#test/support/pushing.ts";
import { until } from "#test/support/until.ts";

describe("the storage limit of a user", () => {
  let pushing: Pushing;
  before(async () => {
    pushing = await pushingApp({ databaseUrl: await freshDatabase() });
  });
  after(() => pushing.close());

  const sizeOf = async (id: number) => {
    const { db } = pushing.app.services;
    const query = db.write.selectFrom("repositories").select("size_bytes").where("project_id", "=", id);
    return (await query.executeTakeFirstOrThrow()).size_bytes;
  };

  async function limit(user_storage_limit_bytes: number) {
    const { db, settings } = pushing.app.services;
    await db.write.updateTable("settings").set({ user_storage_limit_bytes }).execute();
    const isInForce = async () => (await settings.current()).user_storage_limit_bytes === user_storage_limit_bytes;
    await until("the setting is in force", isInForce);
  }

  /** Commits this many incompressible bytes. */
  async function large(copy: string, bytes: number) {
    await writeFile(join(copy, "large"), randomBytes(bytes));
    return commit(copy);
  }

  test("the size is updated after each push", async () => {
    const { project, copy } = await pushedProject(pushing);
    const first = await sizeOf(project.id);
    assert.ok(first > 300 && first < 50_000, String(first));
    await large(copy, 100_000);
    assert.equal((await pushing.push(copy, project, pushing.owner, "main")).code, 0);
    const second = await sizeOf(project.id);
    assert.ok(second > first + 100_000 && second < first + 150_000, String(second));
  });

  test("a push is limited to the remaining bytes, and refused with the reason if none remain", async () => {
    const { project, copy } = await pushedProject(pushing);
    const { app, owner, push } = pushing;
    const member = await pushing.member(project, "developer");
    const { rows } = await usedBy(owner.id);
    const used = Number(rows[0]?.used);
    await limit(used + 50_000);
    await large(copy, 100_000);
    const tooMuch = await push(copy, project, owner, "main");
    assert.notEqual(tooMuch.code, 0);
    assert.match(tooMuch.stderr, /exceeds maximum allowed size/);
    assert.equal(Number((await usedBy(owner.id)).rows[0]?.used), used);

    await gitOutput(["reset", "--quiet", "--hard", "HEAD~1"], { cwd: copy });
    await commit(copy);
    assert.equal((await push(copy, project, owner, "main")).code, 0, "a push within the limit succeeds");

    await limit(1000);
    await commit(copy);
    const reason = new RegExp(`The projects, groups and snippets that ${owner.username} created take .* GiB`);
    const refused = await push(copy, project, member, "main");
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /403|The projects, groups and snippets that/);
    const payload = { branch: "main", commit_message: "x", content: "x" };
    const overApi = await app.post(`/projects/${project.id}/repository/files/new`, { token: member.token, payload });
    assert.equal(overApi.status, 403);
    assert.match(overApi.body.message, reason);
    assert.match(overApi.body.message, /ask an administrator for more$/);
    const { token } = owner;
    const { body: group } = await app.post("/groups", { token, payload: { name: "Quota", path: `quota-${owner.id}` } });
    for (const [path, sent] of [
      [`/groups/${group.id}/wikis`, { title: "x", content: "x" }],
      [`/projects/${project.id}/wikis`, { title: "x", content: "x" }],
      ["/snippets", { title: "x", file_name: "x", content: "x" }],
    ] as const) {
      const { status, body } = await app.post(path, { token, payload: sent });
      assert.equal(status, 403, path);
      assert.match(body.message, reason);
    }
    assert.equal((await app.get(`/projects/${project.id}/repository/tree`, { token: member.token })).status, 200);

    await app.services.db.write.updateTable("users").set({ admin: true }).where("id", "=", owner.id).execute();
    assert.equal((await push(copy, project, member, "main")).code, 0, "an administrator's projects have no limit");
    await app.services.db.write.updateTable("users").set({ admin: false }).where("id", "=", owner.id).execute();
    await limit(0);
    await commit(copy);
    assert.equal((await push(copy, project, member, "main")).code, 0, "0 is no limit");
  });

  const usedBy = async (userId: number) => {
    const { db } = pushing.app.services;
    const query = db.write
      .selectFrom("repositories as r")
      .innerJoin("projects as p", "p.id", "r.project_id")
      .select(({ fn }) => fn.sum("r.size_bytes").as("used"))
      .where("p.creator_id", "=", userId);
    return { rows: await query.execute() };
  };
});
