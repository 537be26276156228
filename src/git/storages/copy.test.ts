import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { git, gitOutput } from "#test/support/git.ts";
import { type Git, openGit } from "./open.ts";
import { CopyFailed, copyPath, projectRepository, type Repository } from "./storage.ts";

describe("copying a repository to another storage", () => {
  let dataDir: string;
  let opened: Git;
  let number = 0;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    opened = openGit(
      readConfig({ FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_STORAGES: `one=${dataDir}/one,two=${dataDir}/two` }),
    );
    for (const storage of opened.storages) await storage.prepare();
  });
  after(async () => {
    await opened.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const directoryOf = ({ storage, name }: Repository) => join(dataDir, storage, `${name}.git`);
  const inside = (repository: Repository, ...args: string[]) =>
    gitOutput(args, { cwd: directoryOf(repository), env: { GIT_DIR: directoryOf(repository) } });

  /** A repository with a packed commit, a loose one, a tag, a branch of ours and one with a slash. */
  async function makeRepository() {
    const repository = opened.storage("one").repository(projectRepository(++number));
    await repository.create("trunk");
    const commit = async (content: Buffer) => {
      const blob = await git(["hash-object", "-w", "--stdin"], { cwd: directoryOf(repository), input: content });
      const tree = await git(["mktree"], {
        cwd: directoryOf(repository),
        input: `100644 blob ${blob.stdout.trim()}\tfile\n`,
      });
      return inside(repository, "commit-tree", tree.stdout.trim(), "-m", "x");
    };
    const packed = await commit(randomBytes(100_000));
    await inside(repository, "update-ref", "refs/heads/trunk", packed);
    await inside(repository, "tag", "-a", "v1", "-m", "one", packed);
    await repository.maintain();
    const loose = await commit(randomBytes(50_000));
    await inside(repository, "update-ref", "refs/heads/feature/new", loose);
    await inside(repository, "update-ref", "refs/fairlead/kept", packed);
    return { repository, loose };
  }

  const copyOf = (source: Repository) => opened.storage("two").repository(copyPath(source.name, 7, 1));
  const call = { signal: new AbortController().signal, onProgress() {} };
  const packIn = async (repository: Repository, suffix: string) => {
    const names = await readdir(join(directoryOf(repository), "objects/pack"));
    return join(directoryOf(repository), "objects/pack", names.find((name) => name.endsWith(suffix)) ?? "");
  };
  const flip = async (file: string, at: number) => {
    const bytes = await readFile(file);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await chmod(file, 0o600);
    await writeFile(file, bytes);
  };
  const leavesNothing = async (copy: Repository) => {
    assert.equal(await copy.exists(), false);
    assert.deepEqual(await readdir(join(dataDir, "two/tmp")), []);
  };

  test("has all refs and objects, packed as before, and counts its bytes", async () => {
    const { repository } = await makeRepository();
    const copy = copyOf(repository);
    const seen: [number, number][] = [];
    await copy.copyFrom(repository, { ...call, onProgress: (bytes, total) => void seen.push([bytes, total]) });
    assert.equal(await copy.refsChecksum(), await repository.refsChecksum());
    assert.equal(await inside(copy, "for-each-ref"), await inside(repository, "for-each-ref"));
    assert.equal(await inside(copy, "symbolic-ref", "HEAD"), "refs/heads/trunk");
    assert.equal((await git(["fsck", "--full", "--strict"], { cwd: directoryOf(copy) })).code, 0);
    assert.ok((await packIn(copy, ".bitmap")).endsWith(".bitmap"));
    assert.deepEqual(seen[0]?.[0], 0);
    assert.equal(seen.at(-1)?.[0], seen.at(-1)?.[1]);
    assert.ok(seen.every(([bytes, total], at) => bytes <= total && bytes >= (seen[at - 1]?.[0] ?? 0)));
    assert.deepEqual(await readdir(join(dataDir, "two/tmp")), []);
  });

  test("an empty repository keeps its default branch", async () => {
    const repository = opened.storage("one").repository(projectRepository(++number));
    await repository.create("trunk");
    const copy = copyOf(repository);
    await copy.copyFrom(repository, call);
    assert.equal(await inside(copy, "symbolic-ref", "HEAD"), "refs/heads/trunk");
    assert.equal(await copy.refsChecksum(), await repository.refsChecksum());
  });

  test("a flipped byte in a pack, its index or a loose object fails, and nothing remains", async () => {
    for (const suffix of [".pack", ".idx", ".bitmap"]) {
      const { repository } = await makeRepository();
      const file = await packIn(repository, suffix);
      await flip(file, Math.floor((await readFile(file)).length / 2));
      const copy = copyOf(repository);
      await assert.rejects(
        copy.copyFrom(repository, call),
        (error) =>
          error instanceof CopyFailed && /on one is damaged: pack-\w+\.\w+ has a wrong checksum/.test(error.message),
        suffix,
      );
      await leavesNothing(copy);
    }
    const { repository, loose } = await makeRepository();
    const tree = await inside(repository, "rev-parse", `${loose}:file`);
    await flip(join(directoryOf(repository), "objects", tree.slice(0, 2), tree.slice(2)), 20_000);
    const copy = copyOf(repository);
    await assert.rejects(
      copy.copyFrom(repository, call),
      (error) => error instanceof CopyFailed && /damaged: objects are missing or cannot be read/.test(error.message),
    );
    await leavesNothing(copy);
  });

  test("a missing object fails", async () => {
    const { repository, loose } = await makeRepository();
    const blob = await inside(repository, "rev-parse", `${loose}:file`);
    await rm(join(directoryOf(repository), "objects", blob.slice(0, 2), blob.slice(2)));
    await assert.rejects(copyOf(repository).copyFrom(repository, call), CopyFailed);
    await leavesNothing(copyOf(repository));
  });

  test("files that packing replaces while they are copied", async () => {
    const { repository } = await makeRepository();
    const copy = copyOf(repository);
    let repacked: Promise<unknown> | undefined;
    await copy.copyFrom(repository, {
      ...call,
      onProgress(bytes) {
        if (bytes > 0) repacked ??= inside(repository, "repack", "-a", "-d", "-q");
      },
    });
    await repacked;
    assert.equal(await copy.refsChecksum(), await repository.refsChecksum());
    assert.equal((await git(["fsck", "--full", "--strict"], { cwd: directoryOf(copy) })).code, 0);
  });

  test("stops when it is aborted, and nothing remains", async () => {
    const { repository } = await makeRepository();
    const stopping = new AbortController();
    const copy = copyOf(repository);
    const aborted = copy.copyFrom(repository, {
      signal: stopping.signal,
      onProgress: (bytes) => bytes > 0 && stopping.abort(new Error("stopped")),
    });
    await assert.rejects(aborted, /stopped|abort/i);
    await leavesNothing(copy);
  });
});
