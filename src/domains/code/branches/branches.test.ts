import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Code, codeOf, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

describe("branches", () => {
  let app: TestApp;
  let code: Code;
  before(async () => {
    app = await testApp();
    const plans = [
      { message: "Begin", files: { a: "1" } },
      { message: "Topic", ref: "refs/heads/feature/one", from: ":1", files: { b: "1" } },
      { message: "More", files: { a: "2" } },
      { message: "Late", ref: "refs/heads/release.json", from: ":1", files: { c: "1" }, at: "1800000000 +0000" },
    ];
    const resets = ["done", "Zebra"].map((name) => `reset refs/heads/${name}\nfrom :1\n\n`).join("");
    code = await codeOf(app, Buffer.concat([streamOfCommits(plans), Buffer.from(resets)]), { visibility: "public" });
  });
  after(() => app.close());

  const get = (path: string, token: string | undefined = code.owner.token) => app.get(`${code.path}${path}`, { token });
  const names = async (query: string) =>
    (await get(`/branches?${query}`)).body.map(({ name }: { name: string }) => name);

  test("branches are listed by name with their commits", async () => {
    const { body, headers } = await get("/branches");
    assert.deepEqual(
      body.map(({ name }: { name: string }) => name),
      ["Zebra", "done", "feature/one", "main", "release.json"],
    );
    assert.equal(headers["x-total"], "5");
    assert.deepEqual((await get("/branches.json")).body, body);
    const { commit, ...main } = body[3];
    assert.deepEqual(main, {
      name: "main",
      merged: false,
      protected: true,
      developers_can_push: true,
      developers_can_merge: true,
      can_push: true,
      default: true,
      web_url: `${code.project.web_url}/-/tree/main`,
    });
    assert.equal(commit.title, "More");
    const merged = body.filter(({ merged }: { merged: boolean }) => merged).map(({ name }: { name: string }) => name);
    assert.deepEqual(merged, ["Zebra", "done"]);
    const { default: isDefault, protected: isProtected, developers_can_push } = body[1];
    assert.deepEqual([isDefault, isProtected, developers_can_push], [false, false, false]);
  });

  test("branches are searched by a part of their name, and sorted", async () => {
    assert.deepEqual(await names("search=e"), ["Zebra", "done", "feature/one", "release.json"]);
    assert.deepEqual(await names("search=^z"), ["Zebra"]);
    assert.deepEqual(await names("search=/one$"), ["feature/one"]);
    assert.deepEqual(await names("search=^done$"), ["done"]);
    assert.deepEqual(await names("search=.*"), []);
    assert.equal((await names("sort=updated_desc"))[0], "release.json");
    assert.equal((await names("sort=updated_asc")).at(-1), "release.json");
    assert.equal((await get("/branches?regex=.*")).status, 400);
  });

  test("offset and keyset paging list every branch once", async () => {
    assert.deepEqual(await names("per_page=2&page=2"), ["feature/one", "main"]);
    for (const sort of ["name_asc", "updated_desc"]) {
      const found: string[] = [];
      let next: string | undefined = `/api/v4${code.path}/branches?pagination=keyset&per_page=2&sort=${sort}`;
      for (let pages = 0; next !== undefined && pages < 10; pages++) {
        const { body, headers } = await app.get(next, { token: code.owner.token });
        found.push(...body.map(({ name }: { name: string }) => name));
        next = /<http:\/\/localhost([^>]+)>; rel="next"/.exec(headers["link"] ?? "")?.[1];
      }
      assert.deepEqual(found, await names(`sort=${sort}`));
    }
  });

  test("a branch is found by its name, whatever its suffix", async () => {
    for (const name of ["main", "feature/one", "release.json"]) {
      const { status, body } = await get(`/branches/${encodeURIComponent(name)}`);
      assert.deepEqual([status, body.name], [200, name]);
      const head = await app.call("HEAD", `${code.path}/branches/${encodeURIComponent(name)}`, {
        token: code.owner.token,
      });
      assert.equal(head.status, 200);
    }
    for (const name of ["nowhere", "main^", "ma*", "refs/heads/main", "feature", "@{-1}"]) {
      const { status, body } = await get(`/branches/${encodeURIComponent(name)}`);
      assert.deepEqual([name, status, body], [name, 404, { message: "404 Branch Not Found" }]);
    }
  });

  test("can_push tells whether the caller may push", async () => {
    assert.equal((await get("/branches/main", (await app.makeUser()).token)).body.can_push, false);
    assert.equal((await app.get(`${code.path}/branches/main`)).body.can_push, false);
  });

  test("an empty repository has no branches", async () => {
    const empty = await codeOf(app, "");
    const { status, body, headers } = await app.get(`${empty.path}/branches`, { token: empty.owner.token });
    assert.deepEqual([status, body, headers["x-total"]], [200, [], "0"]);
  });
});
