import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { createDeflate, deflateSync } from "node:zlib";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { git, gitOutput } from "#test/support/git.ts";
import { send } from "#test/support/wire.ts";
import { type Client, newClient } from "./client.ts";
import { type Installation, type Project, startInstallation } from "./installation.ts";
import { refsOf } from "./journal.ts";

const ZERO = "0".repeat(40);
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
  /** Megabytes that all git processes of the server may hold together. */
  const MAX_MEGABYTES = 400;
  const MAX_DURATION_MS = 120_000;
  let installation: Installation;
  let project: Project;
  before(async () => {
    installation = await startInstallation({ FAIRLEAD_GIT_MAX_PACK: String(MAX_PACK_BYTES) });
    project = await installation.createProject("Packs");
  });
  after(() => installation.close());

  /** Pushes a handmade pack, and returns the answer and the memory that git used. */
  async function pushPack(pack: Buffer, id: string) {
    const { url, token, pid } = installation.server();
    const words = " report-status side-band-64k agent=test";
    let most = 0;
    const looking = setInterval(() => (most = Math.max(most, megabytesOfChildren(pid))), 10);
    const from = performance.now();
    try {
      const { status, text } = await send(Number(new URL(url).port), "POST", `/${project.path}.git/git-receive-pack`, {
        headers: {
          host: "localhost",
          authorization: `Basic ${Buffer.from(`root:${token}`).toString("base64")}`,
          "content-type": "application/x-git-receive-pack-request",
        },
        body: Buffer.concat([packet(`${ZERO} ${id} refs/heads/bomb\0${words}`), FLUSH, pack]),
      });
      return { status, text, most, took: performance.now() - from };
    } finally {
      clearInterval(looking);
    }
  }

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
      const { status, text } = await pushPack(pack, objectId(TYPES[type], content));
      assert.equal(status, 200);
      assert.match(text, /ng refs\/heads\/bomb/);
    });
  }

  // More than the memory limit of git.
  const megabytes = 1_100;
  let zeros: Promise<Buffer> | undefined;
  const bombs = { "a file": 3, "a directory": 2, "a commit": 1 } as const;
  for (const [what, type] of Object.entries(bombs)) {
    test(`${what} of more than a gigabyte stays within the memory limit`, async () => {
      const packed = Buffer.concat([objectHead(type, megabytes * 2 ** 20), await (zeros ??= deflatedZeros(megabytes))]);
      const { status, text, most, took } = await pushPack(packOf([packed]), "1".repeat(40));
      assert.equal(status, 200);
      assert.match(text, /ng refs\/heads\/bomb/);
      assert.ok(most < MAX_MEGABYTES, `git held ${Math.round(most)} MB`);
      assert.ok(took < MAX_DURATION_MS, `it took ${Math.round(took)} ms`);
    });
  }

  test("a delta chain that expands 60 kilobytes to a gigabyte is refused before it is expanded", async () => {
    const { pack, id } = deltaBomb(2, 150);
    const { status, text, most, took } = await pushPack(pack, id);
    assert.ok(status < 500, String(status));
    assert.doesNotMatch(text, /ok refs/);
    assert.ok(most < MAX_MEGABYTES, `git held ${Math.round(most)} MB`);
    assert.ok(took < MAX_DURATION_MS, `it took ${Math.round(took)} ms`);
  });
});

const TRUSTING = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" };

/** Megabytes of zeros as in a pack, compressed without holding all of them in memory. */
async function deflatedZeros(megabytes: number): Promise<Buffer> {
  const parts = Readable.from(Array.from({ length: megabytes }, () => ZEROS));
  return buffer(parts.pipe(createDeflate()));
}

const ZEROS = Buffer.alloc(2 ** 20);
const TYPES = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" } as const;

/** Encodes type and length of an object in a pack: four bits of the length, then seven a byte. */
function objectHead(type: number, length: number): Buffer {
  const bytes = [(type << 4) | (length % 16)];
  for (let rest = Math.floor(length / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

function packOf(objects: readonly Buffer[]): Buffer {
  const head = Buffer.from("PACK\0\0\0\u0002\0\0\0\0", "latin1");
  head.writeUInt32BE(objects.length, 8);
  const body = Buffer.concat([head, ...objects]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

/** A small file and a chain of deltas that each repeat the previous one many times. */
function deltaBomb(levels: number, times: number) {
  const base = Buffer.alloc(60_000);
  const objects = [Buffer.concat([objectHead(3, base.length), deflateSync(base)])];
  let length = base.length;
  let id = objectId("blob", base);
  for (let level = 0; level < levels; level++) {
    const result = length * times;
    const copies = Array.from({ length: times * Math.ceil(length / 0xffffff) }, (_, n) => {
      const offset = (n % Math.ceil(length / 0xffffff)) * 0xffffff;
      return copyOf(offset, Math.min(0xffffff, length - offset));
    });
    const delta = Buffer.concat([sizeOf(length), sizeOf(result), ...copies]);
    objects.push(Buffer.concat([objectHead(7, delta.length), Buffer.from(id, "hex"), deflateSync(delta)]));
    if (level < levels - 1) id = objectId("blob", Buffer.alloc(result));
    length = result;
  }
  // Git checks all of them, whichever the ref points to.
  return { pack: packOf(objects), id };
}

const objectId = (type: string, content: Buffer) =>
  createHash("sha1").update(`${type} ${content.length}\0`).update(content).digest("hex");

/** Encodes seven bits a byte, the lowest first. */
function sizeOf(size: number): Buffer {
  const bytes = [size % 128];
  for (let rest = Math.floor(size / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

const copyOf = (offset: number, length: number): Buffer =>
  Buffer.of(
    0xff,
    ...[offset & 0xff, (offset >> 8) & 0xff, (offset >> 16) & 0xff, (offset >> 24) & 0xff],
    ...[length & 0xff, (length >> 8) & 0xff, (length >> 16) & 0xff],
  );

/** The memory of all descendants of a process, in megabytes. */
function megabytesOfChildren(parent: number): number {
  const found = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, "latin1");
        const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
        return [{ pid: Number(name), parent: Number(fields[1]), pages: Number(fields[21]) }];
      } catch {
        return [];
      }
    });
  const below = (pid: number): number =>
    found.filter((each) => each.parent === pid).reduce((sum, each) => sum + each.pages + below(each.pid), 0);
  return (below(parent) * 4096) / 2 ** 20;
}
