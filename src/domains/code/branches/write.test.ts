import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { testRepository, type TestRepository, messageOf } from "#domains/code/commits/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { removeMergedBranches } from "./jobs.ts";

describe("creating and deleting branches", () => {
  let app: TestApp;
  let repository: TestRepository;
  let first: string;
  before(async () => (app = await testApp()));
  beforeEach(async () => {
    repository = await testRepository(app);
    first = await repository.put({ a: "1" });
  });
  after(() => app.close());

  const create = (branch: string, ref = "main") => repository.call("POST", "/branches", { branch, ref });
  const remove = (branch: string, user = repository.developer) =>
    repository.call("DELETE", `/branches/${encodeURIComponent(branch)}`, {}, user);
  const names = async () =>
    (await repository.ask("for-each-ref", "--format=%(refname:short)", "refs/heads")).split("\n");

  test("a branch is created from a branch, a tag or a commit, and presented like one that is read", async () => {
    await repository.call("POST", "/tags", { tag_name: "v1", ref: "main", message: "One" });
    for (const [branch, ref] of [
      ["feature/x", "main"],
      ["by.tag", "v1"],
      ["by-id", first.slice(0, 8)],
      ["ä-ö", "refs/heads/main"],
    ] as const) {
      const made = await create(branch, ref);
      assert.equal(made.status, 201, made.text);
      assert.deepEqual([made.body.name, made.body.commit.id, made.body.default], [branch, first, false]);
      const read = await repository.call("GET", `/branches/${encodeURIComponent(branch)}`);
      assert.deepEqual(read.body, made.body);
      const [audited] = await repository.audited(made);
      assert.deepEqual([audited?.event, audited?.details], ["branch_created", { branch, commit_id: first }]);
    }
    const { push_action, ref, commit_to } = (await repository.events()).at(-1) ?? {};
    assert.deepEqual([push_action, ref, commit_to], ["created", "ä-ö", first]);
    await repository.assertSound();
  });

  test("an invalid name, a taken name and an unknown start are refused with the reason", async () => {
    await create("taken");
    assert.deepEqual(messageOf(await create("taken")), [400, "Branch already exists"]);
    assert.deepEqual(messageOf(await create("new", "none")), [400, "Invalid reference name: none"]);
    assert.deepEqual(messageOf(await create("new", "main^")), [400, "Invalid reference name: main^"]);
    assert.deepEqual(messageOf(await create("new", "--all")), [400, "Invalid reference name: --all"]);
    for (const name of ["a b", "..", "-x", "HEAD", "@", "x.lock", "a//b", "A".repeat(40), "refs/tags/x", "x~1"]) {
      assert.deepEqual(messageOf(await create(name)), [400, "Branch name is invalid"], name);
    }
    assert.equal((await create("taken/below")).status, 409, "a name may not be a directory of another");
    assert.deepEqual(await names(), ["main", "taken"]);
    const races = await Promise.all([create("race"), create("race"), create("race")]);
    assert.deepEqual(
      races.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 400, 400],
    );
    assert.equal(
      (await repository.call("POST", "/branches", { branch: "r", ref: "main" }, repository.reporter)).status,
      403,
    );
  });

  test("a branch is deleted, the default one only by a Maintainer", async () => {
    await create("feature/x.json");
    const gone = await remove("feature/x.json");
    assert.deepEqual([gone.status, gone.text], [204, ""]);
    assert.deepEqual((await repository.audited(gone))[0]?.event, "branch_deleted");
    assert.equal((await repository.events()).at(-1)?.push_action, "removed");
    for (const name of ["feature/x.json", "none", "a..b", "HEAD", "--all"]) {
      assert.deepEqual(messageOf(await remove(name)), [404, "404 Branch Not Found"], name);
    }
    assert.equal((await remove("main")).status, 403);
    assert.deepEqual(await names(), ["main"]);
    assert.equal((await remove("main", repository.owner)).status, 204);
  });

  test("a job deletes the merged branches and no others", async () => {
    for (let n = 0; n < 5; n++) await create(`merged-${n}`);
    const actions = [{ action: "create", file_path: "b", content: "" }];
    await repository.commit({ branch: "ahead", start_branch: "main", actions });
    const asked = await repository.call("DELETE", "/merged_branches");
    assert.deepEqual([asked.status, asked.body], [202, { message: "202 Accepted" }]);
    await runRemoval(repository.reporter.id);
    assert.equal((await names()).length, 7, "who may not push deletes nothing");
    await runRemoval(repository.developer.id);
    assert.deepEqual(await names(), ["ahead", "main"]);
    const { push_action, ref } = (await repository.events()).at(-1) ?? {};
    assert.deepEqual([push_action, ref], ["removed", null], "recorded as one event");
  });

  test("the job stops as soon as its user is blocked or removed from the project", async () => {
    for (let n = 0; n < 3; n++) await create(`merged-${n}`);
    const { id } = repository.developer;
    const { write } = app.services.db;
    const setState = (state: "active" | "blocked") =>
      write.updateTable("users").set({ state }).where("id", "=", id).execute();
    await setState("blocked");
    await runRemoval(id);
    assert.equal((await names()).length, 4, "the user is blocked");
    await setState("active");

    let running: Promise<void> | undefined;
    await write.transaction().execute(async (tx) => {
      await sql`select from projects where id = ${repository.id} for update`.execute(tx);
      running = runRemoval(id);
      await until("the job is about to change refs", async () => {
        const waiting = sql`
          select from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into pushes%'
            and datname = current_database()`;
        return (await waiting.execute(write)).rows.length > 0;
      });
      await tx.deleteFrom("members").where("user_id", "=", id).execute();
    });
    await running;
    assert.equal((await names()).length, 4, "the user was removed meanwhile");
  });

  const runRemoval = (user_id: number) =>
    removeMergedBranches.run({
      ...{ id: "1", attempt: 1, services: app.services, signal: new AbortController().signal },
      payload: { project_id: repository.id, user_id },
      step: (work) => app.services.db.transaction(work),
      transaction: (work) => app.services.db.transaction(work),
    });
});
