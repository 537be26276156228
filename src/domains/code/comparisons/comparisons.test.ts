import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Code, codeOf, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

describe("comparisons", () => {
  let app: TestApp;
  let code: Code;
  before(async () => {
    app = await testApp();
    const plans = [
      { message: "Begin", files: { a: "1\n" } },
      { message: "One", ref: "refs/heads/topic", from: ":1", files: { b: "1\n" }, author: "Bob <bob@example.com>" },
      { message: "Two", ref: "refs/heads/topic", files: { b: "2\n" }, author: "Bob <bob@example.com>" },
      { message: "Meanwhile", files: { a: "2\n" } },
      {
        message: "Another beginning",
        ref: "refs/heads/other",
        files: { z: "z\n" },
        author: "Carol <carol@example.com>",
      },
    ];
    code = await codeOf(app, streamOfCommits(plans));
  });
  after(() => app.close());

  const get = (path: string) => app.get(`${code.path}${path}`, { token: code.owner.token });
  const titles = (body: { title: string }[]) => body.map(({ title }) => title);
  const files = (body: { new_path: string }[]) => body.map(({ new_path }) => new_path);

  test("a comparison starts at the merge base", async () => {
    const { status, body } = await get("/compare?from=main&to=topic");
    assert.equal(status, 200);
    assert.deepEqual(titles(body.commits), ["One", "Two"]);
    assert.equal(body.commit.title, "Two");
    assert.deepEqual(files(body.diffs), ["b"]);
    assert.equal(body.diffs[0].diff, "@@ -0,0 +1 @@\n+2\n");
    assert.deepEqual([body.compare_timeout, body.compare_same_ref], [false, false]);
    assert.match(body.web_url, /\/-\/compare\/[0-9a-f]{40}\.\.\.[0-9a-f]{40}$/);
  });

  test("straight comparisons, equal refs and unrelated histories", async () => {
    assert.deepEqual(files((await get("/compare?from=main&to=topic&straight=true")).body.diffs), ["a", "b"]);
    const { body: same } = await get("/compare?from=main&to=main");
    assert.deepEqual([same.commit, same.commits, same.diffs, same.compare_same_ref], [null, [], [], true]);
    const { body: apart } = await get("/compare?from=main&to=other");
    assert.deepEqual([titles(apart.commits), files(apart.diffs)], [["Another beginning"], ["z"]]);
    assert.deepEqual((await get("/compare?from=main&to=nowhere")).body, { message: "404 Ref Not Found" });
    assert.deepEqual((await get("/compare?from=main")).body, { error: "to is missing" });
  });

  test("the merge base of branches", async () => {
    assert.equal((await get("/merge_base?refs[]=main&refs[]=topic")).body.title, "Begin");
    assert.equal((await get("/merge_base?refs[]=main&refs[]=topic&refs[]=main")).body.title, "Begin");
    assert.deepEqual((await get("/merge_base?refs[]=main&refs[]=other")).body, { message: "404 Merge Base Not Found" });
    const { status, body } = await get("/merge_base?refs[]=main&refs[]=nowhere");
    assert.deepEqual([status, body], [400, { message: "400 Bad request - Could not find ref: nowhere" }]);
    assert.equal((await get("/merge_base?refs[]=main")).status, 400);
  });

  test("contributors are counted and sorted", async () => {
    const { body } = await get("/contributors?ref=topic&order_by=commits&sort=desc");
    assert.deepEqual(body, [
      { name: "Bob", email: "bob@example.com", commits: 2, additions: 0, deletions: 0 },
      { name: "Ada Lovelace", email: "ada@example.com", commits: 1, additions: 0, deletions: 0 },
    ]);
    assert.equal((await get("/contributors?order_by=name")).headers["x-total"], "1");
    assert.deepEqual((await get("/contributors?ref=nowhere")).body, { message: "404 Commit Not Found" });
  });
});
