import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import ssh2, { type Client, type ClientChannel } from "ssh2";
import { readConfig } from "#config.ts";
import { makeLimiter } from "#limits/rate-limits.ts";
import { admission } from "./admission.ts";
import { type SshApp, sshApp } from "./test-support.ts";

describe("SSH refuses", () => {
  let app: SshApp;
  let user: Awaited<ReturnType<SshApp["makeKeyedUser"]>>;
  before(async () => {
    app = await sshApp();
    user = await app.makeKeyedUser();
  });
  after(() => app.close());

  /** A client for requests that the one of OpenSSH cannot send in a test. */
  async function withClient(work: (client: Client) => Promise<void>) {
    const client = new ssh2.Client();
    client.on("error", () => {});
    const privateKey = await readFile(user.key.file, "utf8");
    client.connect({ host: "127.0.0.1", port: app.port, username: "git", privateKey, strictVendor: false });
    await once(client, "ready");
    try {
      await work(client);
    } finally {
      client.end();
    }
  }
  const refusal = (ask: (done: (error: Error | null | undefined) => void) => unknown) =>
    new Promise<string>((resolve, reject) => {
      ask((error) => (error ? resolve(error.message) : reject(new Error("it was granted"))));
    });
  const open = (client: Client, command: string, options = {}) =>
    new Promise<ClientChannel>((resolve, reject) => {
      client.exec(command, options, (error, channel) => (error ? reject(error) : resolve(channel)));
    });
  const assertAlive = async () => assert.equal((await app.tools.ssh(["-T", ...user.options], app.port)).code, 0);

  it("commands other than those of git", async () => {
    for (const command of [
      "ls",
      "git-upload-pack",
      "git-upload-pack 'a/b'; id",
      "/bin/sh",
      "git-lfs-transfer a/b",
      "exit",
    ]) {
      const { code, stdout, stderr } = await app.tools.ssh(user.options, app.port, [command]);
      assert.deepEqual([code, stdout], [1, ""], command);
      assert.equal(stderr, "ERROR: Only git can be used here: clone, fetch and push\n");
    }
  });

  it("a terminal", async () => {
    const { stderr } = await app.tools.ssh(["-tt", ...user.options], app.port);
    assert.match(stderr, /PTY allocation request failed/);
    await withClient(async (client) => {
      assert.match(
        await refusal((done) => client.shell({ term: "xterm" }, done)),
        /Unable to request a pseudo-terminal/,
      );
    });
  });

  it("file transfers", async () => {
    const { code, stdout } = await app.tools.ssh(["-s", ...user.options], app.port, ["sftp"]);
    assert.deepEqual([code, stdout], [255, ""]);
    await withClient(async (client) => {
      assert.match(await refusal((done) => client.sftp(done)), /Unable to start subsystem/);
      assert.match(await refusal((done) => client.subsys("netconf", done)), /Unable to start subsystem/);
    });
  });

  it("forwarding of ports, sockets, windows and agents", async () => {
    const { code, stderr } = await app.tools.ssh([`-W127.0.0.1:${app.port}`, ...user.options], app.port);
    assert.equal(code, 255);
    assert.match(stderr, /stdio forwarding failed/);
    const remote = await app.tools.ssh(["-oExitOnForwardFailure=yes", "-R0:127.0.0.1:1", ...user.options], app.port);
    assert.equal(remote.code, 255);
    await withClient(async (client) => {
      const prohibited = /Channel open failure/;
      assert.match(await refusal((done) => client.forwardOut("127.0.0.1", 1, "127.0.0.1", app.port, done)), prohibited);
      assert.match(await refusal((done) => client.openssh_forwardOutStreamLocal("/tmp/x", done)), prohibited);
      assert.match(await refusal((done) => client.forwardIn("127.0.0.1", 0, done)), /Unable to bind/);
      assert.match(await refusal((done) => client.openssh_forwardInStreamLocal("/tmp/x", done)), /Unable to bind/);
      assert.match(await refusal((done) => client.exec("ls", { x11: true }, done)), /Unable to request X11/);
    });
  });

  it("environment variables other than GIT_PROTOCOL", async () => {
    const { path, address } = await app.makeProject(user);
    await app.pushFirst(address, user.options);
    const speaks = async (name: string, value: string) => {
      const options = [`-oSetEnv=${name}=${value}`, ...user.options];
      return (await app.tools.ssh(options, app.port, [`git-upload-pack '${path}'`], "0000")).stdout;
    };
    assert.match(await speaks("GIT_PROTOCOL", "version=2"), /^000eversion 2\n/);
    for (const [name, value] of [
      ["GIT_PROTOCOL", "version=3"],
      ["GIT_PROTOCOL", "version=2:version=1"],
      ["GIT_TRACE", "1"],
      ["LD_PRELOAD", "version=2"],
    ] as const) {
      assert.match(await speaks(name, value), /^[\da-f]{44} HEAD\0/, `${name}=${value}`);
    }
  });

  it("more than one command a session, and more than ten sessions a connection", async () => {
    const { path, address } = await app.makeProject(user);
    await app.pushFirst(address, user.options);
    const command = `git-upload-pack '${path}'`;
    await withClient(async (client) => {
      const channels = await Promise.all(Array.from({ length: 10 }, () => open(client, command)));
      await assert.rejects(open(client, command), /Channel open failure/);
      const [first] = channels;
      assert.ok(first);
      let out = "";
      first.on("data", (chunk: Buffer) => (out += chunk.toString("latin1")));
      const { _protocol } = client as unknown as {
        _protocol: { exec(channel: number, text: string, reply: boolean): void };
      };
      const { outgoing } = first as unknown as { outgoing: { id: number } };
      _protocol.exec(outgoing.id, "git-upload-pack 'other/one'", true);
      await sleep(200);
      first.end("0000");
      await once(first, "close");
      assert.equal(out.match(/ HEAD\0/g)?.length, 1);
    });
    await assertAlive();
  });

  it("noise: bytes that are not SSH end their connection and nothing else", async () => {
    const before = app.logged.length;
    const ident = "SSH-2.0-OpenSSH_9.2p1\r\n";
    const noises = [
      "GET / HTTP/1.1\r\n\r\n",
      "SSH-1.5-old\r\n",
      `SSH-2.0-${"x".repeat(9000)}\r\n`,
      ident,
      `${ident}${"\0".repeat(64)}`,
      Buffer.concat([Buffer.from(ident), Buffer.from([255, 255, 255, 255]), randomBytes(64)]),
      ...Array.from({ length: 30 }, () => Buffer.concat([Buffer.from(ident), randomBytes(2000)])),
      ...Array.from({ length: 30 }, () => {
        // A complete packet with invalid content.
        const packet = Buffer.concat([Buffer.from([0, 0, 0, 252, 4]), randomBytes(251)]);
        packet[5] = Math.floor(Math.random() * 100);
        return Buffer.concat([Buffer.from(ident), packet]);
      }),
    ];
    await Promise.all(
      noises.map(async (noise) => {
        const socket = connect(app.port, "127.0.0.1");
        socket.on("error", () => {}).on("data", () => {});
        socket.on("connect", () => socket.end(noise));
        // A reset connection is closed as well.
        await new Promise((resolve) => socket.once("close", resolve));
      }),
    );
    // Except for the log lines of earlier sessions.
    assert.deepEqual(
      app.logged.slice(before).filter((line) => !line.includes('"key_id"')),
      [],
    );
    await assertAlive();
  });
});

describe("SSH admits", () => {
  const ADDRESS = "192.0.2.1";
  const gate = (env: Record<string, string> = {}) => {
    let now = 1_700_000_000_000;
    const limiter = makeLimiter(() => now);
    return { ...admission({ config: readConfig(env), limiter }, () => now), pass: (ms: number) => (now += ms) };
  };

  it("a limited number of unauthenticated connections, per network and in total", () => {
    const { admit } = gate();
    const few = Array.from({ length: 50 }, () => admit(ADDRESS));
    assert.ok(few.every(Boolean));
    assert.equal(admit(ADDRESS), undefined);
    few[0]?.authenticated("user 1");
    assert.ok(admit(ADDRESS));
    few[0]?.closed(1);
    few[1]?.closed(0);
    assert.ok(admit(ADDRESS));
    assert.equal(admit(ADDRESS), undefined);
    const others = Array.from({ length: 200 }, (_, index) => admit(`198.51.100.${index}`));
    assert.equal(others.filter(Boolean).length, 150);
  });

  it("no network with sixty refused keys in this minute", () => {
    const { admit, pass } = gate();
    for (let connection = 0; connection < 10; connection++) admit(ADDRESS)?.closed(6);
    assert.equal(admit(ADDRESS), undefined);
    assert.ok(admit("192.0.2.2"));
    pass(60_000);
    assert.ok(admit(ADDRESS));
  });

  it("no blocked network when many others are blocked as well", () => {
    const { admit } = gate();
    const useUp = (address: string) => {
      for (let connection = 0; connection < 10; connection++) admit(address)?.closed(6);
    };
    useUp("10.0.0.0");
    useUp(ADDRESS);
    for (let other = 1; other < 10_000; other++) useUp(`10.0.${other >> 8}.${other & 255}`);
    assert.equal(admit(ADDRESS), undefined);
    assert.ok(admit("10.0.0.0"), "the oldest is admitted again, since the list is bounded");
  });

  it("authenticated clients as often as they like", () => {
    const { admit } = gate();
    for (let connection = 0; connection < 500; connection++) {
      const admitted = admit(ADDRESS);
      assert.ok(admitted);
      assert.equal(admitted.authenticated("user 1"), true);
      admitted.closed(6);
    }
  });

  it("a limited number of connections of one principal and of one network", () => {
    const { admit } = gate();
    const prove = (principal: string, address = ADDRESS) => {
      const admitted = admit(address);
      return { admitted, isAdmitted: admitted?.authenticated(principal) };
    };
    const held = Array.from({ length: 50 }, () => prove("user 1"));
    assert.ok(held.every(({ isAdmitted }) => isAdmitted));
    const tooMany = prove("user 1", "192.0.2.9");
    assert.equal(tooMany.isAdmitted, false);
    tooMany.admitted?.closed(0);
    held[0]?.admitted?.closed(0);
    assert.equal(prove("user 1").isAdmitted, true);
    for (let other = 50; other < 500; other++) assert.equal(prove(`user ${other}`).isAdmitted, true);
    assert.equal(prove("user 2").isAdmitted, false);
    assert.equal(prove("user 2", "192.0.2.2").isAdmitted, true);
    for (let other = 1000; other < 1600; other++) assert.equal(prove(`user ${other}`, "127.0.0.1").isAdmitted, true);
  });
});
