import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Code, codeOf, importInto, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

describe("trees and blobs", () => {
  let app: TestApp;
  let code: Code;
  before(async () => {
    app = await testApp();
    code = await codeOf(
      app,
      streamOfCommits([
        {
          message: "Begin",
          files: {
            "README.md": "# Harbour\n",
            "b.txt": "b",
            "docs/guide.md": "guide",
            "docs/deep/er/x.txt": "x",
            "a-z": "sorted around a directory of the same beginning",
            "a/one": "1",
            "a/two": "2",
            "bin/run": "#!/bin/sh\n",
          },
          executable: ["bin/run"],
        },
      ]),
    );
  });
  after(() => app.close());

  const get = (path: string) => app.get(`${code.path}${path}`, { token: code.owner.token });
  const paths = (body: { path: string }[]) => body.map(({ path }) => path);

  test("a directory is listed with subdirectories first", async () => {
    const { status, body, headers } = await get("/tree");
    assert.equal(status, 200);
    assert.deepEqual(paths(body), ["a", "bin", "docs", "README.md", "a-z", "b.txt"]);
    assert.deepEqual(Object.keys(body[0]), ["id", "name", "type", "path", "mode"]);
    assert.match(body[0].id, /^[0-9a-f]{40}$/);
    assert.deepEqual({ ...body[0], id: "" }, { id: "", name: "a", type: "tree", path: "a", mode: "040000" });
    assert.equal(body[3].mode, "100644");
    assert.equal(headers["x-total"], "6");
  });

  test("a subdirectory is listed by its path, with or without surrounding slashes", async () => {
    for (const path of ["docs", "docs/", "/docs"]) {
      const { body } = await get(`/tree?path=${encodeURIComponent(path)}&ref=main`);
      assert.deepEqual(paths(body), ["docs/deep", "docs/guide.md"]);
    }
    assert.equal((await get("/tree?path=bin")).body[0].mode, "100755");
  });

  const EVERYTHING = [
    ...["README.md", "a-z", "a", "a/one", "a/two", "b.txt", "bin", "bin/run"],
    ...["docs", "docs/deep", "docs/deep/er", "docs/deep/er/x.txt", "docs/guide.md"],
  ];

  test("offset and keyset paging list the subtree in the same order", async () => {
    const { body, headers } = await get("/tree?recursive=true");
    assert.deepEqual(paths(body), EVERYTHING);
    assert.equal(headers["x-total"], "13");
    for (const perPage of [1, 2, 3, 13, 20]) {
      assert.deepEqual(await allByPosition(`/tree?recursive=true&pagination=keyset&per_page=${perPage}`), EVERYTHING);
    }
    assert.deepEqual(await allByPosition("/tree?pagination=keyset&per_page=2"), [
      "a",
      "bin",
      "docs",
      "README.md",
      "a-z",
      "b.txt",
    ]);
    const below = await allByPosition("/tree?path=docs&recursive=true&pagination=keyset&per_page=1");
    assert.deepEqual(below, EVERYTHING.slice(9));
  });

  async function allByPosition(first: string): Promise<string[]> {
    const found: string[] = [];
    let next: string | undefined = `/api/v4${code.path}${first}`;
    for (let pages = 0; next !== undefined && pages < 20; pages++) {
      const { body, headers } = await app.get(next, { token: code.owner.token });
      assert.equal(headers["x-total"], undefined);
      found.push(...paths(body));
      next = /<http:\/\/localhost([^>]+)>; rel="next"/.exec(headers["link"] ?? "")?.[1];
    }
    return found;
  }

  test("a missing path or ref is not found", async () => {
    assert.deepEqual((await get("/tree?ref=nowhere")).body, { message: "404 Tree Not Found" });
    assert.deepEqual((await get("/tree?path=nowhere")).body, { message: "404 invalid revision or path Not Found" });
    assert.equal((await get("/tree?path=README.md")).status, 404);
    assert.equal((await get("/tree?path=docs/../a")).status, 404);
    assert.equal((await get("/tree?pagination=keyset&page_token=gone")).status, 400);
    assert.equal((await get("/tree?recursive=true&page=501&per_page=100")).status, 405);
  });

  test("an empty repository has no tree", async () => {
    const empty = await codeOf(app, "");
    const { status, body } = await app.get(`${empty.path}/tree`, { token: empty.owner.token });
    assert.deepEqual([status, body], [404, { message: "404 Tree Not Found" }]);
  });

  test("a blob is returned in JSON and raw", async () => {
    const { body: entries } = await get("/tree");
    const { id } = entries.find(({ name }: { name: string }) => name === "README.md");
    const { body } = await get(`/blobs/${id}`);
    assert.deepEqual(body, { size: 10, encoding: "base64", content: "IyBIYXJib3VyCg==", sha: id });
    const raw = await get(`/blobs/${id}/raw`);
    assert.equal(raw.text, "# Harbour\n");
    assert.equal(raw.headers["content-type"], "text/plain; charset=utf-8");
    assert.match(raw.headers["content-disposition"] ?? "", /^attachment; /);
    for (const wrong of [entries[0].id, "0".repeat(40), "main", "HEAD"]) {
      assert.deepEqual((await get(`/blobs/${wrong}`)).body, { message: "404 Blob Not Found" });
    }
  });

  test("names that are not UTF-8 are presented with U+FFFD and found by it", async () => {
    const odd = Buffer.from("commit refs/heads/odd\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n");
    const file = Buffer.from('M 100644 inline "caf\\351/\\377.txt"\ndata 3\nodd\n\n');
    await importInto(code.repository, Buffer.concat([odd, file]));
    const { body } = await get("/tree?ref=odd&recursive=true");
    assert.deepEqual(paths(body), ["caf\uFFFD", "caf\uFFFD/\uFFFD.txt"]);
    const path = encodeURIComponent(body[1].path);
    assert.equal((await get(`/files/${path}/raw?ref=odd`)).text, "odd");
    assert.equal((await get(`/files/${path}?ref=odd`)).body.content, "b2Rk");
    const { body: listed } = await get("/tree?ref=odd&path=caf%EF%BF%BD");
    assert.deepEqual(paths(listed), ["caf\uFFFD/\uFFFD.txt"]);
  });
});
