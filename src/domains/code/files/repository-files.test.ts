import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { gitOutput } from "#test/support/git.ts";
import { type Code, codeOf, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

const LARGE = randomBytes(11 * 1024 * 1024);

describe("files of a repository", () => {
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
            "package.json": "{}\n",
            "src/é ü/日本.txt": "ahoy\n",
            "page.html": "<script>alert(1)</script>",
            "odd\\nname": "two lines",
            "bin/run": "#!/bin/sh\n",
            "binary.bin": Buffer.of(0, 1, 2, 255),
            "middle.bin": LARGE.subarray(0, 2 * 1024 * 1024),
            "large.bin": LARGE,
          },
          executable: ["bin/run"],
        },
        { message: "Second", files: { "other.txt": "1\n2\n3\n", empty: "" } },
        { message: "Third", files: { "other.txt": "1\nzwei\n3" }, author: "Bob <bob@example.com>" },
      ]),
    );
  });
  after(() => app.close());

  const get = (path: string, headers = {}) =>
    app.get(`${code.path}/files/${path}`, { token: code.owner.token, headers });

  test("a file has the fields that clients read", async () => {
    const { status, body } = await get("README.md?ref=main");
    assert.equal(status, 200);
    const { body: commits } = await app.get(`${code.path}/commits`, { token: code.owner.token });
    assert.deepEqual(body, {
      file_name: "README.md",
      file_path: "README.md",
      size: 10,
      encoding: "base64",
      content_sha256: createHash("sha256").update("# Harbour\n").digest("hex"),
      ref: "main",
      blob_id: await gitOutput(["hash-object", "--stdin"], { cwd: "/", input: "# Harbour\n" }),
      commit_id: commits[0].id,
      last_commit_id: commits[2].id,
      execute_filemode: false,
      content: "IyBIYXJib3VyCg==",
    });
    assert.equal((await get("bin%2Frun?ref=main")).body.execute_filemode, true);
    assert.equal((await get("README.md?ref=HEAD")).body.commit_id, commits[0].id);
    assert.equal((await get(`README.md?ref=${commits[1].id.slice(0, 8)}`)).body.commit_id, commits[1].id);
  });

  test("HEAD returns the same fields in headers", async () => {
    const address = `${code.path}/files/src%2F%C3%A9%20%C3%BC%2F%E6%97%A5%E6%9C%AC.txt?ref=main`;
    const { status, headers } = await app.call("HEAD", address, { token: code.owner.token });
    const { body } = await app.get(address, { token: code.owner.token });
    assert.equal(status, 200);
    const names = ["file_name", "file_path", "size", "encoding", "ref", "blob_id", "commit_id", "last_commit_id"];
    for (const name of [...names, "execute_filemode", "content_sha256"]) {
      const value = decodeURIComponent(headers[`x-gitlab-${name.replaceAll("_", "-")}`] ?? "");
      assert.equal(value, String(body[name]), name);
    }
  });

  test("a file name may end in .json", async () => {
    assert.equal((await get("package.json?ref=main")).body.file_path, "package.json");
    assert.equal((await get("package.json/raw?ref=main")).text, "{}\n");
  });

  test("a raw file is never served as something that a browser runs", async () => {
    const { text, headers } = await get("page.html/raw?ref=main");
    assert.equal(text, "<script>alert(1)</script>");
    assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["content-disposition"], `attachment; filename="page.html"; filename*=UTF-8''page.html`);
    assert.equal(headers["x-gitlab-file-path"], "page.html");
    assert.equal((await get("binary.bin/raw")).headers["content-type"], "application/octet-stream");
    const again = await get("page.html/raw?ref=main", { "if-none-match": headers["etag"] ?? "" });
    assert.deepEqual([again.status, again.text], [304, ""]);
    assert.equal(again.headers["etag"], headers["etag"]);
    assert.equal((await get("odd%0Aname/raw")).text, "two lines");
  });

  test("a large file is streamed raw, and refused in JSON with its size in the headers", async () => {
    for (const [name, size] of [
      ["middle.bin", 2 * 1024 * 1024],
      ["large.bin", LARGE.length],
    ] as const) {
      const { rawPayload, headers } = await app.app.inject({
        url: `/api/v4${code.path}/files/${name}/raw`,
        headers: { host: "localhost", "private-token": code.owner.token },
      });
      assert.equal(headers["content-length"], String(size));
      assert.ok(rawPayload.equals(LARGE.subarray(0, size)));
    }
    const { status, body, headers } = await get("large.bin?ref=main");
    assert.equal(status, 413);
    assert.match(body.message, /raw/);
    assert.equal(headers["x-gitlab-size"], String(LARGE.length));
    assert.equal((await get("middle.bin?ref=main")).body.size, 2 * 1024 * 1024);
  });

  test("blame returns lines with their commits", async () => {
    const blame = async (query: string) =>
      (await get(`other.txt/blame?ref=main${query}`)).body.map(
        ({ commit, lines }: { commit: { message: string }; lines: string[] }) => [commit.message, ...lines],
      );
    assert.deepEqual(await blame(""), [
      ["Second", "1"],
      ["Third", "zwei", "3"],
    ]);
    assert.deepEqual(await blame("&range[start]=2&range[end]=2"), [["Third", "zwei"]]);
    assert.deepEqual(await blame("&range[start]=3&range[end]=99"), [["Third", "3"]]);
    const { body } = await get("other.txt/blame?ref=main");
    assert.deepEqual(Object.keys(body[1].commit).toSorted(), [
      ...["author_email", "author_name", "authored_date", "committed_date", "committer_email", "committer_name"],
      ...["id", "message", "parent_ids"],
    ]);
    assert.equal(body[1].commit.author_email, "bob@example.com");
    assert.deepEqual((await get("empty/blame?ref=main")).body, []);
    for (const range of ["[start]=9&range[end]=9", "[start]=2&range[end]=1", "[start]=0&range[end]=1", "[start]=1"]) {
      assert.equal((await get(`other.txt/blame?ref=main&range${range}`)).status, 400, range);
    }
    assert.equal((await get("large.bin/blame?ref=main")).status, 413);
    assert.deepEqual((await get("nowhere/blame?ref=main")).body, { message: "404 File Not Found" });
  });

  test("a missing file or ref is not found", async () => {
    assert.deepEqual((await get("README.md?ref=nowhere")).body, { message: "404 Commit Not Found" });
    for (const path of ["nowhere", "bin", "bin%2F", "..%2Fconfig", "bin%2F..%2FREADME.md", "README.md%2Fx"]) {
      const { status, body } = await get(`${path}?ref=main`);
      assert.deepEqual([path, status, body], [path, 404, { message: "404 File Not Found" }]);
    }
    for (const ref of [
      "main@{0}",
      "main^",
      "main~1",
      ":/Begin",
      "main:bin",
      "main..main",
      "-1",
      "--all",
      "HEAD^{tree}",
    ]) {
      const { status } = await get(`README.md?ref=${encodeURIComponent(ref)}`);
      assert.deepEqual([ref, status], [ref, 404]);
    }
  });
});
