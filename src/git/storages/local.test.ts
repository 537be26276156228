import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { readConfig } from "#config.ts";
import { collect } from "#git/process.ts";
import { ZERO_ID } from "#git/refs.ts";
import { firstCommit } from "#git/writing/first-commit.ts";
import { Refusal } from "#lib/refusal.ts";
import { git, gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { plumbingArguments } from "./plumbing.ts";
import { type Git, openGit } from "./open.ts";
import {
  type ConfirmPush,
  GitFailed,
  type PlumbingCall,
  projectRepository,
  type Repository,
  type Storage,
} from "./storage.ts";

interface PackedObject {
  readonly type: keyof typeof TYPES;
  readonly bytes: Buffer;
  readonly digest: Buffer;
  readonly id: string;
}
const TYPES = { commit: 1, tree: 2, blob: 3 };
const OFS_DELTA = 6;

function object(type: PackedObject["type"], bytes: Buffer): PackedObject {
  const id = hash("sha1", Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]), "hex");
  return { type, bytes, digest: Buffer.from(id, "hex"), id };
}

/** Encodes the type and size that precede an object in a pack. */
function objectHeader(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1]! |= 128;
    bytes.push(rest & 127);
  }
  return Buffer.from(bytes);
}

function varint(number: number): Buffer {
  const bytes = [];
  let rest = number;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

/** Encodes how far back the base of a delta is. */
function baseOffset(back: number): Buffer {
  const bytes = [back & 127];
  for (let rest = back >> 7; rest > 0; rest >>= 7) bytes.unshift((--rest & 127) | 128);
  return Buffer.from(bytes);
}

const entry = ({ type, bytes }: PackedObject) =>
  Buffer.concat([objectHeader(TYPES[type], bytes.length), deflateSync(bytes)]);

function packOf(...entries: Buffer[]): Buffer {
  const counts = Buffer.alloc(8);
  counts.writeUInt32BE(2, 0);
  counts.writeUInt32BE(entries.length, 4);
  const body = Buffer.concat([Buffer.from("PACK"), counts, ...entries]);
  return Buffer.concat([body, hash("sha1", body, "buffer")]);
}

const ignoreFailure = (work: Promise<unknown>) => work.catch(() => {});

describe("a storage in a directory", () => {
  let dataDir: string;
  let opened: Git;
  let storage: Storage;
  let number = 0;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    opened = openGit(readConfig({ FAIRLEAD_DATA_DIR: dataDir }));
    storage = opened.storage("default");
  });
  after(async () => {
    await opened.close();
    await removeWorkingCopies();
    await rm(dataDir, { recursive: true, force: true });
  });

  const root = () => join(dataDir, "repositories");
  const directoryOf = ({ name }: Repository) => join(root(), `${name}.git`);
  const createRepository = async () => {
    const repository = storage.repository(projectRepository(++number));
    await repository.create("main");
    return repository;
  };
  const pushedRepository = async () => {
    const repository = await createRepository();
    const copy = await workingCopy();
    await gitOutput(["push", "--quiet", directoryOf(repository), "main"], { cwd: copy });
    return { repository, copy };
  };
  const run = async (repository: Repository, call: PlumbingCall) => {
    const running = await repository.run(call);
    const output = await collect(running.output);
    await running.ended;
    return output.toString();
  };

  test("concurrent creations make one repository and leave no temporary files", async () => {
    const repository = storage.repository(projectRepository(++number));
    assert.equal(await repository.exists(), false);
    await Promise.all(Array.from({ length: 20 }, () => repository.create("trunk")));
    assert.equal(await repository.exists(), true);
    assert.equal(await readFile(join(directoryOf(repository), "HEAD"), "utf8"), "ref: refs/heads/trunk\n");
    assert.deepEqual(await readdir(join(root(), "tmp")), []);
    assert.deepEqual((await readdir(directoryOf(repository))).toSorted(), ["HEAD", "config", "objects", "refs"]);
    assert.equal((await stat(join(root(), "@hashed"))).mode & 0o077, 0);
  });

  test("creating a repository again does not change it", async () => {
    const { repository } = await pushedRepository();
    const before = await repository.refsChecksum();
    await repository.create("other");
    assert.equal(await repository.refsChecksum(), before);
  });

  test("a storage lists its repositories", async () => {
    const repository = await createRepository();
    const names = await Array.fromAsync(storage.repositories());
    assert.ok(names.includes(repository.name));
    assert.equal(names.length, new Set(names).size);
    const other = openGit(readConfig({ FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_STORAGES: `new=${dataDir}/nowhere` }));
    assert.deepEqual(await Array.fromAsync(other.storage("new").repositories()), []);
    assert.throws(
      () => other.storage("default"),
      (error) => error instanceof Refusal && error.kind === "unavailable",
    );
  });

  test("a repository is removed, and removing it twice is a no-op", async () => {
    const { repository } = await pushedRepository();
    await Promise.all([repository.remove(), repository.remove()]);
    assert.equal(await repository.exists(), false);
    assert.deepEqual(await readdir(join(root(), "tmp")), []);
    await repository.create("main");
    assert.equal(await repository.exists(), true, "it can be created again");
  });

  test("size and checksum of refs follow pushes", async () => {
    const { repository, copy } = await pushedRepository();
    const [size, checksum] = [await repository.size(), await repository.refsChecksum()];
    assert.ok(size > 300 && size < 20_000, String(size));
    await gitOutput(["push", "--quiet", directoryOf(repository), "main:refs/heads/second"], { cwd: copy });
    assert.notEqual(await repository.refsChecksum(), checksum);
    await gitOutput(["push", "--quiet", directoryOf(repository), ":refs/heads/second"], { cwd: copy });
    assert.equal(await repository.refsChecksum(), checksum);
    await repository.setHead("second");
    assert.notEqual(await repository.refsChecksum(), checksum);
  });

  test("copies with the same refs have the same checksum", async () => {
    const { repository, copy } = await pushedRepository();
    const other = await createRepository();
    await gitOutput(["push", "--quiet", directoryOf(other), "main"], { cwd: copy });
    assert.equal(await other.refsChecksum(), await repository.refsChecksum());
  });

  test("fetches and pushes are served by git's protocol", async () => {
    const { repository } = await pushedRepository();
    const advertised = await repository.uploadPack({ mode: "advertise", protocol: "version=2" });
    const advertisement = (await collect(advertised.output)).toString();
    await advertised.ended;
    assert.match(advertisement, /^000eversion 2\n/);
    assert.match(advertisement, /fetch=shallow wait-for-done filter/);
    const pushing = await repository.receivePack({ mode: "advertise" });
    const capabilities = (await collect(pushing.output)).toString();
    await pushing.ended;
    assert.match(capabilities, /refs\/heads\/main\0.*report-status.*atomic.*push-options/);
    const asked = await repository.uploadPack({ mode: "stateless", protocol: "version=2" });
    asked.input.end("0014command=ls-refs\n0000");
    assert.match((await collect(asked.output)).toString(), /refs\/heads\/main/);
    await asked.ended;
  });

  test("maintenance packs during pushes and loses nothing", async () => {
    const { repository, copy } = await pushedRepository();
    const packs = async () => (await readdir(join(directoryOf(repository), "objects", "pack"))).toSorted();
    const commit = async (text: string) => {
      await writeFile(join(copy, "file.txt"), text);
      await gitOutput(["add", "."], { cwd: copy });
      await gitOutput(["commit", "--quiet", `--message=${text}`], { cwd: copy });
      return gitOutput(["rev-parse", "HEAD"], { cwd: copy });
    };
    const receive = "--receive-pack=git -c receive.unpackLimit=1 receive-pack";
    const push = (...refs: string[]) =>
      gitOutput(["push", "--quiet", receive, directoryOf(repository), ...refs], { cwd: copy });
    const dropped = await commit("dropped");
    await push("main");
    await gitOutput(["reset", "--quiet", "--hard", "HEAD~1"], { cwd: copy });
    await push("+main");

    await repository.maintain();
    const whole = await packs();
    assert.equal(
      whole.filter((file) => file.endsWith(".pack")).length,
      2,
      "one of reachable objects, one of unreachable ones",
    );
    assert.equal(whole.filter((file) => file.endsWith(".bitmap")).length, 1);
    assert.equal((await repository.objects.info(dropped))?.type, "commit", "it is too recent to be pruned");

    const pushing = (async () => {
      for (let at = 0; at < 15; at++) {
        await commit(`change ${at}`);
        await push("main", `main:refs/heads/branch-${at}`);
      }
    })();
    await Promise.all(
      [pushing, repository.maintain(), repository.maintain({ signal: AbortSignal.timeout(120_000) })].map(
        ignoreFailure,
      ),
    );
    await pushing;
    await repository.maintain();
    const after = await packs();
    assert.ok(after.includes("multi-pack-index"), after.join());
    assert.ok(after.filter((file) => file.endsWith(".pack")).length <= 5, after.join());
    assert.deepEqual(await readdir(join(directoryOf(repository), "refs", "heads")), [], "refs are packed");
    assert.equal(
      await gitOutput(["--git-dir", directoryOf(repository), "rev-parse", "main"], { cwd: "/" }),
      await gitOutput(["rev-parse", "HEAD"], { cwd: copy }),
    );
    const { stderr, code } = await git(["--git-dir", directoryOf(repository), "fsck", "--full", "--strict"], {
      cwd: "/",
    });
    assert.equal(code, 0, stderr);
    assert.equal(await repository.objects.info(dropped).then((info) => info?.type), "commit");
  });

  test("an empty repository can be packed", async () => {
    await (await createRepository()).maintain();
  });

  test("unreachable objects and remains of killed pushes are removed after two weeks", async () => {
    const { repository, copy } = await pushedRepository();
    await repository.maintain();
    const directory = directoryOf(repository);
    const old = new Date(Date.now() - 20 * 86_400_000);
    const quarantine = join(directory, "objects", "tmp_objdir-incoming-killed");
    await mkdir(quarantine);
    const loose = await gitOutput(["--git-dir", directory, "hash-object", "-w", "--stdin"], {
      cwd: copy,
      input: "old",
    });
    await utimes(join(directory, "objects", loose.slice(0, 2), loose.slice(2)), old, old);
    await utimes(quarantine, old, old);
    await utimes(join(directory, "fairlead-packed"), old, old);
    await repository.maintain();
    const { code } = await git(["--git-dir", directory, "cat-file", "-e", loose], { cwd: "/" });
    assert.equal(code, 1, "it was pruned");
    assert.ok(!(await readdir(join(directory, "objects"))).includes("tmp_objdir-incoming-killed"));
  });

  test("a repository is created atomically with its first commit", async () => {
    const first = firstCommit({
      branch: "feature/é",
      readme: "# Harbour\n\nfrom nowhere\ndata 3\n",
      author: { name: "Ada <evil>\ncommitter x", email: "ada@example.com" },
      at: new Date("2026-01-02T03:04:05Z"),
    });
    const repository = storage.repository(projectRepository(++number));
    await Promise.all([repository.create("feature/é", first.stream), repository.create("feature/é", first.stream)]);
    assert.equal((await repository.objects.info("refs/heads/feature/é"))?.id, first.id);
    const readme = await repository.objects.read("refs/heads/feature/é:README.md");
    assert.equal(readme?.bytes.toString(), "# Harbour\n\nfrom nowhere\ndata 3\n");
    assert.equal(await gitOutput(["--git-dir", directoryOf(repository), "fsck", "--strict"], { cwd: "/" }), "");
  });

  /** Pushes one new branch and returns what receive-pack says. */
  const receive = async (
    repository: Repository,
    id: string,
    pack: Buffer,
    confirm: ConfirmPush = () => Promise.resolve(undefined),
  ) => {
    const command = `${ZERO_ID} ${id} refs/heads/new\0 report-status side-band-64k`;
    const line = `${(command.length + 4).toString(16).padStart(4, "0")}${command}0000`;
    const git = await repository.receivePack({ mode: "stateless", rules: { forwardOnly: [] }, confirm });
    git.input.end(Buffer.concat([Buffer.from(line), pack]));
    const output = (await collect(git.output)).toString();
    const stderr = await git.ended.then(
      () => "",
      (error: GitFailed) => error.stderr,
    );
    return output + stderr;
  };

  test("a push with malformed objects is refused", async () => {
    const repository = await createRepository();
    const blob = object("blob", Buffer.from("hello"));
    const tree = (name: string) => object("tree", Buffer.concat([Buffer.from(`100644 ${name}\0`), blob.digest]));
    const commit = (of: { readonly id: string }) =>
      object("commit", Buffer.from(`tree ${of.id}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n`));
    const pushOf = (name: string) => {
      const [root, tip] = [tree(name), commit(tree(name))];
      return receive(repository, tip.id, packOf(entry(blob), entry(root), entry(tip)));
    };
    for (const name of [".git", "..", "a/b", ".GIT", "git~1"]) {
      assert.match(await pushOf(name), /unpack (?:index-pack abnormal exit|unpack-objects abnormal exit)/, name);
    }
    assert.match(await pushOf("good"), /unpack ok[^]*ok refs\/heads\/new/);
  });

  test("a push is confirmed after its objects arrived, and no ref changes without", async () => {
    const repository = await createRepository();
    const blob = object("blob", Buffer.from("hello"));
    const pushed = (confirm: ConfirmPush) => receive(repository, blob.id, packOf(entry(blob)), confirm);
    const isThere = async () => (await repository.objects.info("refs/heads/new")) !== undefined;
    let asked = 0;
    const refused = await pushed(async () => {
      asked++;
      assert.equal(await isThere(), false);
      return "Your key\nis gone; $(id) `id` ok";
    });
    assert.equal(asked, 1);
    assert.match(refused, /ng refs\/heads\/new pre-receive hook declined/);
    assert.match(refused, /Your key is gone; \$\(id\) `id` ok\n/);
    for (const bad of [() => Promise.reject(new Error("no database")), () => Promise.resolve("ok")]) {
      assert.match(await pushed(bad), /ng refs\/heads\/new pre-receive hook declined/);
    }
    assert.equal(await isThere(), false);
  });

  test("a pack above the limit and a delta bomb are refused", async () => {
    const small = openGit(readConfig({ FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_GIT_MAX_PACK: String(2 ** 20) }));
    const repository = small.storage("default").repository((await createRepository()).name);
    const noise = object("blob", randomBytes(2 ** 20 + 1));
    assert.match(await receive(repository, noise.id, packOf(entry(noise))), /index-pack abnormal exit/);

    // A delta that copies 16 MiB of zeros 200 times: 3 GiB in a few hundred bytes.
    const base = object("blob", Buffer.alloc(0xffffff));
    const times = 200;
    const copies = Buffer.concat(Array.from({ length: times }, () => Buffer.of(0xf0, 0xff, 0xff, 0xff)));
    const delta = Buffer.concat([varint(0xffffff), varint(times * 0xffffff), copies]);
    const header = objectHeader(OFS_DELTA, delta.length);
    const first = entry(base);
    const bomb = Buffer.concat([header, baseOffset(first.length), deflateSync(delta)]);
    const refused = await receive(repository, base.id, packOf(first, bomb));
    assert.match(refused, /attempting to allocate \d+ over limit[^]*index-pack abnormal exit/, "before it unpacks it");
    await small.close();
  });

  test("a user's value or path is never taken for an option or a pattern", async () => {
    const { repository } = await pushedRepository();
    await assert.rejects(
      run(repository, { command: "rev-list", values: ["--all"] }),
      (error) => error instanceof GitFailed && /'--all'/.test(error.stderr),
    );
    await assert.rejects(
      run(repository, { command: "archive", options: ["--format=tar"], values: ["--output=/nonexistent/x"] }),
      (error) => error instanceof GitFailed && /not a valid object name: --output/.test(error.stderr),
    );
    assert.match(await run(repository, { command: "ls-tree", values: ["main"], paths: ["README.md"] }), /README\.md/);
    assert.equal(await run(repository, { command: "ls-tree", values: ["main"], paths: ["*.md"] }), "");
    assert.equal(await run(repository, { command: "ls-tree", values: ["main"], paths: [":(glob)**"] }), "");
    assert.equal(await run(repository, { command: "ls-tree", values: ["main"], paths: ["--name-only"] }), "");
    const archived = await run(repository, {
      command: "archive",
      options: ["--format=tar"],
      values: ["main"],
      paths: ["README.md"],
    });
    assert.match(archived, /# Harbour/);
  });

  test("every command accepts values after --end-of-options, except those that take none", async () => {
    const { repository } = await pushedRepository();
    const tree = (
      await run(repository, { command: "rev-list", options: ["--format=%T", "--no-commit-header"], values: ["main"] })
    ).trim();
    const good: Record<PlumbingCall["command"], Omit<PlumbingCall, "command"> | undefined> = {
      archive: { options: ["--format=tar"], values: ["main"] },
      blame: { options: ["--porcelain", "main"], paths: ["README.md"] },
      "cat-file": { options: ["-t"], values: ["main"] },
      "commit-tree": undefined,
      "diff-tree": { options: ["--root"], values: ["main"] },
      "fast-import": undefined,
      "for-each-ref": { values: ["refs/heads/main"] },
      "hash-object": { options: ["--stdin"], input: "x" },
      "ls-tree": { values: ["main"] },
      "merge-base": { values: ["main", "main"] },
      "merge-tree": { options: ["--write-tree"], values: ["main", "main"] },
      mktree: { input: "" },
      "rev-list": { values: ["main"] },
      "symbolic-ref": { values: ["HEAD"] },
      "update-ref": { values: ["refs/heads/by-value", "main"] },
    };
    for (const [command, call] of Object.entries(good)) {
      if (call)
        assert.notEqual(await run(repository, { command: command as PlumbingCall["command"], ...call }), undefined);
    }
    assert.match(tree, /^[0-9a-f]{40}$/);
    assert.throws(() => plumbingArguments({ command: "fast-import", values: ["x"] }), /takes no values/);
    assert.throws(() => plumbingArguments({ command: "ls-tree", values: ["a\0b"] }), Refusal);
    assert.throws(() => plumbingArguments({ command: "gc" as "archive" }), /gc/);
  });
});
