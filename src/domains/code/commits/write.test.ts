import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { gitOutput } from "#test/support/git.ts";
import { listen } from "#test/support/wire.ts";
import { testRepository, type TestRepository, messageOf } from "./test-support.ts";

const create = (file_path: string, content = "", more = {}) => ({ action: "create", file_path, content, ...more });
const update = (file_path: string, content: string, more = {}) => ({ action: "update", file_path, content, ...more });
const ON_A_BRANCH = "You can only create or edit files when you are on a branch";

describe("creating commits", () => {
  let app: TestApp;
  let repository: TestRepository;
  before(async () => (app = await testApp()));
  beforeEach(async () => (repository = await testRepository(app)));
  after(() => app.close());

  test("the first commit creates the branch, one event and one audit row", async () => {
    const { developer } = repository;
    const made = await repository.commit({
      commit_message: "Begin\n\nall of it",
      author_name: "Grace\n<Hopper>",
      actions: [
        create("README.md", "# Harbour\n"),
        create("bin/run", Buffer.from([0, 1, 255]).toString("base64"), { encoding: "base64", execute_filemode: true }),
      ],
    });
    assert.equal(made.status, 201, made.text);
    const { id, stats, parent_ids, ...rest } = made.body;
    assert.equal(await repository.ask("rev-parse", "refs/heads/main"), id);
    assert.deepEqual([rest.title, rest.message, parent_ids], ["Begin", "Begin\n\nall of it", []]);
    assert.deepEqual([rest.author_name, rest.author_email], ["GraceHopper", developer.email]);
    assert.deepEqual([rest.committer_name, rest.committer_email], [`Name of ${developer.username}`, developer.email]);
    assert.deepEqual(stats, { additions: 1, deletions: 0, total: 1 });
    assert.equal(await repository.ask("cat-file", "-s", `${id}:bin/run`), "3");
    assert.match(await repository.ask("ls-tree", id, "bin/"), /^100755 /);
    const who = { author_id: developer.id };
    const event = { push_action: "created", ref_type: "branch", ref: "main", commit_from: null, commit_to: id };
    assert.deepEqual(await repository.events(), [{ ...event, commit_count: 1, ...who }]);
    const entity = { actor_id: developer.id, entity_type: "Project", entity_id: repository.id };
    const details = { branch: "main", commit_id: id };
    assert.deepEqual(await repository.audited(made), [{ event: "commit_created", ...entity, details }]);
    await repository.assertSound();
  });

  test("actions of every kind are applied in order as one commit", async () => {
    const first = await repository.put({ a: "1\n", "b/c": "2\n", d: "3\n", e: "4\n" });
    const made = await repository.commit({
      stats: false,
      author_email: "grace@example.com",
      actions: [
        update("a", "11\n"),
        { action: "move", file_path: "b/moved", previous_path: "b/c" },
        { action: "move", file_path: "f", previous_path: "d", content: "33\n" },
        { action: "chmod", file_path: "e", execute_filemode: true },
        create("new", ""),
        { action: "delete", file_path: "f" },
      ],
    });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(made.body.parent_ids, [first]);
    assert.equal(made.body.author_email, "grace@example.com");
    assert.equal("stats" in made.body, false);
    const tree = await repository.ask("ls-tree", "-r", "--format=%(objectmode) %(path)", made.body.id);
    assert.deepEqual(tree.split("\n"), ["100644 a", "100644 b/moved", "100755 e", "100644 new"]);
    assert.deepEqual((await repository.events()).at(-1)?.push_action, "pushed");
    await repository.assertSound();
  });

  test("commits have the commit email of the account", async () => {
    const { developer } = repository;
    const change = (commit_email: string | null) =>
      sql`update users set commit_email = ${commit_email} where id = ${developer.id}`.execute(app.services.db.write);
    await change("_private");
    const { body: hidden } = await repository.commit({ actions: [create("a")] });
    assert.equal(hidden.author_email, `${developer.id}-${developer.username}@users.noreply.localhost`);
    await change("work@example.com");
    const { body: chosen } = await repository.commit({ actions: [create("b")], author_name: "Grace" });
    assert.deepEqual(
      [chosen.author_name, chosen.author_email, chosen.committer_email],
      ["Grace", "work@example.com", "work@example.com"],
    );
  });

  test("a branch starts at another branch, at a commit, or at its own head", async () => {
    const first = await repository.put({ a: "1" });
    const begin = (payload: object) => repository.commit({ actions: [create("new")], ...payload });
    assert.deepEqual(messageOf(await begin({ branch: "feature" })), [400, ON_A_BRANCH]);
    const feature = await begin({ branch: "feature", start_branch: "main" });
    assert.deepEqual(feature.body.parent_ids, [first]);
    const second = await repository.put({ b: "2" });
    const older = await begin({ branch: "older", start_sha: first.slice(0, 10), start_project: repository.id });
    assert.deepEqual(older.body.parent_ids, [first]);
    const same = await begin({ branch: "main", start_branch: "main" });
    assert.deepEqual(same.body.parent_ids, [second]);

    assert.deepEqual(messageOf(await begin({ branch: "older", start_branch: "main" })), [
      400,
      "A branch called 'older' already exists",
    ]);
    const forced = await begin({ branch: "older", start_branch: "feature", force: true, actions: [create("x")] });
    assert.deepEqual(forced.body.parent_ids, [feature.body.id]);

    for (const [start, problem] of [
      [{ start_branch: "none" }, /^The start of the branch/],
      [{ start_branch: "a..b" }, /^The start of the branch/],
      [{ start_sha: "f".repeat(40) }, /^The start of the branch/],
      [{ start_sha: "main@{1}" }, /^The start of the branch/],
      [{ start_branch: "main", start_sha: first }, /mutually exclusive/],
      [{ start_branch: "main", start_project: 1 }, /start_project can only be/],
      [{ start_branch: "main", start_project: "no/such" }, /start_project can only be/],
    ] as const) {
      const [status, message] = messageOf(await begin({ branch: "other", ...start }));
      assert.equal(status, 400);
      assert.match(message, problem);
    }
    await repository.assertSound();
  });

  test("only a Maintainer may force the default branch", async () => {
    const first = await repository.put({ a: "1" });
    await repository.put({ b: "2" });
    const back = { start_sha: first, force: true, actions: [create("c")] };
    assert.equal((await repository.commit(back)).status, 403);
    const moved = await repository.commit(back, repository.owner);
    assert.deepEqual(moved.body.parent_ids, [first]);
  });

  test("an edit is refused if the file has changed since last_commit_id", async () => {
    const first = await repository.put({ a: "1", b: "2" });
    const change = (action: object) => repository.commit({ actions: [action] });
    assert.equal((await change(update("a", "11", { last_commit_id: first }))).status, 201);
    const stale = [400, "The file has changed since you started editing it"];
    assert.deepEqual(messageOf(await change(update("a", "111", { last_commit_id: first }))), stale);
    assert.deepEqual(messageOf(await change(update("a", "111", { last_commit_id: "none" }))), stale);
    const made = await change(create("new", "", { last_commit_id: "none" }));
    assert.equal(made.status, 201, "a new file has no last commit");
    const move = { action: "move", file_path: "c", previous_path: "a", last_commit_id: first };
    assert.deepEqual(messageOf(await change(move)), stale);
    assert.equal(
      (await change({ action: "delete", file_path: "b", last_commit_id: first })).status,
      201,
      "b is as it was",
    );
  });

  test("an invalid commit is refused with the reason and changes nothing", async () => {
    const first = await repository.put({ a: "1", "d/e": "2" });
    const cases: [RegExp, object][] = [
      [/^A file with this name already exists$/, create("a")],
      [/^A file with this name doesn't exist$/, update("none", "")],
      [/^A file with this name doesn't exist$/, { action: "delete", file_path: "d" }],
      [/^A directory with this name already exists$/, create("d")],
      [/^A file stands where the path has a directory$/, create("a/b")],
      [/^file_path cannot include directory traversal$/, create("../x")],
      [/^file_path has an empty part$/, create("/x")],
      [/^file_path has a part that stands for git's own directory$/, create("x/.GIT/config")],
      [/^actions\[0\]\[content\] is missing$/, { action: "create", file_path: "x" }],
      [/^actions\[0\]\[content\] is invalid$/, create("x", "%%%", { encoding: "base64" })],
      [/^actions\[0\]\[previous_path\] is missing$/, { action: "move", file_path: "x" }],
      [/^actions\[0\]\[execute_filemode\] is missing$/, { action: "chmod", file_path: "a" }],
      [/^actions\[0\]\[action\] does not have a valid value$/, { action: "link", file_path: "x" }],
      [/^actions\[0\]\[file_path\] is missing$/, { action: "delete" }],
      [/^\.gitmodules would run a command$/, create(".gitmodules", '[submodule "x"]\n\tupdate = !sh\n')],
    ];
    for (const [problem, action] of cases) {
      const [status, message] = messageOf(await repository.commit({ actions: [action] }));
      assert.equal(status, 400, message);
      assert.match(message, problem);
    }
    for (const branch of ["HEAD", "a..b", "-x", "x.lock", "a b", "f".repeat(40), "refs/heads/x", "x/", "@"]) {
      const answer = await repository.commit({ branch, start_branch: "main", actions: [create("x")] });
      assert.deepEqual(messageOf(answer), [400, "Branch name is invalid"], branch);
    }
    assert.deepEqual(messageOf(await repository.commit({ actions: [] })), [400, "actions is empty"]);
    assert.deepEqual(messageOf(await repository.commit({})), [400, "actions is missing"]);
    assert.equal(await repository.ask("for-each-ref"), `${first} commit\trefs/heads/main`);
    assert.equal((await repository.events()).length, 1);
  });

  test("git fetches commits of the API", async () => {
    await repository.put({ "docs/ä.md": "# Harbour\n" });
    const copy = await mkdtemp(join(tmpdir(), "fairlead-copy-"));
    const address = `http://x:${repository.developer.token}@localhost:${await listen(app)}/${repository.path}.git`;
    try {
      await gitOutput(["clone", "--quiet", address, "copy"], { cwd: copy });
      assert.equal(await readFile(join(copy, "copy/docs/ä.md"), "utf8"), "# Harbour\n");
    } finally {
      await rm(copy, { recursive: true });
    }
  });

  test("only users who may push create commits, and only where pushing is possible", async () => {
    const { owner, reporter } = repository;
    const actions = [create("x")];
    assert.equal((await repository.commit({ actions }, reporter)).status, 403);
    assert.equal((await repository.commit({ actions }, await app.makeUser())).status, 404);
    const { db } = app.services;
    await sql`insert into repositories (project_id, read_only_until) values (${repository.id}, now() + interval '1 hour')
      on conflict (project_id) do update set read_only_until = excluded.read_only_until`.execute(db.write);
    const sentence = "The repository is temporarily read-only. Please try again later.";
    assert.deepEqual(messageOf(await repository.commit({ actions }, owner)), [403, sentence]);
    await sql`update repositories set read_only_until = null where project_id = ${repository.id}`.execute(db.write);
    await app.post(`/projects/${repository.id}/archive`, { token: owner.token });
    assert.equal((await repository.commit({ actions }, owner)).status, 403);
    assert.deepEqual(await repository.events(), []);
  });

  test("concurrent commits of two processes all succeed, each on top of another", async () => {
    await repository.put({ a: "1" });
    const other = await testApp({ env: { FAIRLEAD_DATA_DIR: app.services.config.dataDir } });
    const names = Array.from({ length: 8 }, (_, n) => `file-${n}`);
    const answers = await Promise.all(
      names.map((name, n) => {
        const payload = { branch: "main", commit_message: "Work", actions: [create(name, name)] };
        return (n % 2 ? app : other).post(`${repository.base}/commits`, { token: repository.developer.token, payload });
      }),
    );
    await other.close();
    for (const { status, text } of answers) assert.equal(status, 201, text);
    assert.equal(await repository.ask("rev-list", "--count", "--first-parent", "main"), "9");
    const listed = await repository.ask("ls-tree", "--name-only", "main");
    assert.deepEqual(listed.split("\n"), ["a", ...names]);
    assert.equal((await repository.events()).length, 9);

    const same = await Promise.all([1, 2, 3].map(() => repository.commit({ actions: [create("same")] })));
    assert.deepEqual(
      same.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 400, 400],
    );
    await repository.assertSound();
  });

  test("a body may have 20 MiB, also as a form", async () => {
    const content = "x".repeat(3 * 1024 * 1024);
    const large = await repository.commit({ actions: [create("large", content)] });
    assert.equal(large.status, 201, large.text.slice(0, 200));
    assert.equal(await repository.ask("cat-file", "-s", "main:large"), String(content.length));
    const tooLarge = await repository.commit({ actions: [create("larger", "x".repeat(21 * 1024 * 1024))] });
    assert.equal(tooLarge.status, 413);
    const many = Array.from({ length: 1001 }, (_, n) => create(`many/${n}`));
    assert.deepEqual(messageOf(await repository.commit({ actions: many })), [
      400,
      "actions is too long (maximum is 1000 items)",
    ]);
    assert.equal((await repository.commit({ actions: many.slice(1) })).status, 201);

    const form = new URLSearchParams({ branch: "main", commit_message: "As a form" });
    for (const [name, value] of [
      ["action", "create"],
      ["file_path", "form/ä b"],
      ["content", "eA==\n"],
      ["encoding", "base64"],
    ] as const)
      form.append(`actions[][${name}]`, value);
    form.append("actions[][action]", "delete");
    form.append("actions[][file_path]", "large");
    const sent = await app.post(`${repository.base}/commits`, {
      token: repository.developer.token,
      payload: form.toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    assert.equal(sent.status, 201, sent.text);
    assert.equal(await repository.ask("cat-file", "blob", "main:form/ä b"), "x");
    await repository.assertSound();
  });
});
