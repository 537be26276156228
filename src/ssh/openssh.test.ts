import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { homedir, tmpdir, userInfo } from "node:os";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { git } from "#test/support/git.ts";
import { PATIENT } from "#test/support/limits.ts";
import { freePort } from "#test/support/ports.ts";
import { run } from "#test/support/ssh.ts";
import { until } from "#test/support/until.ts";
import { type SshApp, sshApp } from "./test-support.ts";

const SSHD = "/usr/sbin/sshd";
const SEPARATION = "/run/sshd";
const program = join(import.meta.dirname, "../../bin/fairlead");
// sshd requires that its commands and all directories above them belong to root.
const skip = process.getuid?.() !== 0 || !existsSync(SSHD) ? "needs sshd and root" : false;

describe("git through OpenSSH's server", { skip }, () => {
  let app: SshApp;
  let directory: string;
  let port: number;
  let wrapper: string;
  let stopSshd: () => Promise<void>;

  before(async () => {
    app = await sshApp();
    directory = await mkdtemp(join(homedir(), ".fairlead-test-"));
    wrapper = join(directory, "fairlead-ssh");
    const settings = {
      ...PATIENT,
      FAIRLEAD_DATABASE_URL: app.services.databaseUrl,
      FAIRLEAD_DATA_DIR: app.services.config.dataDir,
      FAIRLEAD_LOG_FILE: join(directory, "log"),
    };
    const lines = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'\n`);
    await writeFile(wrapper, `#!/bin/sh\n${lines.join("")}exec ${program} "$@"\n`, { mode: 0o700 });
    port = await freePort();
    stopSshd = await startSshd();
  });
  after(async () => {
    await stopSshd();
    await app.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function startSshd() {
    const madeSeparation = await mkdir(SEPARATION, { recursive: true, mode: 0o755 });
    const hostKey = await app.tools.makeKey("ed25519");
    const config = join(directory, "sshd_config");
    await writeFile(
      config,
      `Port ${port}
ListenAddress 127.0.0.1
HostKey ${hostKey.file}
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthorizedKeysFile none
AuthorizedKeysCommand ${wrapper} authorized-keys --program ${wrapper} %t %k
AuthorizedKeysCommandUser ${userInfo().username}
AcceptEnv GIT_PROTOCOL
`,
    );
    const sshd = spawn(SSHD, ["-D", "-e", "-f", config], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    sshd.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    await until("sshd listens", async () => {
      if (sshd.exitCode !== null) throw new Error(said);
      const socket = connect(port, "127.0.0.1");
      const isOpen = await once(socket, "connect").then(
        () => true,
        () => false,
      );
      socket.destroy();
      return isOpen;
    });
    return async () => {
      sshd.kill();
      await once(sshd, "close");
      if (madeSeparation !== undefined) await rm(madeSeparation, { recursive: true });
    };
  }

  const addressOf = (path: string) => `ssh://${userInfo().username}@127.0.0.1:${port}/${path}.git`;
  const through = (options: readonly string[]) => app.tools.gitEnv(options);

  it("clones and pushes, for users and deploy keys", async () => {
    const user = await app.makeKeyedUser();
    const project = await app.makeProject(user);
    const address = addressOf(project.path);
    const copy = await app.pushFirst(address, user.options);
    const cloned = await git(["clone", "--quiet", address, join(directory, "copy")], {
      cwd: tmpdir(),
      env: through(user.options),
    });
    assert.equal(cloned.code, 0, cloned.stderr);
    const reading = await app.makeDeployKey(user, project.id, false);
    const listed = await git(["ls-remote", address], {
      cwd: copy,
      env: { ...through(reading.options), GIT_TRACE_PACKET: "1" },
    });
    assert.match(listed.stdout, /\trefs\/heads\/main$/m);
    assert.match(listed.stderr, /version 2/);
    const pushed = await git(["push", "--quiet", address, "main:side"], { cwd: copy, env: through(reading.options) });
    assert.equal(pushed.code, 128);
    assert.match(pushed.stderr, /^ERROR: This deploy key is only for reading\n/);
  });

  it("greets, and runs nothing else", async () => {
    const user = await app.makeKeyedUser();
    const name = userInfo().username;
    const greeted = await app.tools.ssh(["-T", ...user.options], port, [], "", name);
    assert.equal(greeted.code, 0, greeted.stderr);
    assert.match(greeted.stderr, new RegExp(`^Hello @${user.username}, `));
    const other = await app.tools.ssh(user.options, port, ["id"], "", name);
    assert.deepEqual([other.code, other.stdout], [1, ""]);
    const forwarded = await app.tools.ssh(["-W127.0.0.1:1", ...user.options], port, [], "", name);
    assert.equal(forwarded.code, 255);
  });

  it("refuses any other key", async () => {
    const name = userInfo().username;
    const stranger = app.tools.withKey(await app.tools.makeKey("ed25519"));
    assert.match((await app.tools.ssh(stranger, port, [], "", name)).stderr, /Permission denied \(publickey\)/);
    const [line = ""] = (await readFile(join(directory, "log"), "utf8")).match(/^.*"sign-in refused"\}$/m) ?? [];
    const { level, kind, reason } = JSON.parse(line);
    assert.deepEqual([level, kind, reason], ["warn", "ssh_key", "This key is not known here"]);
    const blocked = await app.makeKeyedUser();
    await app.changeUser(blocked.id, { state: "blocked" });
    assert.match((await app.tools.ssh(blocked.options, port, [], "", name)).stderr, /Permission denied \(publickey\)/);
  });

  it("gets one line for a key that may be used, and nothing for any other", async () => {
    const user = await app.makeKeyedUser();
    const [kind = "", blob = ""] = user.key.line.split(" ");
    const ask = (...args: string[]) => run(wrapper, ["authorized-keys", ...args], {});
    const stranger = (await app.tools.makeKey("ed25519")).line.split(" ").slice(0, 2);
    const unknown = await ask("--connection", "203.0.113.7 4711 192.0.2.1 22", ...stranger);
    assert.deepEqual([unknown.code, unknown.stdout, unknown.stderr], [0, "", ""]);
    const logged = await readFile(join(directory, "log"), "utf8");
    assert.match(logged, /"kind":"ssh_key","ip":"203\.0\.113\.7","reason":"This key is not known here"/);
    const { stdout } = await ask(kind, blob);
    const line = /^command="(\/\S+) git-session --key (SHA256:\S{43})",restrict (\S+) (\S+)\n$/.exec(stdout);
    assert.deepEqual(line?.slice(3), [kind, blob], stdout);
    const env = {
      ...PATIENT,
      FAIRLEAD_DATABASE_URL: app.services.databaseUrl,
      FAIRLEAD_DATA_DIR: app.services.config.dataDir,
      FAIRLEAD_LOG_FILE: join(directory, "missing/log"),
    };
    const unlogged = await run(program, ["authorized-keys", kind, blob], env);
    assert.deepEqual([unlogged.code, unlogged.stderr], [0, ""], "a log that cannot be opened locks nobody out");
    assert.match(unlogged.stdout, /^command=/);
    await app.expireKey(user.keyId);
    for (const args of [
      [kind, blob],
      [kind, `${blob.slice(0, -8)}AAAAAAAA`],
      ["ssh-dss", blob],
      [kind, '"; id'],
    ]) {
      assert.deepEqual(await ask(...args), { stdout: "", stderr: "", code: 0 }, args.join(" "));
    }
  });
});
