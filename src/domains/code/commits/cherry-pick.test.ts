import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { testRepository, type TestRepository, messageOf } from "./test-support.ts";

const create = (file_path: string) => ({ action: "create", file_path, content: "" });
const update = (file_path: string, content: string) => ({ action: "update", file_path, content });

describe("cherry-picking and reverting commits", () => {
  let app: TestApp;
  let repository: TestRepository;
  before(async () => (app = await testApp()));
  beforeEach(async () => (repository = await testRepository(app)));
  after(() => app.close());

  test("a commit is cherry-picked to and reverted on another branch", async () => {
    const first = await repository.put({ a: "1\n2\n3\n" });
    await repository.commit({ branch: "side", start_branch: "main", actions: [create("b")] });
    const changed = await repository.commit({
      commit_message: "Change\n",
      author_name: "Grace",
      actions: [update("a", "1\n2\n3\n4\n")],
    });
    const { id } = changed.body;
    const pick = (sha: string, payload: object, way = "cherry_pick") =>
      repository.call("POST", `/commits/${sha}/${way}`, payload);
    const dry = await pick(id, { branch: "side", dry_run: true });
    assert.deepEqual([dry.status, dry.body], [200, { dry_run: "success" }]);
    const picked = await pick(id, { branch: "side" });
    assert.equal(picked.status, 201, picked.text);
    assert.deepEqual(
      [picked.body.message, picked.body.author_name, picked.body.authored_date],
      [`Change\n\n(cherry picked from commit ${id})`, "Grace", changed.body.authored_date],
    );
    assert.equal(await repository.ask("cat-file", "blob", "side:a"), "1\n2\n3\n4");
    const [event] = await repository.audited(picked);
    assert.equal(event?.event, "commit_cherry_picked");

    const reverted = await pick(id, { branch: "side" }, "revert");
    assert.equal(reverted.body.message, `Revert "Change"\n\nThis reverts commit ${id}`);
    assert.equal(await repository.ask("cat-file", "blob", "side:a"), "1\n2\n3");
    assert.deepEqual(messageOf(await pick(id, { branch: "side" }, "revert")), [
      400,
      "The branch would not change by this",
    ]);

    await repository.commit({ branch: "side", actions: [update("a", "other\n")] });
    const [status, message] = messageOf(await pick(id, { branch: "side" }));
    assert.equal(status, 400);
    assert.match(message, /by hand$/);
    assert.equal(
      (await pick(first, { branch: "main" }, "revert")).status,
      400,
      "the first commit: a has changed since",
    );
    assert.deepEqual(messageOf(await pick("0".repeat(40), { branch: "side" })), [404, "404 Commit Not Found"]);
    for (const branch of ["none", "side^{commit}", "side~0"]) {
      assert.deepEqual(messageOf(await pick(id, { branch })), [404, "404 Branch Not Found"]);
    }
    await repository.assertSound();
  });

  test("a first commit can be reverted", async () => {
    const first = await repository.put({ a: "1" });
    const undone = await repository.call("POST", `/commits/${first}/revert`, { branch: "main" });
    assert.equal(undone.status, 201, undone.text);
    assert.equal(await repository.ask("ls-tree", "-r", "main"), "");
    await repository.assertSound();
  });
});
