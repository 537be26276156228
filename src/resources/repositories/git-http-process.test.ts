import assert from "node:assert/strict";
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
import { gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { type RunningServer, startServer } from "#test/support/server.ts";

const MOST_MORE = 50;
const FILES = 15;
/** Nothing is gained by packing what is random. */
const FAST = ["-c", "core.compression=0", "-c", "pack.window=0"];
const FILE = 4_000_000;
/** Longer than requests that are no pushes have when the server is asked to stop. */
const STOPPING = 11_500;

/** A server of the test's own with a project of the administrator's. */
async function served(work: (server: RunningServer, address: string) => Promise<void>) {
  const server = await startServer({ FAIRLEAD_SSH_PORT: "off" });
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

/** By how much the memory of a process grows at most while something is done. */
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

describe("a process that serves git over HTTP", { concurrency: true }, () => {
  after(removeWorkingCopies);

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
        // Buffers that were used are given back when there are many of them, which is so after the first pack.
        await load("first");
        await push();
        await load("second");
        const pushed = await growth(pid, push);
        assert.ok(pushed < MOST_MORE, `${pushed} MB more during a push of ${(FILES * FILE) / 1e6} MB`);
        const cloned = await growth(pid, () =>
          gitOutput(["clone", "--quiet", "--bare", address, join(to, "clone")], options),
        );
        assert.ok(cloned < MOST_MORE, `${cloned} MB more during a clone`);
      } finally {
        await rm(to, { recursive: true, force: true });
      }
    }));

  test("finishes a push that is under way when it is asked to stop", () =>
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
      await sleep(1000);
      process.kill(server.pid, "SIGTERM");
      await sleep(STOPPING);
      asked.end(pack.subarray(20));
      const [answer] = await answered;
      assert.match(await text(answer), /unpack ok\n.*ok refs\/heads\/main\n/s);
      assert.equal((await server.exited()).code, 0);
    }));
});
