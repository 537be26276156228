import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { Duplex } from "node:stream";
import { after, before, describe, it, mock } from "node:test";
import ssh2, { type Client, type ClientChannel, type ServerChannel } from "ssh2";
import { gitOutput } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { watchSession } from "./session-timeouts.ts";
import { commit, SENDING, type SshApp, sshApp } from "./test-support.ts";
import { wireOf } from "./wire.ts";

const MIN_BYTES = 16 * 1024;
const RECEIVE_MS = 1_200;
const FETCH_MS = 1_500;
const PUSH_MS = 3_000;
const RATES = {
  receive: { minBytes: MIN_BYTES, windowMs: RECEIVE_MS },
  fetch: { minBytes: MIN_BYTES, windowMs: FETCH_MS },
  push: { minBytes: MIN_BYTES, windowMs: PUSH_MS },
};

/** Waits as `until` does; meanwhile time passes for the limits, for which it otherwise stands still. */
const untilInTime = (what: string, check: () => Promise<boolean>) =>
  until(what, async () => {
    mock.timers.tick(RECEIVE_MS / 6);
    return await check();
  });

describe("SSH sessions of slow clients", () => {
  let app: SshApp;
  let user: Awaited<ReturnType<SshApp["makeKeyedUser"]>>;
  let project: Awaited<ReturnType<SshApp["makeProject"]>>;
  let copy: string;
  const clients: Client[] = [];
  before(async () => {
    app = await sshApp({}, RATES);
    mock.timers.enable({ apis: ["setInterval"] });
    user = await app.makeKeyedUser();
    project = await app.makeProject(user);
    copy = await app.pushFirst(project.address, user.options);
  });
  after(async () => {
    mock.timers.reset();
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

  for (const service of ["upload-pack", "receive-pack"] as const) {
    it(`end if the client is silent after the refs of ${service}`, async () => {
      const { channel, isClosed, stderr } = await open(service);
      await once(channel, "data");
      channel.on("data", () => {});
      await until("git has listed the refs", async () => (await gitProcesses(service)).length === 0);
      await untilInTime("the connection is ended", async () => isClosed());
      assert.match(stderr(), /^ERROR: The session was idle for too long/);
      assert.deepEqual(await gitProcesses(service), []);
    });
  }

  it("end if the client sends a few bytes at a time", async () => {
    const { channel, isClosed } = await open("upload-pack");
    channel.on("data", () => {}).on("error", () => {});
    channel.write("0ff0want ");
    await untilInTime("the connection is ended", async () => {
      if (channel.writable) channel.write("0");
      return isClosed();
    });
  });

  it("end if the client receives nothing, by its window or by its socket", async () => {
    await commit(copy, "large", randomBytes(30_000_000));
    assert.equal((await app.push(copy, project.address, user.options, "main")).code, 0);
    const head = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
    const line = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
    const ask = `${line(`want ${head} side-band-64k ofs-delta\n`)}0000${line("done\n")}`;
    for (const stalled of ["window", "socket"] as const) {
      const { client, channel } = await open("upload-pack");
      channel.pause().write(ask);
      const { _sock } = client as unknown as { _sock: Socket };
      await until("git runs", async () => (await gitProcesses(SENDING)).length > 0);
      if (stalled === "socket") _sock.pause();
      await untilInTime("git has ended", async () => (await gitProcesses("upload-pack")).length === 0);
      await untilInTime("no connection is left", async () => app.connections() === 0);
    }
  });

  it("go on while it is git on the server that is slow", async () => {
    const channel = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const wire = wireOf(channel as unknown as ServerChannel, new Socket(), () => {});
    let ended = false;
    const stop = watchSession(wire, `git-receive-pack '${project.path}.git'`, () => (ended = true), RATES);
    wire.output.write("refs");
    channel.push("pack");
    await until("git has something to read", async () => wire.input.readableLength > 0);
    mock.timers.tick(PUSH_MS * 2.5);
    assert.equal(ended, false);

    wire.input.resume();
    await until("git has read it", async () => wire.input.readableLength === 0);
    mock.timers.tick(PUSH_MS * 2.5);
    assert.equal(ended, true, "it is the client that is slow");
    stop();
  });
});
