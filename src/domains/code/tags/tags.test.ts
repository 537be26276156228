import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Code, codeOf, streamOfCommits, streamOfTag } from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

describe("tags", () => {
  let app: TestApp;
  let code: Code;
  before(async () => {
    app = await testApp();
    const plans = [
      { message: "Begin", files: { a: "1" } },
      { message: "More", files: { a: "2" } },
    ];
    const light = [
      ["v1.10", ":2"],
      ["v1.9", ":1"],
    ].map(([name, from]) => `reset refs/tags/${name}\nfrom ${from}\n\n`);
    const stream = [
      streamOfCommits(plans),
      Buffer.from(light.join("")),
      streamOfTag("v2.json", ":1", "Second\n\nWith words.\n"),
    ];
    code = await codeOf(app, Buffer.concat(stream));
  });
  after(() => app.close());

  const get = (path: string) => app.get(`${code.path}${path}`, { token: code.owner.token });
  const names = async (query: string) => (await get(`/tags?${query}`)).body.map(({ name }: { name: string }) => name);

  test("tags are listed in every order, the latest first", async () => {
    assert.deepEqual(await names(""), ["v2.json", "v1.10", "v1.9"]);
    assert.deepEqual(await names("sort=asc"), ["v1.9", "v1.10", "v2.json"]);
    assert.deepEqual(await names("order_by=name&sort=asc"), ["v1.10", "v1.9", "v2.json"]);
    assert.deepEqual(await names("order_by=version&sort=asc"), ["v1.9", "v1.10", "v2.json"]);
    assert.deepEqual(await names("search=^v1&order_by=name"), ["v1.9", "v1.10"]);
    assert.deepEqual(await names("per_page=1&page=2"), ["v1.10"]);
  });

  test("annotated and lightweight tags", async () => {
    const { body } = await get("/tags/v2.json");
    const { commit, target, ...tag } = body;
    assert.deepEqual(tag, {
      name: "v2.json",
      message: "Second\n\nWith words.",
      release: null,
      protected: false,
      created_at: "2023-11-14T23:13:20.000+00:00",
    });
    assert.equal(commit.title, "Begin");
    assert.notEqual(target, commit.id);
    const { body: light } = await get("/tags/v1.9");
    assert.deepEqual([light.message, light.created_at, light.target], [null, null, light.commit.id]);
  });

  test("a missing tag is not found", async () => {
    for (const name of ["nowhere", "v1.9^{}", "refs/tags/v1.9", "*"]) {
      const { status, body } = await get(`/tags/${encodeURIComponent(name)}`);
      assert.deepEqual([name, status, body], [name, 404, { message: "404 Tag Not Found" }]);
    }
    const empty = await codeOf(app, "");
    assert.deepEqual((await app.get(`${empty.path}/tags`, { token: empty.owner.token })).body, []);
  });
});
