import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { type Code, codeOf, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";

describe("archives", () => {
  let app: TestApp;
  let code: Code;
  before(async () => {
    app = await testApp();
    const files = {
      "README.md": "# Harbour\n",
      "docs/x": "x",
      "docs/sub/y": "y",
      "-rf": "named like an option",
      "*": "star",
    };
    code = await codeOf(app, streamOfCommits([{ message: "Begin", files }]));
  });
  after(() => app.close());

  const fetched = async (path: string) => {
    const headers = { host: "localhost", "private-token": code.owner.token };
    const {
      statusCode,
      rawPayload,
      headers: received,
    } = await app.app.inject({ url: `/api/v4${code.path}${path}`, headers });
    return {
      status: statusCode,
      bytes: rawPayload,
      type: received["content-type"],
      name: received["content-disposition"],
    };
  };

  test("an archive has all files below a directory named after project, branch and commit", async () => {
    const { status, bytes, type, name } = await fetched("/archive.tar?sha=main");
    assert.deepEqual([status, type], [200, "application/x-tar"]);
    const found = namesIn(bytes);
    const [root = ""] = found;
    assert.match(root, /-main-[0-9a-f]{40}\/$/);
    assert.match(String(name), new RegExp(`^attachment; filename="${root.slice(0, -1)}\\.tar"`));
    const below = found.map((path) => path.slice(root.length)).filter((path) => path !== "" && !path.endsWith("/"));
    assert.deepEqual(below, ["*", "-rf", "README.md", "docs/sub/y", "docs/x"]);
  });

  test("the suffix of the path selects the format", async () => {
    for (const ending of ["", ".tar.gz", ".tgz"]) {
      const { type, bytes } = await fetched(`/archive${ending}`);
      assert.equal(type, "application/gzip");
      assert.equal(namesIn(gunzipSync(bytes)).length > 5, true);
    }
    const { type, bytes } = await fetched("/archive.zip");
    assert.deepEqual([type, bytes.toString("latin1", 0, 2)], ["application/zip", "PK"]);
  });

  test("a path limits the archive, and is taken literally", async () => {
    const below = async (path: string) => {
      const { bytes } = await fetched(`/archive.tar?path=${encodeURIComponent(path)}`);
      return namesIn(bytes)
        .filter((name) => !name.endsWith("/"))
        .map((name) => name.slice(name.indexOf("/") + 1));
    };
    assert.deepEqual(await below("docs"), ["docs/sub/y", "docs/x"]);
    assert.deepEqual(await below("*"), ["*"]);
    assert.deepEqual(await below("-rf"), ["-rf"]);
  });

  test("a HEAD request leaves no git process behind", async () => {
    // More than a pipe holds, so that git waits for its reader.
    const large = await codeOf(app, streamOfCommits([{ message: "Begin", files: { x: "x".repeat(1_000_000) } }]));
    const headers = { host: "localhost", "private-token": large.owner.token };
    const url = `/api/v4${large.path}/archive.tar`;
    assert.equal((await app.app.inject({ method: "HEAD", url, headers })).statusCode, 200);
    const children = `/proc/${process.pid}/task/${process.pid}/children`;
    const archiving = async (pid: string) =>
      (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).includes("\0archive\0");
    await until("git ended", async () => {
      const pids = (await readFile(children, "utf8")).split(" ").filter((pid) => pid !== "");
      return !(await Promise.all(pids.map(archiving))).includes(true);
    });
  });

  test("a missing revision or path is not found", async () => {
    for (const query of ["sha=nowhere", "path=nowhere", "path=../x", "sha=--output=x", "sha=main:docs"]) {
      assert.deepEqual([query, (await fetched(`/archive.zip?${query}`)).status], [query, 404]);
    }
    assert.equal((await fetched("/archive.rar")).status, 404);
  });
});

/** The names in the plain headers of a tar file. */
function namesIn(tar: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at + 512 <= tar.length;) {
    const text = (from: number, length: number) =>
      tar.toString("latin1", at + from, at + from + length).replace(/\0.*$/s, "");
    if (text(0, 100) === "") break;
    if (/[05]/.test(text(156, 1))) names.push([text(345, 155), text(0, 100)].filter((part) => part !== "").join("/"));
    at += 512 + Math.ceil(Number.parseInt(text(124, 12), 8) / 512) * 512;
  }
  return names;
}
