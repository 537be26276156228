import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Refusal } from "#lib/refusal.ts";
import { lineSplitter } from "./output.ts";

describe("lines of what comes in parts", () => {
  test("are joined across parts, whatever ends them", () => {
    const split = lineSplitter({ end: "\0" });
    assert.deepEqual([split("a\0b"), split("c"), split("d\0\0"), split("e\0")], [["a"], [], ["bcd", ""], ["e"]]);
  });

  test("are cut to one more than they may have", () => {
    const split = lineSplitter({ maxBytes: 3, overlong: "cut" });
    assert.deepEqual(
      [split("abc\nabcde\nab"), split("cde"), split("fgh\nabc"), split("\n")],
      [["abc", "abcd"], [], ["abcd"], ["abc"]],
    );
  });

  test("are refused before they are whole", () => {
    const split = lineSplitter({ maxBytes: 3 });
    assert.deepEqual(split("abc\nab"), ["abc"]);
    assert.throws(() => split("cd"), Refusal);
    assert.throws(() => lineSplitter({ maxBytes: 3 })("abcd\n"), Refusal);
  });

  test("take no longer for a part when more came before it", () => {
    const part = "x".repeat(64 * 1024);
    const split = lineSplitter({ maxBytes: 2 ** 28 });
    const before = process.threadCpuUsage();
    for (let n = 0; n < 800; n++) assert.deepEqual(split(part), []);
    const [line] = split("\n");
    const { user, system } = process.threadCpuUsage(before);
    assert.equal(line?.length, 800 * part.length);
    assert.ok(user + system < 2_000_000, `it took ${(user + system) / 1000} ms`);
  });
});
