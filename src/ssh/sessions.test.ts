import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import ssh2, { type ClientChannel } from "ssh2";
import { git, gitOutput } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { type SshApp, sshApp } from "./test-support.ts";

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
  const commit = async (cwd: string, name: string, content: string | Buffer) => {
    await writeFile(join(cwd, name), content);
    await gitOutput(["add", "."], { cwd });
    await gitOutput(["commit", "--quiet", `--message=${name}`], { cwd });
  };
  // Random bytes do not compress.
  const FAST = ["-c", "core.bigFileThreshold=1m", "-c", "core.compression=0"];
  const push = (cwd: string, address: string, options: Options, ...refs: string[]) =>
    git([...FAST, "push", "--quiet", address, ...refs], { cwd, env: app.tools.gitEnv(options) });

  it("pushes, clones and fetches, in each version of the protocol", async () => {
    const user = await app.makeKeyedUser();
    const { address } = await app.makeProject(user);
    const copy = await app.pushFirst(address, user.options);
    for (const version of ["0", "1", "2"]) {
      const cloned = await clone(address, user.options, `--config=protocol.version=${version}`);
      assert.equal(cloned.code, 0, cloned.stderr);
      assert.equal(await readFile(join(cloned.into, "README.md"), "utf8"), "# Harbour\n");
      await commit(copy, `file-${version}`, randomBytes(100_000));
      const pushed = await push(copy, address, user.options, "main");
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
    const nothing = await push(copy, address, user.options, "main");
    assert.equal(nothing.code, 0, nothing.stderr);
    const removed = await push(copy, address, user.options, "main:side");
    assert.equal(removed.code, 0, removed.stderr);
    assert.equal((await push(copy, address, user.options, ":side")).code, 0);
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
      await push(copy, project.address, stranger.options, "main"),
    ];
    for (const { code, stderr } of answers) {
      assert.equal(code, 128);
      assert.match(stderr, /^ERROR: There is no repository at this address, or you may not see it\.\n/);
    }
    await sql`insert into repositories (project_id, read_only_until) values (${project.id}, now() + interval '1 hour')
      on conflict (project_id) do update set read_only_until = excluded.read_only_until`.execute(app.services.db.write);
    const { stderr } = await push(copy, project.address, user.options, "main:other");
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
    const refused = await push(copy, project.address, reading.options, "main:side");
    assert.equal(refused.code, 128);
    assert.match(refused.stderr, /^ERROR: This deploy key is only for reading\n/);
    assert.match((await clone(other.address, reading.options)).stderr, /^ERROR: There is no repository/);
    const pushed = await push(copy, project.address, pushing.options, "main:side");
    assert.equal(pushed.code, 0, pushed.stderr);

    // Whatever becomes of its creator.
    await app.changeUser(user.id, { state: "blocked" });
    assert.equal((await clone(project.address, reading.options)).code, 0);
    assert.equal((await push(copy, project.address, pushing.options, "main:other")).code, 0);
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
    const pushed = await push(copy, address, renewing, "main");
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

  async function largeProject() {
    const user = await app.makeKeyedUser();
    const { address, path } = await app.makeProject(user);
    const copy = await app.pushFirst(address, user.options);
    await commit(copy, "large", randomBytes(60_000_000));
    assert.equal((await push(copy, address, user.options, "main")).code, 0);
    const head = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
    // Requests a full clone.
    const line = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
    const ask = `${line(`want ${head} side-band-64k ofs-delta\n`)}0000${line("done\n")}`;
    return { user, command: `git-upload-pack '${path}.git'`, ask };
  }

  it("ends git with the connection", async () => {
    const { user, command, ask } = await largeProject();

    const args = [...user.options, `-p${app.port}`, "git@127.0.0.1", command];
    const client = spawn("ssh", args, { stdio: ["pipe", "pipe", "ignore"] });
    // The client reads nothing of the answer.
    client.stdin.write(ask);
    await until("git runs", async () => (await gitProcesses("upload-pack")).length > 0);
    await sleep(1000);
    assert.ok((await gitProcesses("upload-pack")).length > 0);
    client.kill("SIGKILL");
    await until("git has ended", async () => (await gitProcesses("upload-pack")).length === 0);
  });

  it("reads from git only what the client receives, whatever window it announces", async () => {
    const { user, command, ask } = await largeProject();
    const client = new ssh2.Client();
    client.connect({
      host: "127.0.0.1",
      port: app.port,
      username: "git",
      privateKey: await readFile(user.key.file, "utf8"),
    });
    await once(client, "ready");
    const { _protocol, _sock } = client as unknown as {
      _protocol: { channelWindowAdjust(id: number, bytes: number): void };
      _sock: Socket;
    };
    const channel = await new Promise<ClientChannel>((resolve, reject) =>
      client.exec(command, (error, made) => (error ? reject(error) : resolve(made))),
    );
    _protocol.channelWindowAdjust((channel as unknown as { outgoing: { id: number } }).outgoing.id, 2 ** 30);
    const before = process.memoryUsage().arrayBuffers;
    channel.write(ask);
    _sock.pause();
    await until("git runs", async () => (await gitProcesses("upload-pack")).length > 0);
    await sleep(2000);
    assert.ok((await gitProcesses("upload-pack")).length > 0, "git waits");
    const grown = process.memoryUsage().arrayBuffers - before;
    assert.ok(grown < 20_000_000, `grew by ${grown}`);
    client.destroy();
    await until("git has ended", async () => (await gitProcesses("upload-pack")).length === 0);
  });
});
