import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { testRepository, type TestRepository, messageOf } from "#domains/code/commits/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

describe("creating and deleting tags", () => {
  let app: TestApp;
  let repository: TestRepository;
  let first: string;
  before(async () => (app = await testApp()));
  beforeEach(async () => {
    repository = await testRepository(app);
    first = await repository.put({ a: "1" });
  });
  after(() => app.close());

  const create = (tag_name: string, more: object = {}) =>
    repository.call("POST", "/tags", { tag_name, ref: "main", ...more });

  test("a tag with a message is annotated, one without is lightweight", async () => {
    const plain = await create("v1.0", { message: "" });
    assert.equal(plain.status, 201, plain.text);
    assert.deepEqual([plain.body.name, plain.body.target, plain.body.message], ["v1.0", first, null]);

    const annotated = await create("release/ä", { ref: "v1.0", message: "Two\n\nlines  \n" });
    assert.equal(annotated.status, 201, annotated.text);
    const { target, message, commit } = annotated.body;
    assert.deepEqual([message, commit.id], ["Two\n\nlines", first]);
    assert.notEqual(target, first);
    assert.equal(await repository.ask("rev-parse", "refs/tags/release/ä^{commit}"), first);
    const { username, email } = repository.developer;
    assert.match(
      await repository.ask("cat-file", "tag", target),
      new RegExp(`^tagger Name of ${username} <${email}> \\d+ \\+0000$`, "m"),
    );
    assert.deepEqual((await repository.call("GET", `/tags/${encodeURIComponent("release/ä")}`)).body, annotated.body);
    const [audited] = await repository.audited(annotated);
    assert.deepEqual([audited?.event, audited?.details], ["tag_created", { tag: "release/ä", commit_id: first }]);
    assert.deepEqual(
      (await repository.events()).map(({ push_action, ref_type, ref, commit_to }) => [
        push_action,
        ref_type,
        ref,
        commit_to,
      ]),
      [
        ["created", "branch", "main", first],
        ["created", "tag", "v1.0", first],
        ["created", "tag", "release/ä", target],
      ],
    );
    await repository.assertSound();
  });

  test("an invalid name, a taken name and an unknown target are refused with the reason", async () => {
    await create("v1");
    assert.deepEqual(messageOf(await create("v1", { message: "x" })), [400, "Tag v1 already exists"]);
    assert.deepEqual(messageOf(await create("v2", { ref: "none" })), [400, "Target none is invalid"]);
    for (const name of ["a b", "..", "-x", "HEAD", "x.lock", "f".repeat(40), "refs/heads/x", "x\n"]) {
      assert.deepEqual(messageOf(await create(name)), [400, "Tag name invalid"], name);
    }
    assert.equal((await create("")).status, 400);
    assert.equal(await repository.ask("tag"), "v1");
  });

  test("a tag is deleted", async () => {
    await create("v1.json", { message: "x" });
    const remove = (name: string, user = repository.developer) =>
      repository.call("DELETE", `/tags/${encodeURIComponent(name)}`, {}, user);
    assert.equal((await remove("v1.json", repository.reporter)).status, 403);
    const gone = await remove("v1.json");
    assert.deepEqual([gone.status, gone.text], [204, ""]);
    assert.equal((await repository.audited(gone))[0]?.event, "tag_deleted");
    assert.equal((await repository.events()).at(-1)?.push_action, "removed");
    for (const name of ["v1.json", "a..b", "HEAD"])
      assert.deepEqual(messageOf(await remove(name)), [404, "404 Tag Not Found"]);
    assert.equal(await repository.ask("tag"), "");
  });
});
