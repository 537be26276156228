import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { type Git, openGit } from "#git/storages/open.ts";
import { type PlumbingCall, projectRepository, type Repository, type Running } from "#git/storages/storage.ts";
import { Refusal } from "#lib/refusal.ts";
import { importInto, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import { until } from "#test/support/until.ts";
import { batchPool } from "./batch.ts";

const LARGE = Buffer.alloc(1_000_000, "0123456789abcdef\n");

describe("batch processes", () => {
  let dataDir: string;
  let opened: Git;
  let number = 0;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    opened = openGit(readConfig({ FAIRLEAD_DATA_DIR: dataDir }));
  });
  after(async () => {
    await opened.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function createRepository(): Promise<Repository> {
    const repository = opened.storage("default").repository(projectRepository(++number));
    await repository.create("main");
    const files = { "a.txt": "ahoy", "two\\nlines": "found", "large.txt": LARGE, empty: "" };
    await importInto(repository, streamOfCommits([{ message: "Begin", files }]));
    return repository;
  }

  /** A repository that records the processes it starts. */
  function watched(repository: Repository, change: (running: Running) => Running = (running) => running) {
    const started: Running[] = [];
    const run = async (call: PlumbingCall) => {
      const running = change(await repository.run(call));
      started.push(running);
      return running;
    };
    return { started, recorded: { name: repository.name, run } };
  }

  test("queries are answered in their order, whatever their names contain", async () => {
    const { recorded, started } = watched(await createRepository());
    const objects = batchPool().of(recorded);
    const names = [
      "main:a.txt",
      "nowhere",
      "main:two\nlines",
      "main:no\nsuch",
      "main:large.txt",
      "main:empty",
      "main:\n",
    ];
    const all = await Promise.all(
      Array.from({ length: 20 }, () => names.map((name) => objects.read(`refs/heads/${name}`))).flat(),
    );
    assert.equal(all.length, 140);
    for (const [at, found] of all.entries()) {
      const expected = ["ahoy", undefined, "found", undefined, LARGE.toString(), "", undefined][at % names.length];
      assert.equal(found?.bytes.toString(), expected);
    }
    assert.equal(started.length, 1);
  });

  test("an object above the limit is refused before it is read", async () => {
    const { objects } = await createRepository();
    await assert.rejects(
      objects.read("refs/heads/main:large.txt", 1000),
      (error) => error instanceof Refusal && error.kind === "too large",
    );
    assert.equal((await objects.info("refs/heads/main:large.txt"))?.size, LARGE.length);
  });

  test("a push is visible at once", async () => {
    const repository = await createRepository();
    const before = await repository.objects.info("refs/heads/main");
    await importInto(repository, streamOfCommits([{ message: "More", from: "refs/heads/main^0", files: { b: "b" } }]));
    const now = await repository.objects.info("refs/heads/main");
    assert.notEqual(now?.id, before?.id);
    assert.equal((await repository.objects.read("refs/heads/main:b"))?.bytes.toString(), "b");
  });

  test("a process that dies is replaced, and all waiting queries are answered", async () => {
    const { recorded, started } = watched(await createRepository());
    const objects = batchPool().of(recorded);
    await objects.info("refs/heads/main");
    for (let times = 0; times < 5; times++) {
      const asked = Array.from({ length: 20 }, () => objects.read("refs/heads/main:a.txt"));
      started.at(-1)?.stop();
      for (const found of await Promise.all(asked)) assert.equal(found?.bytes.toString(), "ahoy");
    }
    assert.equal(started.length > 1, true);
  });

  test("a query that kills every process fails, and the others are answered", async () => {
    // Git dies of a path that begins with a dot and a slash where there is no working tree.
    const objects = batchPool().of(watched(await createRepository()).recorded);
    const deadly = objects.info("refs/heads/main:./x");
    const others = Array.from({ length: 5 }, () => objects.info("refs/heads/main"));
    await assert.rejects(deadly);
    for (const found of await Promise.all(others)) assert.equal(found?.type, "commit");
  });

  test("few idle processes are kept, and not for long", async () => {
    const batches = batchPool({ maxIdle: 2, idleMs: 500 });
    const all = await Promise.all(Array.from({ length: 4 }, async () => watched(await createRepository())));
    for (const { recorded } of all) await batches.of(recorded).info("refs/heads/main");
    const ended = new Set<Running>();
    for (const { started } of all) for (const running of started) void running.ended.then(() => ended.add(running));
    await until("two are ended", async () => ended.size >= 2);
    const [first, , , last] = all;
    assert.ok(first && last);
    assert.equal(ended.has(last.started[0] as Running), false);
    await until("all are ended", async () => ended.size === 4);
    assert.equal((await batches.of(first.recorded).info("refs/heads/main"))?.type, "commit");
    assert.equal(first.started.length, 2);
  });

  test("if no process can be started, all waiting queries fail", async () => {
    const run = () => Promise.reject(new Refusal("unavailable", "503 Service Unavailable"));
    const objects = batchPool().of({ name: projectRepository(1), run });
    const asked = await Promise.allSettled([objects.info("a"), objects.info("b")]);
    assert.deepEqual(
      asked.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    await assert.rejects(objects.info("c"));
  });
});
