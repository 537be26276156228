import assert from "node:assert/strict";
import { test } from "node:test";
import { detailsOf } from "./payload.ts";

const detailsIn = (text: string) => detailsOf(JSON.parse(text)).map(({ name, value }) => [name, value]);

test("the names of values have dots between, also in lists", () => {
  assert.deepEqual(detailsIn('{"a": {"b": {"c": "x"}}, "list": [true, [1.5]], "none": null, "": "blank"}'), [
    ["a.b.c", "x"],
    ["list.0", "true"],
    ["list.1.0", "1.5"],
    ["none", null],
    ["", "blank"],
  ]);
});

test("what is empty is shown as it is", () => {
  assert.deepEqual(detailsIn('{"object": {}, "list": [], "text": ""}'), [
    ["object", "{}"],
    ["list", "[]"],
    ["text", ""],
  ]);
});

test("keys that name a prototype are keys like others", () => {
  const payload = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}');
  assert.deepEqual(detailsOf(payload), [
    { name: "__proto__.polluted", value: "true" },
    { name: "constructor", value: "1" },
  ]);
  assert.equal("polluted" in {}, false);
});

test("at most 500 values of at most 1,000 characters are shown", () => {
  assert.equal(detailsIn(JSON.stringify(Array.from({ length: 600 }, (_, n) => n))).length, 500);
  assert.equal(detailsIn(JSON.stringify({ a: Array.from({ length: 499 }, () => ({ b: 1, c: 2 })) })).length, 500);
  const [[name = "", value = ""] = []] = detailsIn(JSON.stringify({ ["n".repeat(300)]: `${"v".repeat(999)}👩` }));
  assert.deepEqual([name?.length, value?.length], [255, 999]);
  const deep = `${'{"key":'.repeat(100)}1${"}".repeat(100)}`;
  assert.deepEqual(
    detailsIn(deep).map(([path, text]) => [path?.length, text]),
    [[255, "1"]],
  );
});
