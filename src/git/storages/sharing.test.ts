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

describe("batch processes of many repositories", () => {
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

  test("their number is limited, and idle ones end when others wait", async () => {
    // One consumer may use a quarter of the queue.
    const ids = Array.from({ length: SLOTS + IDLE + SLOTS * 2 }, (_, at) => at + 1);
    const repositories = ids.map((id) => opened.storage("default").repository(projectRepository(id)));
    for (const repository of repositories) await repository.create("main");
    let peak = 0;
    const watching = setInterval(async () => (peak = Math.max(peak, (await gitProcesses()).length)), 2);
    const found = await Promise.all(repositories.map(({ objects }) => objects.info("HEAD")));
    clearInterval(watching);
    assert.deepEqual(new Set(found), new Set([undefined]));
    assert.ok(peak <= SLOTS + IDLE, `${peak} at once`);
  });
});
