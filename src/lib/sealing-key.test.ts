import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ensureSealingKey, sealingKeyFile } from "./sealing-key.ts";

describe("the sealing key", () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-key-"));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  test("is created once, with 256 bits, readable by its owner only", async () => {
    const dataDir = join(directory, "deep", "data");
    const made = await ensureSealingKey(dataDir);
    assert.equal(made.key.length, 32);
    assert.deepEqual(await ensureSealingKey(dataDir), made);
    assert.equal((await stat(sealingKeyFile(dataDir))).mode & 0o777, 0o600);
  });

  test("is the same for processes that start concurrently", async () => {
    for (let n = 0; n < 20; n++) {
      const dataDir = join(directory, `started-${n}`);
      const keys = await Promise.all(Array.from({ length: 5 }, () => ensureSealingKey(dataDir)));
      assert.equal(new Set(keys.map(({ key }) => key.toString("hex"))).size, 1);
      assert.deepEqual(await readdir(dataDir), ["sealing.key"]);
    }
  });

  test("is never replaced if it is damaged", async () => {
    await writeFile(sealingKeyFile(directory), "k1:too-short\n");
    await assert.rejects(ensureSealingKey(directory), /restore it from a backup/);
    assert.equal(await readFile(sealingKeyFile(directory), "utf8"), "k1:too-short\n");
  });
});
