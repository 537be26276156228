import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { git, gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { type RunningServer, startServer } from "#test/support/server.ts";
import { until } from "#test/support/until.ts";

const MAX_GROWTH_MB = 50;
const FILES = 15;
/** Random bytes do not compress. */
const FAST = ["-c", "core.compression=0", "-c", "pack.window=0"];
const FILE = 4_000_000;
/** Longer than the server waits for requests other than pushes when it stops. */
const STOPPING = 11_500;

/** Runs a server with a project of the administrator. */
async function served(
  work: (server: RunningServer, address: string) => Promise<void>,
  env: Record<string, string> = {},
) {
  const server = await startServer({ FAIRLEAD_SSH_PORT: "off", ...env });
  try {
    const made = await fetch(`${server.url}/api/v4/projects`, {
      method: "POST",
      headers: { "private-token": server.token, "content-type": "application/json" },
      body: JSON.stringify({ name: "harbour" }),
    });
    const { path_with_namespace } = (await made.json()) as { path_with_namespace: string };
    await work(server, `${server.url.replace("//", `//any:${server.token}@`)}/${path_with_namespace}.git`);
  } finally {
    await server.stop();
  }
}

const residentMegabytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

/** The largest growth of the memory of a process during some work. */
async function growth(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = residentMegabytes(pid);
  let most = before;
  const looking = setInterval(() => (most = Math.max(most, residentMegabytes(pid))), 20);
  try {
    await work();
  } finally {
    clearInterval(looking);
  }
  return most - before;
}

/** Root may make a disk that is soon full. */
const skipDisk = process.getuid?.() === 0 ? false : "needs root, to mount a small disk";

describe("a process that serves git over HTTP", { concurrency: true }, () => {
  after(removeWorkingCopies);

  test("logs a push that does not fit on the disk as a warning with the reason", { skip: skipDisk }, async () => {
    const disk = await mkdtemp(join(tmpdir(), "fairlead-disk-"));
    await promisify(execFile)("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]);
    try {
      await served(
        async (server, address) => {
          const copy = await workingCopy();
          await writeFile(join(copy, "large"), randomBytes(FILE));
          await gitOutput(["add", "."], { cwd: copy });
          await gitOutput(["commit", "--quiet", "--message=Large"], { cwd: copy });
          const { code, stderr } = await git(["push", address, "main"], { cwd: copy });
          assert.equal(code, 1, stderr);
          const logged = () => /^\{"level":"warn".*"operation":"repositories\.push".*$/m.exec(server.log())?.[0];
          const { status, reason } = JSON.parse(await until("the push is logged", async () => logged()));
          assert.equal(status, 200);
          assert.match(reason, /^unpack .*No space left on device/);
        },
        { FAIRLEAD_STORAGES: `default=${disk}` },
      );
    } finally {
      await promisify(execFile)("umount", [disk]);
      await rm(disk, { recursive: true });
    }
  });

  test("keeps its memory flat while large packs come and go", () =>
    served(async ({ pid }, address) => {
      const copy = await workingCopy();
      const options = { cwd: copy };
      const load = async (name: string) => {
        for (let n = 0; n < FILES; n++) await writeFile(join(copy, `${name}-${n}`), randomBytes(FILE));
        await gitOutput([...FAST, "add", "."], options);
        await gitOutput(["commit", "--quiet", "--message=Load"], options);
      };
      const push = () => gitOutput([...FAST, "push", "--quiet", address, "main"], options);
      const to = await mkdtemp(join(tmpdir(), "fairlead-clone-"));
      try {
        // The first pack allocates the buffers that later ones reuse.
        await load("first");
        await push();
        await load("second");
        const pushed = await growth(pid, push);
        assert.ok(pushed < MAX_GROWTH_MB, `${pushed} MB more during a push of ${(FILES * FILE) / 1e6} MB`);
        const cloned = await growth(pid, () =>
          gitOutput(["clone", "--quiet", "--bare", address, join(to, "clone")], options),
        );
        assert.ok(cloned < MAX_GROWTH_MB, `${cloned} MB more during a clone`);
      } finally {
        await rm(to, { recursive: true, force: true });
      }
    }));

  test("finishes a running push when it is stopped", () =>
    served(async (server, address) => {
      const copy = await workingCopy();
      const id = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
      const packed = join(copy, ".git", "objects", "pack", "pack");
      const name = await gitOutput(["pack-objects", "--quiet", "--revs", packed], { cwd: copy, input: `${id}\n` });
      const pack = readFileSync(`${packed}-${name}.pack`);
      const { hostname, port, pathname, username, password } = new URL(address);
      const asked = request({
        method: "POST",
        host: hostname,
        port,
        path: `${pathname}/git-receive-pack`,
        agent: false,
        auth: `${username}:${password}`,
        headers: { "content-type": "application/x-git-receive-pack-request" },
      });
      const line = `${"0".repeat(40)} ${id} refs/heads/main\0 report-status`;
      asked.write(`${(line.length + 4).toString(16).padStart(4, "0")}${line}0000`);
      asked.write(pack.subarray(0, 20));
      const answered = once(asked, "response") as Promise<[IncomingMessage]>;
      await until("git receives it", async () => (await gitProcesses("receive-pack", server.pid)).length > 0);
      process.kill(server.pid, "SIGTERM");
      await sleep(STOPPING);
      asked.end(pack.subarray(20));
      const [answer] = await answered;
      assert.match(await text(answer), /unpack ok\n.*ok refs\/heads\/main\n/s);
      assert.equal((await server.exited()).code, 0);
    }));
});
