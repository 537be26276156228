import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { run } from "#test/support/ssh.ts";
import { ensureHostKeys, hostKeyDirectory, hostKeyFiles } from "./host-keys.ts";

describe("host keys", () => {
  it("are created once, by the first process, and readable only by their owner", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    try {
      const found = await Promise.all(Array.from({ length: 4 }, () => ensureHostKeys(dataDir)));
      for (const keys of found) assert.deepEqual(keys, found[0]);
      assert.deepEqual(await ensureHostKeys(dataDir), found[0]);
      assert.deepEqual(
        found[0]?.map(({ kind }) => kind),
        ["ssh-ed25519", "ssh-rsa"],
      );
      const files = hostKeyFiles(dataDir);
      assert.equal((await readdir(hostKeyDirectory(dataDir))).length, files.length);
      for (const [index, file] of files.entries()) {
        assert.equal((await stat(file)).mode & 0o777, 0o600);
        const { stdout } = await run("ssh-keygen", ["-l", "-f", file], {});
        assert.ok(stdout.includes(` ${found[0]?.[index]?.fingerprint} `), stdout);
      }
      await writeFile(files[0] as string, "nothing of the kind\n");
      await assert.rejects(ensureHostKeys(dataDir), /is no host key; restore it from a backup/);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
