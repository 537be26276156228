import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Blobs, directoryBlobs } from "./blobs.ts";

describe("blobs", () => {
  let directory: string;
  let blobs: Blobs;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-blobs-"));
    blobs = directoryBlobs(join(directory, "not-there-yet"));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  test("a blob is stored under its hash and read back", async () => {
    const bytes = Buffer.from("a picture");
    const name = await blobs.put(bytes);
    assert.equal(name, hash("sha256", bytes, "hex"));
    assert.deepEqual(await blobs.get(name), bytes);
    assert.equal(await blobs.put(Buffer.from("a picture")), name);
  });

  test("concurrent writes of the same blob leave one file, readable by its owner only", async () => {
    const bytes = Buffer.from("popular");
    const names = await Promise.all(Array.from({ length: 20 }, () => blobs.put(bytes)));
    const [name = ""] = new Set(names);
    const folder = join(directory, "not-there-yet", name.slice(0, 2));
    assert.deepEqual(await readdir(folder), [name]);
    assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600);
  });

  test("an unknown or invalid name returns undefined", async () => {
    assert.equal(await blobs.get("0".repeat(64)), undefined);
    for (const name of ["", "../../etc/passwd", "x".repeat(64), `${"0".repeat(64)}/../x`]) {
      assert.equal(await blobs.get(name), undefined, name);
    }
  });

  test("an empty blob is stored", async () => {
    assert.deepEqual(await blobs.get(await blobs.put(Buffer.alloc(0))), Buffer.alloc(0));
  });
});
