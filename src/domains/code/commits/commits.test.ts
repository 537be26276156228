import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  type Code,
  codeOf,
  importInto,
  streamOfCommits,
  streamOfTag,
} from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

const TEN = Array.from({ length: 10 }, (_, line) => `line ${line}\n`).join("");

describe("commits", () => {
  let app: TestApp;
  let code: Code;
  /** Ids of the commits on `main`, the latest first. */
  let ids: string[];
  before(async () => {
    app = await testApp();
    const plans = [
      { message: "Begin\n\nWith a text.\n", files: { "README.md": TEN, "src/old.txt": TEN }, at: "1700000000 +0200" },
      {
        message: "Change",
        files: { "README.md": TEN.replace("line 3", "line drei") },
        author: "Bob <bob@example.com>",
      },
      { message: "Elsewhere", ref: "refs/heads/topic", from: ":1", files: { "topic.txt": "t\n" } },
      {
        message: "Move",
        removed: ["src/old.txt"],
        files: { "src/new.txt": `${TEN}more\n`, "x.bin": Buffer.of(0, 1, 2) },
      },
      {
        message: "Merge\n\nReviewed-by: Carol\nCo-authored-by: Dan\nCo-authored-by: Eve\n",
        merge: ":3",
        files: { "topic.txt": "t\n" },
      },
    ];
    code = await codeOf(app, Buffer.concat([streamOfCommits(plans), streamOfTag("v1", ":2", "First")]));
    const { body } = await get("/commits?first_parent=true");
    ids = body.map(({ id }: { id: string }) => id);
  });
  after(() => app.close());

  const get = (path: string) => app.get(`${code.path}${path}`, { token: code.owner.token });
  const titles = async (query: string) =>
    (await get(`/commits?${query}`)).body.map(({ title }: { title: string }) => title);

  test("commits are listed latest first, without a total", async () => {
    const { status, body, headers } = await get("/commits?per_page=2");
    assert.equal(status, 200);
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith("x-total")),
      [],
    );
    assert.equal(headers["x-next-page"], "2");
    assert.match(headers["link"] ?? "", /rel="next".*rel="first"/);
    assert.equal(/rel="last"/.test(headers["link"] ?? ""), false);
    assert.equal(body.length, 2);
    assert.deepEqual(
      (await get("/commits?per_page=2&page=3")).body.map(({ title }: { title: string }) => title),
      ["Begin"],
    );
    assert.deepEqual((await get("/commits?page=90000000000000")).body, []);
  });

  test("a commit has the fields that clients read", async () => {
    const { body } = await get(`/commits/${ids.at(-1)}`);
    assert.deepEqual(body, {
      id: ids.at(-1),
      short_id: ids.at(-1)?.slice(0, 8),
      created_at: "2023-11-15T00:13:20.000+02:00",
      parent_ids: [],
      title: "Begin",
      message: "Begin\n\nWith a text.\n",
      author_name: "Ada Lovelace",
      author_email: "ada@example.com",
      authored_date: "2023-11-15T00:13:20.000+02:00",
      committer_name: "Ada Lovelace",
      committer_email: "ada@example.com",
      committed_date: "2023-11-15T00:13:20.000+02:00",
      trailers: {},
      extended_trailers: {},
      web_url: `${code.project.web_url}/-/commit/${ids.at(-1)}`,
      stats: { additions: 20, deletions: 0, total: 20 },
      status: null,
      project_id: code.project.id,
      last_pipeline: null,
    });
    for (const name of ["main", "topic", "v1", "refs/heads/main", "refs/tags/v1", ids[0]?.slice(0, 7) ?? ""]) {
      assert.equal((await get(`/commits/${encodeURIComponent(name)}`)).status, 200, name);
    }
    assert.equal("stats" in (await get("/commits/main?stats=false")).body, false);
  });

  test("filters narrow the list", async () => {
    assert.deepEqual(await titles("path=README.md"), ["Change", "Begin"]);
    assert.deepEqual(await titles("path=src"), ["Move", "Begin"]);
    assert.deepEqual(await titles("path=nowhere"), []);
    assert.deepEqual(await titles("path=../x"), []);
    assert.deepEqual(await titles("author=bob@"), ["Change"]);
    assert.deepEqual(await titles("author=.*"), []);
    assert.deepEqual(await titles("ref_name=topic"), ["Elsewhere", "Begin"]);
    assert.deepEqual(await titles("ref_name=v1"), ["Change", "Begin"]);
    assert.deepEqual(await titles("until=2023-11-14T22:13:20Z"), ["Begin"]);
    assert.equal((await titles("since=2023-11-14T22:13:21Z")).includes("Begin"), false);
    assert.equal((await titles("all=true")).length, 5);
    assert.equal((await titles("order=topo")).at(-1), "Begin");
    assert.deepEqual(await titles("first_parent=true"), ["Merge", "Move", "Change", "Begin"]);
  });

  test("stats and trailers are included on request", async () => {
    const { body } = await get("/commits?with_stats=true&trailers=true&first_parent=true");
    assert.deepEqual(
      body.map(({ stats }: { stats: { additions: number; deletions: number } }) => [stats.additions, stats.deletions]),
      [
        [1, 0],
        [1, 0],
        [1, 1],
        [20, 0],
      ],
    );
    assert.deepEqual(body[0].trailers, { "Reviewed-by": "Carol", "Co-authored-by": "Eve" });
    assert.deepEqual(body[0].extended_trailers, { "Reviewed-by": ["Carol"], "Co-authored-by": ["Dan", "Eve"] });
    assert.deepEqual((await get("/commits")).body[0].trailers, {});
  });

  test("the diff of a commit lists its files", async () => {
    const { body, headers } = await get(`/commits/${ids[1]}/diff`);
    assert.equal(headers["x-total"], "2");
    const [moved, binary] = body;
    assert.deepEqual(moved, {
      diff: "@@ -8,3 +8,4 @@ line 6\n line 7\n line 8\n line 9\n+more\n",
      new_path: "src/new.txt",
      old_path: "src/old.txt",
      a_mode: "100644",
      b_mode: "100644",
      new_file: false,
      renamed_file: true,
      deleted_file: false,
      generated_file: null,
      collapsed: false,
      too_large: false,
    });
    assert.deepEqual([binary.new_path, binary.new_file, binary.a_mode], ["x.bin", true, "000000"]);
    assert.equal(binary.diff, "Binary files /dev/null and b/x.bin differ\n");
    const page = await get(`/commits/${ids[1]}/diff?per_page=1&page=2`);
    assert.deepEqual(page.body, [binary]);
    const { body: first } = await get(`/commits/${ids.at(-1)}/diff?unidiff=true`);
    assert.match(first[0].diff, /^--- \/dev\/null\n\+\+\+ b\/README\.md\n@@ -0,0 \+1,10 @@\n\+line 0\n/);
    // A merge is compared with its first parent.
    assert.deepEqual(
      (await get(`/commits/${ids[0]}/diff`)).body.map(({ new_path }: { new_path: string }) => new_path),
      ["topic.txt"],
    );
  });

  test("the text of a large diff is left out and marked", async () => {
    const line = "x".repeat(100);
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [`f${String(at).padStart(2, "0")}`, `${line}\n`.repeat(1900)]),
    );
    const files = { ...many, "a-huge": `${line}\n`.repeat(3000), "a-line": "y".repeat(5_000_000), "z-last": "z\n" };
    const stream = streamOfCommits([{ ref: "refs/heads/large", message: "Large", files }]);
    await importInto(code.repository, stream);
    const { body } = await get("/commits/large/diff?per_page=100");
    const named = (name: string) => body.find(({ new_path }: { new_path: string }) => new_path === name);
    for (const name of ["a-huge", "a-line"]) assert.deepEqual([named(name).too_large, named(name).diff], [true, ""]);
    assert.equal(named("f00").diff.length > 100_000, true);
    assert.deepEqual([named("f29").collapsed, named("f29").diff], [true, ""]);
    assert.deepEqual([named("z-last").collapsed, named("z-last").too_large], [true, false]);
    assert.equal(JSON.stringify(body).length < 6_000_000, true);
  });

  test("refs, sequence and signature of a commit", async () => {
    const { body } = await get(`/commits/${ids[2]}/refs`);
    assert.deepEqual(body, [
      { type: "branch", name: "main" },
      { type: "tag", name: "v1" },
    ]);
    assert.deepEqual((await get(`/commits/${ids[2]}/refs?type=tag`)).body, [{ type: "tag", name: "v1" }]);
    assert.deepEqual((await get(`/commits/${ids[2]}/refs?per_page=1&page=2`)).body, [{ type: "tag", name: "v1" }]);
    assert.deepEqual((await get("/commits/main/sequence")).body, { count: 5 });
    assert.deepEqual((await get("/commits/main/sequence?first_parent=true")).body, { count: 4 });
    const { status, body: none } = await get("/commits/main/signature");
    assert.deepEqual([status, none], [404, { message: "404 Signature Not Found" }]);
  });

  test("a missing commit is not found, and an empty repository has no commits", async () => {
    for (const path of [
      "/commits/nowhere",
      "/commits/nowhere/diff",
      "/commits/nowhere/refs",
      "/commits?ref_name=nowhere",
    ]) {
      assert.deepEqual([path, (await get(path)).body], [path, { message: "404 Commit Not Found" }]);
    }
    for (const name of ["main~1", "main^", "@", "main@{1}", ":/Begin", "^main", "abc", "0".repeat(40), "-n1"]) {
      assert.deepEqual([name, (await get(`/commits/${encodeURIComponent(name)}`)).status], [name, 404]);
    }
    const empty = await codeOf(app, "");
    const { status, body } = await app.get(`${empty.path}/commits`, { token: empty.owner.token });
    assert.deepEqual([status, body], [200, []]);
    assert.deepEqual((await app.get(`${empty.path}/commits?all=true`, { token: empty.owner.token })).body, []);
  });

  test("other encodings and malformed signatures do not break the answer", async () => {
    const text = Buffer.concat([
      Buffer.from("commit refs/heads/latin\nauthor Jos\xe9 <jose@example.com> 1700000000 -0330\n", "latin1"),
      Buffer.from("committer Nobody <> 1700000000 +0000\nencoding ISO-8859-1\ndata 5\nol\xe9!\n\n", "latin1"),
      Buffer.from("commit refs/heads/broken\nauthor \xff <x@example.com> 99999999999999 +0000\n", "latin1"),
      Buffer.from("committer Nobody <> 0 +0000\ndata 3\n\xff\xfe!\n\n", "latin1"),
    ]);
    await importInto(code.repository, text);
    const { body: latin } = await get("/commits/latin");
    assert.deepEqual(
      [latin.author_name, latin.title, latin.authored_date],
      ["José", "olé!", "2023-11-14T18:43:20.000-03:30"],
    );
    const { status, body: broken } = await get("/commits/broken");
    assert.deepEqual([status, broken.title, broken.author_name], [200, "\uFFFD\uFFFD!", "\uFFFD"]);
  });
});
