import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { testRepository, type TestRepository, messageOf } from "#domains/code/commits/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

const common = { branch: "main", commit_message: "Work" };

describe("writing files", () => {
  let app: TestApp;
  let repository: TestRepository;
  before(async () => (app = await testApp()));
  beforeEach(async () => (repository = await testRepository(app)));
  after(() => app.close());

  const call = (method: "POST" | "PUT" | "DELETE", path: string, fields: object = {}) =>
    repository.call(method, `/files/${encodeURIComponent(path)}`, { ...common, ...fields });
  const held = (path: string, ref = "main") => repository.ask("cat-file", "blob", `${ref}:${path}`);

  test("a file is created, updated and deleted, each in one commit", async () => {
    const path = "docs/ä b.json";
    const created = await call("POST", path, { content: "one\n", author_name: "Grace", author_email: "g@example.com" });
    assert.deepEqual([created.status, created.body], [201, { file_path: path, branch: "main" }]);
    assert.equal(
      await repository.ask("log", "-1", "--format=%an %ae %cn", "main"),
      `Grace g@example.com Name of ${repository.developer.username}`,
    );
    const content = Buffer.from("two\n").toString("base64");
    const updated = await call("PUT", path, {
      content,
      encoding: "base64",
      execute_filemode: true,
      file_path: "other",
    });
    assert.deepEqual([updated.status, updated.body], [200, { file_path: path, branch: "main" }]);
    assert.equal(await held(path), "two");
    assert.match(await repository.ask("ls-tree", "-r", "main"), /^100755 /);
    const deleted = await call("DELETE", path);
    assert.deepEqual([deleted.status, deleted.text], [204, ""]);
    assert.equal(await repository.ask("ls-tree", "-r", "main"), "");
    const events = await Promise.all([created, updated, deleted].map((answer) => repository.audited(answer)));
    assert.deepEqual(
      events.map(([row]) => row?.event),
      ["repository_file_created", "repository_file_updated", "repository_file_deleted"],
    );
    assert.equal((await repository.events()).length, 3);
    await repository.assertSound();
  });

  test("parameters may be in the query", async () => {
    await call("POST", "a", { content: "x" });
    const query = new URLSearchParams(common).toString();
    assert.equal(
      (await app.delete(`${repository.base}/files/a?${query}`, { token: repository.developer.token })).status,
      204,
    );
  });

  test("a new branch starts at another", async () => {
    await call("POST", "a", { content: "1" });
    const started = await call("PUT", "a", { branch: "feature", start_branch: "main", content: "2" });
    assert.deepEqual(started.body, { file_path: "a", branch: "feature" });
    assert.deepEqual([await held("a"), await held("a", "feature")], ["1", "2"]);
  });

  test("an invalid change is refused with the reason", async () => {
    await call("POST", "a", { content: "1" });
    const first = await repository.ask("rev-parse", "main");
    assert.deepEqual(messageOf(await call("POST", "a", { content: "2" })), [
      400,
      "A file with this name already exists",
    ]);
    for (const method of ["PUT", "DELETE"] as const) {
      assert.deepEqual(messageOf(await call(method, "none", { content: "" })), [
        400,
        "A file with this name doesn't exist",
      ]);
    }
    assert.equal((await call("PUT", "a", { content: "2", last_commit_id: first })).status, 200);
    const stale = [400, "The file has changed since you started editing it"];
    for (const method of ["PUT", "DELETE"] as const) {
      assert.deepEqual(messageOf(await call(method, "a", { content: "3", last_commit_id: first })), stale);
    }
    assert.deepEqual(messageOf(await call("POST", "b")), [400, "content is missing"]);
    assert.deepEqual(messageOf(await call("POST", "b", { content: "%", encoding: "base64" })), [
      400,
      "content is invalid",
    ]);
    for (const path of ["../x", ".git/config", "a/b", "x/./y", "git~1"]) {
      assert.equal((await call("POST", path, { content: "x" })).status, 400, path);
    }
    assert.deepEqual(messageOf(await call("POST", "b", { content: "x", branch: "other" })), [
      400,
      "You can only create or edit files when you are on a branch",
    ]);
    const { reporter } = repository;
    assert.equal((await repository.call("POST", "/files/b", { ...common, content: "" }, reporter)).status, 403);
  });
});
