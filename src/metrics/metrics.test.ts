import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { RELEASE } from "#lib/release.ts";
import { type SshApp, sshApp } from "#ssh/test-support.ts";
import { git } from "#test/support/git.ts";
import { softwareKey } from "#test/support/ssh.ts";
import { until } from "#test/support/until.ts";

describe("metrics", () => {
  let app: SshApp;
  before(async () => (app = await sshApp()));
  after(() => app.close());

  /** The value of a series; undefined if there is none. */
  async function valueOf(series: string): Promise<number | undefined> {
    const { text } = await app.get("/-/metrics");
    const line = text.split("\n").find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  const becomes = (series: string, wanted: number) =>
    until(`${series} is ${wanted}`, async () => (await valueOf(series)) === wanted);

  test("the build is a gauge with its version", async () => {
    const labels = `version="${RELEASE}",node_version="${process.versions.node}"`;
    assert.equal(await valueOf(`fairlead_build_info{${labels}}`), 1);
  });

  test("the pool tells its connections in use, idle and waited for", async () => {
    const { poolSize } = app.services.config;
    assert.equal(await valueOf("fairlead_db_pool_size"), poolSize);
    const before = (await valueOf("fairlead_db_pool_in_use")) ?? Number.NaN;
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const work = () =>
      app.services.db.transaction(async (tx) => {
        await sql`select 1`.execute(tx);
        await gate;
      });
    const all = Array.from({ length: poolSize }, work);
    // A scrape reads figures of jobs by the same pool, so this asks the pool itself.
    await until("all are in use", async () => {
      const { open, idle } = app.services.db.poolUsage();
      return open - idle === poolSize;
    });
    all.push(work());
    await until("one waits", async () => app.services.db.poolUsage().waiting === 1);
    release();
    await Promise.all(all);
    assert.ok(before < poolSize);
    await becomes("fairlead_db_pool_waiting", 0);
    assert.ok(((await valueOf("fairlead_db_pool_idle")) ?? 0) > 0);
  });

  test("git tells its processes by command and outcome, and its slots", async () => {
    const user = await app.makeKeyedUser();
    const { address } = await app.makeProject(user);
    const ended = (operation: string, outcome = "ok") =>
      `fairlead_git_process_duration_seconds_count{operation="${operation}",outcome="${outcome}"}`;
    assert.equal(await valueOf(ended("receive-pack")), undefined);
    await app.pushFirst(address, user.options);
    // One tells the refs, and one receives the push.
    await becomes(ended("receive-pack"), 2);
    assert.equal(await valueOf('fairlead_git_slots{class="transfer"}'), app.services.config.gitProcesses);
    await becomes('fairlead_git_slots_in_use{class="transfer"}', 0);
    assert.equal(await valueOf('fairlead_git_slots_waiting{class="transfer"}'), 0);
  });

  test("the commands of git are a closed set, whatever its arguments", async () => {
    const user = await app.makeKeyedUser();
    const { address } = await app.makeProject(user);
    // A push within a limit has the limit among its arguments.
    assert.ok((await app.services.settings.current()).user_storage_limit_bytes > 0);
    await app.pushFirst(address, user.options);
    const { text } = await app.get("/-/metrics");
    const operations = new Set(text.match(/(?<=git_process_duration_seconds_count\{operation=")[^"]*/g));
    assert.ok(operations.has("receive-pack") && operations.has("init"));
    for (const operation of operations) assert.match(operation, /^[a-z-]+$/);
  });

  test("SSH tells its connections, sign-ins, sessions and commands", async () => {
    const user = await app.makeKeyedUser();
    const { path, address } = await app.makeProject(user);
    const cwd = await app.pushFirst(address, user.options);
    await becomes('fairlead_ssh_connections{state="authenticated"}', 0);
    const accepted = (await valueOf('fairlead_ssh_authentications_total{outcome="accepted"}')) ?? Number.NaN;
    const refused = (await valueOf('fairlead_ssh_authentications_total{outcome="refused"}')) ?? Number.NaN;
    const commands = (operation: string, outcome: string) =>
      `fairlead_ssh_command_duration_seconds_count{operation="${operation}",outcome="${outcome}"}`;
    const fetched = (await valueOf(commands("git.upload_pack", "ok"))) ?? 0;

    const listed = await git(["ls-remote", address], { cwd, env: app.tools.gitEnv(user.options) });
    assert.equal(listed.code, 0, listed.stderr);
    await becomes(commands("git.upload_pack", "ok"), fetched + 1);
    await becomes('fairlead_ssh_authentications_total{outcome="accepted"}', accepted + 1);
    await app.tools.ssh(user.options, app.port, [`git-upload-pack '${path}-gone'`]);
    await becomes(commands("git.upload_pack", "refused"), 1);
    await app.tools.ssh(user.options, app.port, ["rm -rf /"]);
    await becomes(commands("git.refused", "refused"), 1);
    await app.tools.ssh(app.tools.withAgent(await app.tools.agent([softwareKey()])), app.port);
    await becomes('fairlead_ssh_authentications_total{outcome="refused"}', refused + 1);
    for (const state of ["authenticated", "unauthenticated"])
      await becomes(`fairlead_ssh_connections{state="${state}"}`, 0);
    await becomes("fairlead_ssh_sessions", 0);
  });
});
