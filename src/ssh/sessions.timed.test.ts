import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { cloneUnreceived, largeProject, SENDING, type SshApp, sshApp } from "./test-support.ts";

describe("git over SSH", () => {
  let app: SshApp;
  before(async () => (app = await sshApp()));
  after(() => app.close());

  it("holds little in memory of what the client does not receive, whatever window it announces", async () => {
    const project = await largeProject(app);
    const before = process.memoryUsage().arrayBuffers;
    const client = await cloneUnreceived(app, project);
    await until("git runs", async () => (await gitProcesses(SENDING)).length > 0);
    await sleep(2000);
    assert.ok((await gitProcesses(SENDING)).length > 0, "git waits");
    const grown = process.memoryUsage().arrayBuffers - before;
    assert.ok(grown < 20_000_000, `grew by ${grown}`);
    client.destroy();
    await until("git has ended", async () => (await gitProcesses("upload-pack")).length === 0);
  });
});
