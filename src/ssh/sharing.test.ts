import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import ssh2, { type Client, type ClientChannel } from "ssh2";
import { git, gitOutput } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { SENDING, type SshApp, sshApp } from "./test-support.ts";

const CONNECTIONS = 4;
const SESSIONS_EACH = 9;
/** A process has 32 slots by default. */
const QUARTER = 8;

describe("sharing git slots over SSH", () => {
  let app: SshApp;
  let directory: string;
  const clients: Client[] = [];
  before(async () => {
    app = await sshApp();
    directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await until("git has ended", async () => (await uploads()).length === 0);
  });
  after(async () => {
    await app.close();
    await rm(directory, { recursive: true, force: true });
  });

  const uploads = () => gitProcesses("upload-pack");

  async function keyedProject() {
    const user = await app.makeKeyedUser();
    const { address, path } = await app.makeProject(user);
    const copy = await app.pushFirst(address, user.options);
    return { user, address, command: `git-upload-pack '${path}.git'`, copy };
  }

  /** Opens many sessions that receive the refs and then send only this text. */
  async function openSessions({ user, command }: Awaited<ReturnType<typeof keyedProject>>, saying: string) {
    const privateKey = await readFile(user.key.file, "utf8");
    let advertised = 0;
    for (let at = 0; at < CONNECTIONS; at++) {
      const client = new ssh2.Client();
      client.on("error", () => {});
      clients.push(client);
      client.connect({ host: "127.0.0.1", port: app.port, username: "git", privateKey });
      await once(client, "ready");
      for (let session = 0; session < SESSIONS_EACH; session++) {
        const channel = await new Promise<ClientChannel>((resolve, reject) =>
          client.exec(command, (error, made) => (error ? reject(error) : resolve(made))),
        );
        channel.once("data", () => advertised++);
        if (saying !== "") channel.write(saying);
      }
    }
    return { advertised: () => advertised };
  }

  const cloneOf = ({ user, address }: Awaited<ReturnType<typeof keyedProject>>, ...more: string[]) =>
    git(["clone", "--quiet", "--bare", ...more, address, join(directory, `clone-${Math.random()}`)], {
      cwd: directory,
      env: app.tools.gitEnv(user.options),
    });

  test("silent sessions hold no git process and do not block the clones of others", async () => {
    const sessions = await openSessions(await keyedProject(), "");
    await until("all received the refs", async () => sessions.advertised() === CONNECTIONS * SESSIONS_EACH);
    await until("no git runs for them", async () => (await uploads()).length === 0);
    const other = await keyedProject();
    for (const version of ["0", "1", "2"]) {
      const { code, stderr } = await cloneOf(other, `--config=protocol.version=${version}`);
      assert.equal(code, 0, stderr);
    }
  });

  test("sessions that stall after their first packet hold at most a quarter of the slots", async () => {
    const greedy = await keyedProject();
    const head = await gitOutput(["rev-parse", "HEAD"], { cwd: greedy.copy });
    const want = `want ${head} side-band-64k ofs-delta\n`;
    await openSessions(greedy, (want.length + 4).toString(16).padStart(4, "0") + want);
    const sending = async () => (await gitProcesses(SENDING)).length;
    await until("as many run as may", async () => (await sending()) === QUARTER);
    await sleep(200);
    assert.equal(await sending(), QUARTER);
    const { code, stderr } = await cloneOf(await keyedProject());
    assert.equal(code, 0, stderr);
  });

  test("fetches of many rounds, shallow and partial ones work in each version of the protocol", async () => {
    const project = await keyedProject();
    const { user, address, copy } = project;
    const env = app.tools.gitEnv(user.options);
    const commit = async (cwd: string, name: string) => {
      await writeFile(join(cwd, name), randomBytes(100));
      await gitOutput(["add", "."], { cwd });
      await gitOutput(["commit", "--quiet", `--message=${name}`], { cwd });
    };
    for (let at = 0; at < 3; at++) await commit(copy, `shared-${at}`);
    await gitOutput(["push", "--quiet", address, "main", "HEAD~1:refs/tags/before"], { cwd: copy, env });
    for (const version of ["0", "1", "2"]) {
      const protocol = `protocol.version=${version}`;
      const into = join(directory, `rounds-${version}`);
      await gitOutput(["clone", "--quiet", address, into], { cwd: directory, env });
      // So many of its own commits that its first batch has none that the other side knows.
      const lines = Array.from(
        { length: 200 },
        (_, at) => `commit refs/heads/own\ncommitter A <a@b> ${1_700_000_000 + at} +0000\ndata 1\nx\n`,
      );
      await gitOutput(["fast-import", "--quiet"], { cwd: into, input: lines.join("\n") });
      await commit(copy, `more-${version}`);
      await gitOutput(["push", "--quiet", address, "main"], { cwd: copy, env });
      await gitOutput(["-c", protocol, "fetch", "--quiet", "origin"], { cwd: into, env });
      const tip = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
      assert.equal(await gitOutput(["rev-parse", "origin/main"], { cwd: into }), tip);

      const shallow = join(directory, `shallow-${version}`);
      await gitOutput(["-c", protocol, "clone", "--quiet", "--depth=1", address, shallow], { cwd: directory, env });
      await gitOutput(["-c", protocol, "fetch", "--quiet", "--deepen=1"], { cwd: shallow, env });
      assert.equal(await gitOutput(["rev-list", "--count", "HEAD"], { cwd: shallow }), "2");
      const partial = join(directory, `partial-${version}`);
      await gitOutput(["-c", protocol, "clone", "--quiet", "--filter=blob:none", address, partial], {
        cwd: directory,
        env,
      });
      const listed = await gitOutput(["-c", protocol, "ls-remote", address], { cwd: directory, env });
      assert.match(listed, new RegExp(`^${tip}\tHEAD\n${tip}\trefs/heads/main\n.*refs/tags/before$`, "s"));
    }
    const empty = await app.makeProject(user);
    assert.equal(await gitOutput(["ls-remote", empty.address], { cwd: directory, env }), "");
  });
});
