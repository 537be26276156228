import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { dealer, recordCosts, testFiles } from "#tools/test-files.ts";

describe("the files of a test run", () => {
  const root = mkdtempSync(join(tmpdir(), "fairlead-test-files-"));
  before(() => {
    for (const folder of ["src", "test", "tools"]) mkdirSync(join(root, folder));
    for (const file of ["src/a.test.ts", "src/a.timed.test.ts", "src/a.ts", "test/b.test.ts"])
      writeFileSync(join(root, file), "");
    recordCosts(root, [
      { file: "test/long.test.ts", seconds: 60.4, cpu: 50 },
      { file: "test/middling.test.ts", seconds: 20, cpu: 1 },
      { file: "src/short.test.ts", seconds: 1.2, cpu: 1 },
    ]);
  });
  after(() => rmSync(root, { recursive: true }));

  test("timed cases run alone or not at all", () => {
    assert.deepEqual(testFiles(root, false), ["src/a.test.ts", "test/b.test.ts"]);
    assert.deepEqual(testFiles(root, true), ["src/a.timed.test.ts"]);
  });

  test("are dealt longest first, each once, and one that takes long alone", () => {
    const short = Array.from({ length: 40 }, (_, n) => `src/short-${n}.test.ts`);
    const next = dealer(root, [...short, "test/middling.test.ts", "test/long.test.ts"], 3);
    const batches: string[][] = [];
    for (let batch = next(); batch.length > 0; batch = next()) batches.push(batch);
    assert.deepEqual(batches.slice(0, 2), [["test/long.test.ts"], ["test/middling.test.ts"]]);
    assert.deepEqual(batches.slice(2).flat(), short);
    assert.ok(batches.length > 5, "few at the end");
    assert.deepEqual(batches.at(-1)?.length, 1);
  });
});
