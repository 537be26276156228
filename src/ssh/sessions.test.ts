import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { git, gitOutput } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { cloneUnreceived, commit, largeProject, SENDING, type SshApp, sshApp } from "./test-support.ts";

describe("git over SSH", () => {
  let app: SshApp;
  let directory: string;
  before(async () => {
    app = await sshApp();
    directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  });
  after(async () => {
    await app.close();
    await rm(directory, { recursive: true, force: true });
  });

  type Options = readonly string[];
  const clone = async (address: string, options: Options, ...more: string[]) => {
    const into = join(await mkdtemp(join(directory, "clone-")), "copy");
    const ended = await git(["clone", "--quiet", ...more, address, into], {
      cwd: directory,
      env: app.tools.gitEnv(options),
    });
    return { ...ended, into };
  };

  it("pushes, clones and fetches, in each version of the protocol", async () => {
    const user = await app.makeKeyedUser();
    const { address } = await app.makeProject(user);
    const copy = await app.pushFirst(address, user.options);
    for (const version of ["0", "1", "2"]) {
      const cloned = await clone(address, user.options, `--config=protocol.version=${version}`);
      assert.equal(cloned.code, 0, cloned.stderr);
      assert.equal(await readFile(join(cloned.into, "README.md"), "utf8"), "# Harbour\n");
      await commit(copy, `file-${version}`, randomBytes(100_000));
      const pushed = await app.push(copy, address, user.options, "main");
      assert.equal(pushed.code, 0, pushed.stderr);
      const fetched = await git(["-c", `protocol.version=${version}`, "pull", "--quiet"], {
        cwd: cloned.into,
        env: app.tools.gitEnv(user.options),
      });
      assert.equal(fetched.code, 0, fetched.stderr);
      assert.equal(
        await gitOutput(["rev-parse", "HEAD"], { cwd: cloned.into }),
        await gitOutput(["rev-parse", "HEAD"], { cwd: copy }),
      );
    }
    const nothing = await app.push(copy, address, user.options, "main");
    assert.equal(nothing.code, 0, nothing.stderr);
    const removed = await app.push(copy, address, user.options, "main:side");
    assert.equal(removed.code, 0, removed.stderr);
    assert.equal((await app.push(copy, address, user.options, ":side")).code, 0);
    const shallow = await clone(address, user.options, "--depth=1");
    assert.equal(await gitOutput(["rev-list", "--count", "HEAD"], { cwd: shallow.into }), "1");
    assert.equal((await clone(address, user.options, "--filter=blob:none")).code, 0);
  });

  it("finds a repository by the short address and without .git", async () => {
    const user = await app.makeKeyedUser();
    const { address, path } = await app.makeProject(user);
    await app.pushFirst(address, user.options);
    const options = [...user.options, `-oPort=${app.port}`];
    for (const short of [`git@127.0.0.1:${path}.git`, `git@127.0.0.1:${path}`, `git@127.0.0.1:/${path}.git`]) {
      assert.equal((await clone(short, options)).code, 0, short);
    }
  });

  it("gives the reason of a refusal in one line", async () => {
    const user = await app.makeKeyedUser();
    const stranger = await app.makeKeyedUser();
    const project = await app.makeProject(user);
    const copy = await app.pushFirst(project.address, user.options);
    const missing = `ssh://git@127.0.0.1:${app.port}/${user.username}/nothing.git`;
    const answers = [
      await clone(missing, user.options),
      await clone(project.address, stranger.options),
      await app.push(copy, project.address, stranger.options, "main"),
    ];
    for (const { code, stderr } of answers) {
      assert.equal(code, 128);
      assert.match(stderr, /^ERROR: There is no repository at this address, or you may not see it\.\n/);
    }
    await sql`insert into repositories (project_id, read_only_until) values (${project.id}, now() + interval '1 hour')
      on conflict (project_id) do update set read_only_until = excluded.read_only_until`.execute(app.services.db.write);
    const { stderr } = await app.push(copy, project.address, user.options, "main:other");
    assert.match(stderr, /^ERROR: The repository is temporarily read-only\. Please try again later\.\n/);
    assert.equal((await clone(project.address, user.options)).code, 0);
  });

  it("serves a deploy key its project and no other, pushes if it may", async () => {
    const user = await app.makeKeyedUser();
    const project = await app.makeProject(user);
    const other = await app.makeProject(user);
    const copy = await app.pushFirst(project.address, user.options);
    const reading = await app.makeDeployKey(user, project.id, false);
    const pushing = await app.makeDeployKey(user, project.id, true);

    assert.equal((await clone(project.address, reading.options)).code, 0);
    const refused = await app.push(copy, project.address, reading.options, "main:side");
    assert.equal(refused.code, 128);
    assert.match(refused.stderr, /^ERROR: This deploy key is only for reading\n/);
    assert.match((await clone(other.address, reading.options)).stderr, /^ERROR: There is no repository/);
    const pushed = await app.push(copy, project.address, pushing.options, "main:side");
    assert.equal(pushed.code, 0, pushed.stderr);

    // Whatever becomes of its creator.
    await app.changeUser(user.id, { state: "blocked" });
    assert.equal((await clone(project.address, reading.options)).code, 0);
    assert.equal((await app.push(copy, project.address, pushing.options, "main:other")).code, 0);
    assert.equal((await clone(project.address, user.options)).code, 128);

    await app.expireKey(reading.keyId);
    assert.match((await clone(project.address, reading.options)).stderr, /Permission denied \(publickey\)/);
    const { write } = app.services.db;
    await write
      .updateTable("deploy_keys_projects")
      .set({ project_id: other.id })
      .where("key_id", "=", pushing.keyId)
      .execute();
    assert.match((await clone(project.address, pushing.options)).stderr, /^ERROR: There is no repository/);
  });

  it("looks the key up again for every session of a connection", async () => {
    const user = await app.makeKeyedUser();
    const { path } = await app.makeProject(user);
    const control = join(directory, "control");
    const shared = [...user.options, `-oControlPath=${control}`];
    const master = spawn("ssh", [...shared, "-M", "-N", `-p${app.port}`, "git@127.0.0.1"], { stdio: "ignore" });
    try {
      await until("the connection is shared", async () => (await readdir(directory)).includes("control"));
      const advertise = () => app.tools.ssh(shared, app.port, [`git-upload-pack '${path}.git'`], "0000");
      assert.equal((await advertise()).code, 0);
      for (const [change, words] of [
        [() => app.changeUser(user.id, { state: "blocked" }), /^ERROR: Your account has been blocked\./],
        [() => app.expireKey(user.keyId), /^ERROR: This key has expired/],
        [() => app.removeKey(user.keyId), /^ERROR: This key is not known here/],
      ] as const) {
        await change();
        const { code, stderr, stdout } = await advertise();
        assert.deepEqual([code, stdout], [1, ""]);
        assert.match(stderr, words);
        await app.changeUser(user.id, { state: "active" });
      }
    } finally {
      master.kill();
      await once(master, "close");
    }
  });

  it("exchanges new keys during a transfer", async () => {
    const user = await app.makeKeyedUser();
    const { address } = await app.makeProject(user);
    const copy = await app.pushFirst(address, user.options);
    await commit(copy, "large", randomBytes(20_000_000));
    const renewing = [...user.options, "-oRekeyLimit=1M"];
    const pushed = await app.push(copy, address, renewing, "main");
    assert.equal(pushed.code, 0, pushed.stderr);
    const cloned = await clone(address, renewing);
    assert.equal(cloned.code, 0, cloned.stderr);
    assert.deepEqual(await readFile(join(cloned.into, "large")), await readFile(join(copy, "large")));
  });

  it("serves twenty at once", async () => {
    const user = await app.makeKeyedUser();
    const { address } = await app.makeProject(user);
    await app.pushFirst(address, user.options);
    const all = await Promise.all(Array.from({ length: 20 }, () => clone(address, user.options)));
    for (const { code, stderr } of all) assert.equal(code, 0, stderr);
  });

  /** The bytes that a process has written; NaN once it has ended. */
  async function writtenBy(pid: number): Promise<number> {
    const counters = await readFile(`/proc/${pid}/io`, "utf8").catch(() => "");
    return Number(/^wchar: (\d+)$/m.exec(counters)?.[1]);
  }

  it("ends git with the connection", async () => {
    const { user, command, ask } = await largeProject(app);

    const args = [...user.options, `-p${app.port}`, "git@127.0.0.1", command];
    const client = spawn("ssh", args, { stdio: ["pipe", "pipe", "ignore"] });
    // The client reads nothing of the answer.
    client.stdin.write(ask);
    const pid = await until("git runs", async () => (await gitProcesses(SENDING))[0]);
    await until("git sends the pack", async () => (await writtenBy(pid)) > 1_000_000);
    client.kill("SIGKILL");
    await until("git has ended", async () => (await gitProcesses("upload-pack")).length === 0);
  });

  it("reads from git only what the client receives, whatever window it announces", async () => {
    const client = await cloneUnreceived(app, await largeProject(app));
    const pid = await until("git runs", async () => (await gitProcesses(SENDING))[0]);
    let written = 0;
    let pauses = 0;
    await until("git waits or has ended", async () => {
      const before = written;
      written = await writtenBy(pid);
      pauses = written > 1_000_000 && written === before ? pauses + 1 : 0;
      return pauses === 20 || Number.isNaN(written);
    });
    assert.ok(written < 20_000_000, `git has written ${written}`);
    assert.deepEqual(await gitProcesses(SENDING), [pid], "git waits");
    client.destroy();
    await until("git has ended", async () => (await gitProcesses("upload-pack")).length === 0);
  });
});
