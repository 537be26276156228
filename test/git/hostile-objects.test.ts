import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { git, gitOutput } from "#test/support/git.ts";
import { type Client, newClient } from "./client.ts";
import { type Installation, type Project, startInstallation } from "./installation.ts";
import { refsOf } from "./journal.ts";
import { BOMBS, bombOf, deltaBomb, objectHead, objectId, packOf, pushPack, TYPES, ZERO } from "./packs.ts";

const PERSON = "Ada <ada@example.com> 1700000000 +0000";

describe("objects that would harm clients", () => {
  let installation: Installation;
  let client: Client;
  let project: Project;
  let address: string;
  before(async () => {
    installation = await startInstallation();
    client = await newClient();
    project = await installation.createProject("Objects");
    address = installation.address(project, { username: "root", token: installation.server().token });
  });
  after(async () => {
    await installation.close();
    await client[Symbol.asyncDispose]();
  });

  /** Writes an object without the checks of git. */
  const write = async (type: string, content: Buffer | string) =>
    gitOutput(["hash-object", "-t", type, "-w", "--stdin", "--literally"], { cwd: client.directory, input: content });
  const entry = (mode: string, name: string, id: string) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]);
  const tree = (...entries: readonly Buffer[]) => write("tree", Buffer.concat(entries));
  const commit = (id: string, more = "") =>
    write("commit", `tree ${id}\nauthor ${PERSON}\ncommitter ${PERSON}\n${more}\nx\n`);
  const blob = () => write("blob", "x");
  const modules = (text: string) => write("blob", text);
  const withModules = async (text: string) => commit(await tree(entry("100644", ".gitmodules", await modules(text))));

  const named =
    (name: string, mode = "100644") =>
    async () =>
      commit(await tree(entry(mode, name, await blob())));
  const cases: Readonly<Record<string, () => Promise<string>>> = {
    "a directory .git": async () =>
      commit(await tree(entry("40000", ".git", await tree(entry("100644", "config", await blob()))))),
    "a file .git": named(".git"),
    ".GIT": named(".GIT"),
    ".giT": named(".giT"),
    "git~1, as some systems write it": named("git~1"),
    ".git with a dot behind, which some systems leave out": named(".git."),
    ".git with a space behind": named(".git "),
    ".git with a stream": named(".git::$INDEX_ALLOCATION"),
    ".git behind a backslash": named("a\\.git"),
    ".git with what cannot be seen": named(".g\u200cit"),
    "a directory .": async () =>
      commit(await tree(entry("40000", ".", await tree(entry("100644", "a", await blob()))))),
    "a directory ..": async () =>
      commit(await tree(entry("40000", "..", await tree(entry("100644", "a", await blob()))))),
    "a name with a slash": named("a/b"),
    "a link .gitmodules": named(".gitmodules", "120000"),
    "a submodule whose address is an option": () =>
      withModules('[submodule "a"]\n\tpath = a\n\turl = --upload-pack=x\n'),
    "a submodule whose address has a line feed": () =>
      withModules('[submodule "a"]\n\tpath = a\n\turl = "https://a/%0ahost=b"\n'),
    "a submodule whose path is an option": () =>
      withModules('[submodule "a"]\n\tpath = -x\n\turl = https://example.com/a\n'),
    "a submodule whose name leads out": () =>
      withModules('[submodule "../../hooks"]\n\tpath = a\n\turl = https://example.com/a\n'),
    "a submodule with a command": () =>
      withModules('[submodule "a"]\n\tpath = a\n\turl = https://example.com/a\n\tupdate = !touch x\n'),
    "one name twice": async () =>
      commit(await tree(entry("100644", "a", await blob()), entry("100644", "a", await blob()))),
    "names out of order": async () =>
      commit(await tree(entry("100644", "b", await blob()), entry("100644", "a", await blob()))),
    "a commit without its author": async () => write("commit", `tree ${await tree()}\ncommitter ${PERSON}\n\nx\n`),
    "a commit with an author of two lines": async () =>
      write("commit", `tree ${await tree()}\nauthor Ada\n <a@example.com> 1 +0000\ncommitter ${PERSON}\n\nx\n`),
    "a commit with a zero byte in its head": async () =>
      write("commit", `tree ${await tree()}\nauthor Ada\0 <ada@example.com> 1 +0000\ncommitter ${PERSON}\n\nx\n`),
  };

  for (const [what, make] of Object.entries(cases)) {
    test(`${what} is refused`, async () => {
      const id = await make();
      const ref = "refs/heads/bad";
      const { outcomes, output } = await client.push(address, [{ ref, id }]);
      assert.equal(outcomes.get(ref), "refused", output);
      assert.deepEqual(await refsOf(installation, project), new Map());
    });
  }

  test("odd but harmless objects are accepted", async () => {
    const odd: Readonly<Record<string, () => Promise<string>>> = {
      "an old mode": async () =>
        commit(await tree(entry("040000", "old", await tree(entry("100644", "a", await blob()))))),
      "a real submodule": () => withModules('[submodule "a"]\n\tpath = a\n\turl = https://example.com/a.git\n'),
      "a link": named("link", "120000"),
      "names that begin alike": named(".gitignore"),
    };
    for (const [what, make] of Object.entries(odd)) {
      const ref = `refs/heads/${what.replaceAll(" ", "-")}`;
      const { outcomes, output } = await client.push(address, [{ ref, id: await make() }]);
      assert.equal(outcomes.get(ref), "done", `${what}: ${output}`);
    }
    const found = (await installation.fsck(project)).filter((problem) => !problem.includes("zeroPaddedFilemode"));
    assert.deepEqual(found, []);
  });
});

describe("malformed packs", () => {
  const MAX_PACK_BYTES = 8 * 2 ** 20;
  let installation: Installation;
  let project: Project;
  before(async () => {
    installation = await startInstallation({ FAIRLEAD_GIT_MAX_PACK: String(MAX_PACK_BYTES) });
    project = await installation.createProject("Packs");
  });
  after(() => installation.close());

  const push = (pack: Buffer, id: string) => pushPack(installation, project, pack, id);

  test("a pack above the limit is refused, and nothing of it is stored", async () => {
    await using client = await newClient();
    const [id = ""] = await client.commits("large", 1, { bytes: 2 * MAX_PACK_BYTES });
    const address = installation.address(project, { username: "root", token: installation.server().token });
    const { outcomes, output } = await client.push(address, [{ ref: "refs/heads/large", id }]);
    assert.equal(outcomes.get("refs/heads/large"), "refused", output);
    assert.deepEqual(await refsOf(installation, project), new Map());
    const { stdout } = await git(["count-objects", "-v"], {
      cwd: installation.directory(project) ?? "",
      env: TRUSTING,
    });
    assert.match(stdout, /^count: 0$/m);
    assert.match(stdout, /^size-pack: 0$/m);
  });

  const tree = (mode: string, name: string, id: string) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]);
  const broken: Readonly<Record<string, readonly [1 | 2 | 4, Buffer]>> = {
    "a directory with an entry without a name": [2, tree("100644", "", "1".repeat(40))],
    "a directory with an entry that is nothing": [2, tree("100644", "a", ZERO)],
    "a tag of nothing": [4, Buffer.from(`type commit\ntag v1\ntagger ${PERSON}\n\nx\n`)],
    "a commit of nothing": [1, Buffer.from(`tree ${"1".repeat(40)}\nauthor ${PERSON}\ncommitter ${PERSON}\n\nx\n`)],
  };
  for (const [what, [type, content]] of Object.entries(broken)) {
    test(`${what} is refused`, async () => {
      const pack = packOf([Buffer.concat([objectHead(type, content.length), deflateSync(content)])]);
      const { status, text } = await push(pack, objectId(TYPES[type], content));
      assert.equal(status, 200);
      assert.match(text, /ng refs\/heads\/bomb/);
    });
  }

  for (const [what, type] of Object.entries(BOMBS)) {
    test(`${what} of more than a gigabyte is refused`, async () => {
      const { status, text } = await push(await bombOf(type), "1".repeat(40));
      assert.equal(status, 200);
      assert.match(text, /ng refs\/heads\/bomb/);
    });
  }

  test("a delta chain that expands 60 kilobytes to a gigabyte is refused", async () => {
    const { pack, id } = deltaBomb(2, 150);
    const { status, text } = await push(pack, id);
    assert.ok(status < 500, String(status));
    assert.doesNotMatch(text, /ok refs/);
  });
});

const TRUSTING = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" };
