import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Refusal } from "#lib/refusal.ts";
import { lineSplitter } from "./output.ts";

describe("splitting chunks into lines", () => {
  test("a line is joined across chunks, whatever character ends it", () => {
    const split = lineSplitter({ end: "\0" });
    assert.deepEqual([split("a\0b"), split("c"), split("d\0\0"), split("e\0")], [["a"], [], ["bcd", ""], ["e"]]);
  });

  test("an overlong line is cut to one byte more than the limit", () => {
    const split = lineSplitter({ maxBytes: 3, overlong: "cut" });
    assert.deepEqual(
      [split("abc\nabcde\nab"), split("cde"), split("fgh\nabc"), split("\n")],
      [["abc", "abcd"], [], ["abcd"], ["abc"]],
    );
  });

  test("an overlong line is refused before it is complete", () => {
    const split = lineSplitter({ maxBytes: 3 });
    assert.deepEqual(split("abc\nab"), ["abc"]);
    assert.throws(() => split("cd"), Refusal);
    assert.throws(() => lineSplitter({ maxBytes: 3 })("abcd\n"), Refusal);
  });

  test("a line may have many chunks", () => {
    const chunk = "x".repeat(64 * 1024);
    const split = lineSplitter({ maxBytes: 2 ** 28 });
    for (let n = 0; n < 800; n++) assert.deepEqual(split(chunk), []);
    const [line] = split("\n");
    assert.equal(line?.length, 800 * chunk.length);
  });
});
