import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lineSplitter } from "./output.ts";

describe("splitting chunks into lines", () => {
  test("a chunk takes no longer after many others of the same line", () => {
    const chunk = "x".repeat(64 * 1024);
    const split = lineSplitter({ maxBytes: 2 ** 28 });
    const before = process.threadCpuUsage();
    for (let n = 0; n < 800; n++) split(chunk);
    split("\n");
    const { user, system } = process.threadCpuUsage(before);
    assert.ok(user + system < 2_000_000, `it took ${(user + system) / 1000} ms`);
  });
});
