import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { commit, type SshApp, sshApp } from "./test-support.ts";

const RATE = { minBytes: 16 * 1024, windowMs: 3_000 };

describe("SSH sessions of slow clients", () => {
  let app: SshApp;
  before(async () => (app = await sshApp({}, { receive: RATE, fetch: RATE, push: RATE })));
  after(() => app.close());

  it("go on while it is git on the server that is slow, for longer than the client may be", async () => {
    const user = await app.makeKeyedUser();
    const { address } = await app.makeProject(user);
    const copy = await app.pushFirst(address, user.options);
    await commit(copy, "large", randomBytes(30_000_000));
    const pushing = app.push(copy, address, user.options, "main");
    // The process before it, which lists the refs, has one option more and ends by itself.
    const pid = await until("git receives", async () => (await gitProcesses("receive-pack\0--stateless-rpc\0/"))[0]);
    process.kill(pid, "SIGSTOP");
    await sleep(RATE.windowMs * 2.5);
    process.kill(pid, "SIGCONT");
    const { code, stderr } = await pushing;
    assert.equal(code, 0, stderr);
  });
});
