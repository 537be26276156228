import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { type Git, openGit } from "./open.ts";
import { projectRepository } from "./storage.ts";

const SLOTS = 4;
const IDLE = 16;

describe("batches of many repositories at once", () => {
  let dataDir: string;
  let opened: Git;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    opened = openGit(readConfig({ FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_GIT_PROCESSES: String(SLOTS) }));
  });
  after(async () => {
    await opened.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  test("are bounded, and those that are idle make way for those that wait", async () => {
    // A quarter of what may wait is for one consumer.
    const ids = Array.from({ length: SLOTS + IDLE + SLOTS * 2 }, (_, at) => at + 1);
    const repositories = ids.map((id) => opened.storage("default").repository(projectRepository(id)));
    for (const repository of repositories) await repository.create("main");
    let most = 0;
    const watching = setInterval(async () => (most = Math.max(most, (await gitProcesses()).length)), 2);
    const found = await Promise.all(repositories.map(({ objects }) => objects.info("HEAD")));
    clearInterval(watching);
    assert.deepEqual(new Set(found), new Set([undefined]));
    assert.ok(most <= SLOTS + IDLE, `${most} at once`);
  });
});
