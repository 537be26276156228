import assert from "node:assert/strict";
import { test } from "node:test";
import { mentionsIn, newMentions } from "./mentions.ts";

test("names after an @, in lower case and once", () => {
  for (const [text, names] of [
    ["@anna", ["anna"]],
    ["(@Anna), @bert.b-c_d. @anna", ["anna", "bert.b-c_d"]],
    ["a@anna @ anna @@anna x/@anna @-a", []],
    ["`@anna` ``@bert`` @carl", ["carl"]],
    ["```\n@anna\n```\n@bert", ["bert"]],
    ["~~~~\n@anna\n~~~\n@bert\n~~~~\n@carl", ["carl"]],
    ["> ```\n> @anna\n> ```\n@bert", ["bert"]],
    ["` @anna", ["anna"]],
    ["", []],
  ] as const)
    assert.deepEqual(mentionsIn(text), names, text);
  assert.deepEqual(mentionsIn(null), []);
  assert.deepEqual(mentionsIn(`@anna ${"\n".repeat(64 * 1024)}@bert`), ["anna"]);
  assert.equal(mentionsIn(Array.from({ length: 500 }, (_, at) => `@u${at}`).join(" ")).length, 100);
});

test("only those who were not mentioned before are new", () => {
  assert.deepEqual(newMentions("@anna @bert", "@Bert"), ["anna"]);
  assert.deepEqual(newMentions(null, "@bert"), []);
});
