import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { beginPush, PUSHED, served } from "./test-support.ts";

const MAX_GROWTH_MB = 50;
const FILES = 15;
/** Random bytes do not compress. */
const FAST = ["-c", "core.compression=0", "-c", "pack.window=0"];
const FILE = 4_000_000;
/** Longer than the server waits for requests other than pushes when it stops. */
const STOPPING = 11_500;

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

  test("finishes a running push when it is stopped, even one that takes longer than other requests may", () =>
    served(async (server, address) => {
      const push = await beginPush(server, address);
      process.kill(server.pid, "SIGTERM");
      await sleep(STOPPING);
      assert.match(await push.finish(), PUSHED);
      assert.equal((await server.exited()).code, 0);
    }));
});
