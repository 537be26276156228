import assert from "node:assert/strict";
import { closeSync } from "node:fs";
import { describe, test } from "node:test";
import { opened, withPipe, writeMany } from "./test-support.ts";

describe("log destination", () => {
  test("a reader that does not read costs little memory, and nothing waits for it", () =>
    withPipe(async (write, openReader) => {
      const reader = openReader();
      const { destination } = opened(write);
      const before = process.memoryUsage().heapUsed;
      await writeMany(destination);
      assert.ok(process.memoryUsage().heapUsed - before < 50_000_000);
      const began = performance.now();
      destination.flushSync();
      assert.ok(performance.now() - began < 10_000);
      closeSync(reader);
    }));
});
