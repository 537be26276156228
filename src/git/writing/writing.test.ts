import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { type Git, openGit } from "#git/storages/open.ts";
import { projectRepository, type Repository } from "#git/storages/storage.ts";
import { Refusal } from "#lib/refusal.ts";
import { git, gitOutput } from "#test/support/git.ts";
import { EXECUTABLE, FILE, withImporter, type NewCommit } from "./fast-import.ts";
import { pathProblem } from "./paths.ts";
import { signatureLine, signedAt } from "./signatures.ts";
import { type Action, checkActions, pathsOf, planChanges } from "./plan.ts";

const at = new Date("2026-01-02T03:04:05Z");
const ada = signedAt({ name: "Ada", email: "ada@example.com" }, at);
const text = (content: string) => Buffer.from(content);

describe("writing commits", () => {
  let dataDir: string;
  let opened: Git;
  let repository: Repository;
  let directory: string;
  let number = 0;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    opened = openGit(readConfig({ FAIRLEAD_DATA_DIR: dataDir }));
  });
  after(async () => {
    await opened.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const makeRepository = async () => {
    repository = opened.storage("default").repository(projectRepository(++number));
    directory = join(dataDir, "repositories", `${repository.name}.git`);
    await repository.create("main");
  };
  const ask = (...args: string[]) => gitOutput(args, { cwd: directory });

  const write = (fields: Partial<NewCommit>) =>
    withImporter(repository, ({ write }) =>
      write({ parent: undefined, message: "Work", author: ada, committer: ada, changes: [], ...fields }),
    );
  /** Writes a commit with these files. */
  const commitOf = (files: Record<string, string>, parent?: string) =>
    write({
      parent,
      changes: Object.entries(files).map(([path, content]) => ({ path, mode: FILE, content: text(content) })),
    });
  const perform = (parent: string, actions: readonly Action[]) =>
    withImporter(repository, async ({ entriesAt, write }) => {
      checkActions(actions);
      const changes = planChanges(actions, await entriesAt(parent, pathsOf(actions)));
      return write({ parent, message: "Work", author: ada, committer: ada, changes });
    });
  const filesOf = async (commit: string) => {
    const files: Record<string, string> = {};
    for (const line of (await ask("ls-tree", "-r", "-z", commit)).split("\0")) {
      const { mode, id, path } = /^(?<mode>\d+) \w+ (?<id>\w+)\t(?<path>.*)$/s.exec(line)?.groups ?? {};
      if (path !== undefined && id !== undefined) files[path] = `${mode} ${await ask("cat-file", "blob", id)}`;
    }
    return files;
  };
  const assertSound = async () => {
    const { code, stdout, stderr } = await git(["fsck", "--full", "--strict", "--no-dangling"], { cwd: directory });
    assert.deepEqual([code, stdout, stderr.replaceAll(/notice: .*\n/g, "")], [0, "", ""]);
    assert.equal(await ask("for-each-ref"), "", "no ref was written");
  };

  test("a first commit has exactly the given bytes, and no ref points to it", async () => {
    await makeRepository();
    const odd = 'dir/ä "quoted" name';
    const bytes = Buffer.from([0, 255, 10, 13, 0, 10]);
    const id = await write({
      message: "First\n\nwith a body",
      author: { ...ada, name: " Eve <eve>\n. ", email: "eve@\nexample.com", zone: -90 },
      changes: [
        { path: odd, mode: FILE, content: bytes },
        { path: "run", mode: EXECUTABLE, content: text("#!/bin/sh\n") },
        { path: "empty", mode: FILE, content: text("") },
      ],
    });
    assert.deepEqual(
      await ask("cat-file", "commit", id),
      [
        `tree ${await ask("rev-parse", `${id}^{tree}`)}`,
        "author Eve eve <eve@example.com> 1767323045 -0130",
        "committer Ada <ada@example.com> 1767323045 +0000",
        "",
        "First",
        "",
        "with a body",
      ].join("\n"),
    );
    assert.equal(await ask("cat-file", "-s", `${id}:${odd}`), String(bytes.length));
    assert.match(await ask("ls-tree", id, "run"), /^100755 /);
    await assertSound();
  });

  test("entries are found with their parent directories, missing ones are left out", async () => {
    await makeRepository();
    const first = await commitOf({ "a/b/c.txt": "c", "a/d": "d", "x~1y": "x" });
    const found = await withImporter(repository, ({ entriesAt }) =>
      entriesAt(first, ["a/b/c.txt", "a/b/none", "a/d/below", "x~1y", "none/at/all", "a"]),
    );
    assert.deepEqual(
      [...found].map(([path, { mode }]) => [path, mode]),
      [
        ["a", "040000"],
        ["x~1y", FILE],
        ["a/b", "040000"],
        ["a/d", FILE],
        ["a/b/c.txt", FILE],
      ],
    );
    assert.equal(found.get("a/d")?.id, await ask("rev-parse", `${first}:a/d`));
  });

  test("an action sees the result of those before it", async () => {
    await makeRepository();
    const first = await commitOf({ "a/keep": "1", "a/gone": "2", tool: "3", old: "4" });
    const second = await perform(first, [
      { action: "create", path: "new/file", content: text("n"), executable: true },
      { action: "update", path: "new/file", content: text("nn") },
      { action: "move", path: "new/old", from: "old" },
      { action: "move", path: "moved", from: "new/old", content: text("44") },
      { action: "delete", path: "a/gone" },
      { action: "chmod", path: "tool", executable: true },
      { action: "delete", path: "a/keep" },
      { action: "create", path: "a/keep/deeper", content: text("1"), executable: false },
    ]);
    assert.deepEqual(await filesOf(second), {
      "a/keep/deeper": "100644 1",
      moved: "100644 44",
      "new/file": "100755 nn",
      tool: "100755 3",
    });
    assert.equal(await ask("rev-parse", `${second}^`), first);
    await assertSound();
  });

  test("an impossible action is refused and leaves no object", async () => {
    await makeRepository();
    const first = await commitOf({ "a/b": "1", c: "2" });
    const objects = await ask("count-objects", "-v");
    const create = (path: string, content = "") =>
      ({ action: "create", path, content: text(content), executable: false }) as const;
    const exists = "A file with this name already exists";
    const missing = "A file with this name doesn't exist";
    const cases: [string, ...Action[]][] = [
      [exists, create("c")],
      [exists, create("new"), create("new")],
      [exists, { action: "move", path: "c", from: "a/b" }],
      [missing, { action: "update", path: "a", content: text("") }],
      [missing, { action: "update", path: "none", content: text("") }],
      [missing, { action: "delete", path: "c" }, { action: "delete", path: "c" }],
      [missing, { action: "move", path: "x", from: "a" }],
      [missing, { action: "chmod", path: "none", executable: true }],
      ["A directory with this name already exists", create("a")],
      ["A directory with this name already exists", create("n/x"), create("n")],
      ["A file stands where the path has a directory", create("c/d")],
      ["A file stands where the path has a directory", create("n"), create("n/x")],
      ["file_path cannot include directory traversal", create("x/../y")],
      [".gitmodules would run a command", create(".gitmodules", '[submodule "x"]\nupdate = !sh\n')],
      [".gitmodules must come with its content", { action: "move", path: ".gitmodules", from: "c" }],
    ];
    for (const [message, ...actions] of cases) {
      await assert.rejects(perform(first, actions), (error) => error instanceof Refusal && error.message === message);
    }
    assert.equal(await ask("count-objects", "-v"), objects);
  });

  test("symbolic links and submodules keep their mode", async () => {
    await makeRepository();
    const target = await commitOf({ x: "y" });
    const first = await write({
      changes: [
        { path: "link", mode: "120000", content: text("x") },
        { path: "module", mode: "160000", id: target },
      ],
    });
    const second = await perform(first, [
      { action: "update", path: "link", content: text("other") },
      { action: "move", path: "lib/module", from: "module" },
    ]);
    assert.deepEqual((await ask("ls-tree", "-r", second)).match(/^\d+ \w+/gm), ["160000 commit", "120000 blob"]);
    for (const action of [
      { action: "chmod", path: "link", executable: true },
      { action: "update", path: "module", content: text("x") },
      { action: "create", path: "link/below", content: text("x"), executable: false },
    ] as const) {
      await assert.rejects(perform(first, [action]), Refusal);
    }
    await perform(first, [{ action: "delete", path: "module" }]);
    await assertSound();
  });

  test("a thousand deep paths and a large file are written by one process", async () => {
    await makeRepository();
    const deep = (n: number) => `${"d/".repeat(90)}${n}`;
    const many = Array.from({ length: 1000 }, (_, n): Action => {
      return { action: "create", path: deep(n), content: text(String(n)), executable: false };
    });
    const first = await commitOf({ big: "x".repeat(8 * 1024 * 1024) });
    const second = await perform(first, many);
    await assert.rejects(perform(second, many), { message: "A file with this name already exists" });
    assert.equal((await ask("ls-tree", "-r", "--name-only", second)).split("\n").length, 1001);
    await assertSound();
  });

  test("files that git itself reads are accepted in a plain form only", () => {
    const problemOf = (path: string, content: string) => {
      try {
        checkActions([{ action: "create", path, content: text(content), executable: false }]);
      } catch (error) {
        return (error as Refusal).message;
      }
      return undefined;
    };
    const module = (line: string) => `[submodule "lib/x"]\n\tpath = lib/x\n\t${line}\n`;
    for (const url of ["../x.git", "./x", "https://example.com/x.git", "git@example.com:a/x.git", "ssh://git@h/x"]) {
      assert.equal(problemOf(".gitmodules", `# ours\n${module(`url = ${url}`)}`), undefined, url);
    }
    for (const line of [
      ...["url = -u./payload", "url = ../:x", "url = ..//x", "url = https://x/%0a", "url = ext::sh -c x", "url = /etc"],
      ...["path = -x", "update = !sh", 'url = "https://x"', "url = https://x\\", "[submodule", "url = ///x"],
    ]) {
      assert.ok(problemOf("sub/.gitmodules", module(line)), line);
    }
    assert.ok(problemOf(".gitmodules", '[submodule "../x"]\n'));
    assert.ok(problemOf(".gitmodules", "[core]\nsshCommand = sh\n"));
    assert.equal(problemOf(".gitattributes", "*.txt text\n"), undefined);
    assert.ok(problemOf(".gitattributes", "x".repeat(2048)));
  });
});

test("paths with another meaning on some file system are refused", () => {
  const refused = [
    ...["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/..", "a\\b", "a\0b", "a\nb", "a\u007fb"],
    ...[".git", "a/.git/config", ".GIT", ".git ", ".git.", ".git . .", ".git::$INDEX_ALLOCATION", ".git:x", "git~1"],
    ...[".g\u200cit", "\ufeff.git", ".Gi\u202et", "GIT~1", "a/git~2/x", "gi7eba~1", "g~1", "~1"],
    ...[".gitmodules ", ".GitModules", ".git\u200dmodules", "GITMOD~1", ".gitattributes.", ".gitignore:x", "maba30~1"],
    ...["x".repeat(256), "d/".repeat(100) + "x", "ä".repeat(128), `${"x".repeat(200)}/`.repeat(21)],
  ];
  for (const path of refused) assert.ok(pathProblem(path), JSON.stringify(path));
  for (const path of [
    ".gitmodules",
    ".gitignore",
    "a/.gitattributes",
    "..a",
    "a..",
    ".github/x",
    "git",
    "notes~1",
    "a b",
  ]) {
    assert.equal(pathProblem(path), undefined, path);
  }
});

test("a signature is one line with one email address", () => {
  const line = (name: string, email: string) => signatureLine(signedAt({ name, email }, at));
  const end = "1767323045 +0000";
  assert.equal(line("Ada Lovelace", "ada@example.com"), `Ada Lovelace <ada@example.com> ${end}`);
  assert.equal(line("\u0000\r\nAda\u2028 <x>; ", "<a@b>\r\nparent"), `Ada x <a@bparent> ${end}`);
  assert.equal(line("<>", "a@b"), `a@b <a@b> ${end}`);
  assert.equal(line(".,;", ""), `Unknown <> ${end}`);
  assert.equal(line("x".repeat(1000), "a@b").length, 255 + ` <a@b> ${end}`.length);
});
