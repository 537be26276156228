import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { PLANTS } from "./plants.ts";

test("each planted defect of the campaign replaces a text that is there", async () => {
  const root = join(import.meta.dirname, "../..");
  for (const { name, changes } of PLANTS)
    for (const { file, from } of changes) {
      const source = await readFile(join(root, file), "utf8");
      assert.ok(source.includes(from), `${name}: ${file} has no ${from}`);
    }
});
