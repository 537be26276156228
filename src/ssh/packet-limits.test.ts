import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import ssh2, { type Client } from "ssh2";
import { git, gitOutput } from "#test/support/git.ts";
import { type SshApp, sshApp } from "./test-support.ts";

/** Internals of the ssh2 client that have no public method. */
function rekey(client: Client) {
  const { _protocol: protocol } = client as unknown as { _protocol: { rekey(): void } };
  protocol.rekey();
}

/** An error may precede it. */
const closed = (client: Client) => new Promise<void>((resolve) => client.once("close", () => resolve()));

describe("SSH accepts", () => {
  let app: SshApp;
  let user: Awaited<ReturnType<SshApp["makeKeyedUser"]>>;
  before(async () => {
    app = await sshApp();
    user = await app.makeKeyedUser();
  });
  after(() => app.close());

  /** A client and how many key exchanges it completed. */
  function connect(options: Parameters<Client["connect"]>[0]) {
    const client = new ssh2.Client();
    const exchanges = { completed: 0 };
    client.on("error", () => {}).on("handshake", () => exchanges.completed++);
    client.connect({ host: "127.0.0.1", port: app.port, username: "git", ...options });
    return { client, exchanges };
  }
  /** A client that exchanges keys and never authenticates. */
  const connectAnonymously = () => connect({ authHandler: () => {} });
  const connectWithKey = async () => connect({ privateKey: await readFile(user.key.file, "utf8") });
  const assertAlive = async () => assert.equal((await app.tools.ssh(["-T", ...user.options], app.port)).code, 0);

  it("no second key exchange before authentication", async () => {
    const clients = Array.from({ length: 20 }, connectAnonymously);
    await Promise.all(
      clients.map(async ({ client, exchanges }) => {
        client.on("handshake", () => rekey(client));
        await closed(client);
        assert.equal(exchanges.completed, 1);
      }),
    );
    await assertAlive();
  });

  it("no endless attempts that are no failures", async () => {
    let attempts = 0;
    const { client } = connect({
      authHandler(_left, _partial, next) {
        attempts++;
        next({ type: "none", username: "git" });
      },
    });
    await closed(client);
    assert.ok(attempts <= 100, `${attempts} attempts`);
    await assertAlive();
  });

  it("one new key exchange after authentication, and no second one at once", async () => {
    const { client, exchanges } = await connectWithKey();
    await once(client, "ready");
    rekey(client);
    await once(client, "handshake");
    assert.equal(exchanges.completed, 2);
    rekey(client);
    await closed(client);
    assert.equal(exchanges.completed, 2);
    await assertAlive();
  });

  it("new key exchanges of a client that also transfers data", async () => {
    const { address } = await app.makeProject(user);
    const cwd = await app.pushFirst(address, user.options);
    await writeFile(join(cwd, "cargo"), randomBytes(8 * 1024 * 1024));
    await gitOutput(["add", "."], { cwd });
    await gitOutput(["commit", "--quiet", "-m", "Load the cargo"], { cwd });
    const env = app.tools.gitEnv(["-oRekeyLimit=1M", ...user.options]);
    await gitOutput(["push", "--quiet", address, "HEAD:main"], { cwd, env });
    const directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    try {
      const { code, stderr } = await git(["clone", "--quiet", address, "copy"], { cwd: directory, env });
      assert.equal(code, 0, stderr);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it("no key exchange that takes milliseconds of the event loop", async () => {
    const exchangeBy = (algorithm: string) =>
      app.tools.ssh(["-T", `-oKexAlgorithms=${algorithm}`, ...user.options], app.port);
    for (const algorithm of ["curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256"])
      assert.equal((await exchangeBy(algorithm)).code, 0, algorithm);
    for (const algorithm of [
      "ecdh-sha2-nistp384",
      "ecdh-sha2-nistp521",
      "diffie-hellman-group14-sha256",
      "diffie-hellman-group16-sha512",
    ])
      assert.equal((await exchangeBy(algorithm)).code, 255, algorithm);
  });
});
