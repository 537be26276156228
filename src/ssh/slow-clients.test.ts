import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import ssh2, { type Client, type ClientChannel } from "ssh2";
import { git, gitOutput } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { type SshApp, sshApp } from "./test-support.ts";

const MIN_BYTES = 16 * 1024;
const RECEIVE_MS = 1_000;
const FETCH_MS = 1_500;
const PUSH_MS = 3_000;
const RATES = {
  receive: { minBytes: MIN_BYTES, windowMs: RECEIVE_MS },
  fetch: { minBytes: MIN_BYTES, windowMs: FETCH_MS },
  push: { minBytes: MIN_BYTES, windowMs: PUSH_MS },
};

describe("SSH sessions of slow clients", () => {
  let app: SshApp;
  let user: Awaited<ReturnType<SshApp["makeKeyedUser"]>>;
  let project: Awaited<ReturnType<SshApp["makeProject"]>>;
  let copy: string;
  const clients: Client[] = [];
  before(async () => {
    app = await sshApp({}, RATES);
    user = await app.makeKeyedUser();
    project = await app.makeProject(user);
    copy = await app.pushFirst(project.address, user.options);
  });
  after(async () => {
    for (const client of clients) client.destroy();
    await app.close();
  });

  async function open(service: "upload-pack" | "receive-pack") {
    const client = new ssh2.Client();
    clients.push(client);
    let closed = false;
    client.on("error", () => {}).on("close", () => (closed = true));
    const privateKey = await readFile(user.key.file, "utf8");
    client.connect({ host: "127.0.0.1", port: app.port, username: "git", privateKey });
    await once(client, "ready");
    const channel = await new Promise<ClientChannel>((resolve, reject) => {
      client.exec(`git-${service} '${project.path}.git'`, (error, made) => (error ? reject(error) : resolve(made)));
    });
    let stderr = "";
    channel.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    return { client, channel, isClosed: () => closed, stderr: () => stderr };
  }
  const commitLarge = async (name: string, bytes: number) => {
    await writeFile(join(copy, name), randomBytes(bytes));
    await gitOutput(["add", "."], { cwd: copy });
    await gitOutput(["commit", "--quiet", `--message=${name}`], { cwd: copy });
  };
  const push = () =>
    git(["-c", "core.compression=0", "-c", "core.bigFileThreshold=1m", "push", "--quiet", project.address, "main"], {
      cwd: copy,
      env: app.tools.gitEnv(user.options),
    });

  for (const service of ["upload-pack", "receive-pack"] as const) {
    it(`end if the client is silent after the refs of ${service}`, async () => {
      const { channel, isClosed, stderr } = await open(service);
      channel.on("data", () => {});
      await until("the connection is ended", async () => isClosed());
      assert.match(stderr(), /^ERROR: The session was idle for too long/);
      assert.deepEqual(await gitProcesses(service), []);
    });
  }

  it("end if the client sends a few bytes at a time", async () => {
    const { channel, isClosed } = await open("upload-pack");
    channel.on("data", () => {}).on("error", () => {});
    channel.write("0ff0want ");
    const dripping = setInterval(() => channel.writable && channel.write("0"), FETCH_MS / 5);
    await until("the connection is ended", async () => isClosed());
    clearInterval(dripping);
  });

  it("end if the client receives nothing, by its window or by its socket", async () => {
    await commitLarge("large", 30_000_000);
    assert.equal((await push()).code, 0);
    const head = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
    const line = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
    const ask = `${line(`want ${head} side-band-64k ofs-delta\n`)}0000${line("done\n")}`;
    for (const stalled of ["window", "socket"] as const) {
      const { client, channel } = await open("upload-pack");
      channel.pause().write(ask);
      const { _sock } = client as unknown as { _sock: Socket };
      if (stalled === "socket") {
        await until("git runs", async () => (await gitProcesses("upload-pack")).length > 0);
        _sock.pause();
      }
      await until("git has ended", async () => (await gitProcesses("upload-pack")).length === 0);
      await until("no connection is left", async () => app.connections() === 0);
    }
  });

  it("go on while it is git on the server that is slow", async () => {
    await commitLarge("larger", 30_000_000);
    const pushing = push();
    const [pid] = await until("git receives", async () => {
      const found = await gitProcesses("receive-pack");
      return found.length > 0 && found;
    });
    assert.ok(pid);
    process.kill(pid, "SIGSTOP");
    await sleep(PUSH_MS * 2.5);
    process.kill(pid, "SIGCONT");
    const { code, stderr } = await pushing;
    assert.equal(code, 0, stderr);
  });
});
