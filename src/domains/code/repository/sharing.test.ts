import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { git } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { until } from "#test/support/until.ts";
import { listen } from "#test/support/wire.ts";
import { type Code, codeOf, streamOfCommits } from "#domains/storage/repositories/test-support.ts";

const SOCKETS = 64;
/** A process has 32 slots by default. */
const QUARTER = 8;

describe("sharing git slots over HTTP", () => {
  let app: TestApp;
  let port: number;
  let directory: string;
  before(async () => {
    app = await testApp();
    port = await listen(app);
    directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  });
  after(async () => {
    await app.close();
    await rm(directory, { recursive: true, force: true });
  });

  const packet = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;

  /** Requests a clone and reads nothing of it. */
  async function cloneWithoutReading({ project, owner, repository }: Code): Promise<Socket> {
    const head = await repository.objects.info("refs/heads/main");
    const body = `${packet(`want ${head?.id} side-band-64k ofs-delta\n`)}0000${packet("done\n")}`;
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}).pause();
    await once(socket, "connect");
    socket.write(
      [
        `POST /${project.path_with_namespace}.git/git-upload-pack HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        `Authorization: Basic ${Buffer.from(`any:${owner.token}`).toString("base64")}`,
        "Content-Type: application/x-git-upload-pack-request",
        `Content-Length: ${body.length}`,
        "",
        body,
      ].join("\r\n"),
    );
    return socket;
  }

  test("clients that read nothing do not block the clones of others", async () => {
    const greedy = await codeOf(app, streamOfCommits([{ message: "Load", files: { load: randomBytes(30_000_000) } }]));
    const other = await codeOf(app, streamOfCommits([{ message: "Begin", files: { "README.md": "# Harbour\n" } }]));
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => cloneWithoutReading(greedy)));
    const uploads = () => gitProcesses("upload-pack");
    try {
      await until("git runs for some of them", async () => (await uploads()).length >= QUARTER);
      const address = `http://any:${other.owner.token}@127.0.0.1:${port}/${other.project.path_with_namespace}.git`;
      for (let at = 0; at < 5; at++) {
        const { code, stderr } = await git(["clone", "--quiet", "--bare", address, join(directory, `clone-${at}`)], {
          cwd: directory,
        });
        assert.equal(code, 0, stderr);
      }
      assert.equal((await uploads()).length, QUARTER);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await until("git has ended", async () => (await uploads()).length === 0);
  });

  test("a request that exceeds the memory limit of git is refused with the reason", async () => {
    const code = await codeOf(
      app,
      streamOfCommits([
        {
          message: "Small in the repository, large to compare",
          files: { "lines.txt": Buffer.alloc(32_000_000, "a\n") },
        },
        { message: "Small", files: { "lines.txt": Buffer.alloc(200_000, "b\n") } },
      ]),
    );
    const { token } = code.owner;
    assert.ok((await code.repository.size()) < 200_000);
    const { status: refused, body } = await app.get(`${code.path}/files/lines.txt/blame?ref=main`, { token });
    assert.equal(refused, 413);
    assert.match(body.message, /more memory than git may use here; ask for less/);
    const { status } = await app.get(`${code.path}/commits/main?stats=false`, { token });
    assert.equal(status, 200);
  });
});
