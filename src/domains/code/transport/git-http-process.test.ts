import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { git, gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { until } from "#test/support/until.ts";
import { beginPush, PUSHED, served } from "./test-support.ts";

const FILE = 4_000_000;

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

  test("finishes a running push when it is stopped", () =>
    served(async (server, address) => {
      const push = await beginPush(server, address);
      process.kill(server.pid, "SIGTERM");
      await until("the server stops", async () => server.log().includes('"msg":"stopping"'));
      assert.match(await push.finish(), PUSHED);
      assert.equal((await server.exited()).code, 0);
    }));
});
