import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bannedWords } from "#tools/words.ts";

describe("words that the glossary replaced", () => {
  for (const [path, line] of [
    ["src/http/serve.ts", "if (endpoint.keepsAnswer) return;"],
    ["src/http/kept-answers.ts", ""],
    ["src/db/database.ts", "const MOST_TRIES = 3;"],
    ["src/jobs/worker.ts", "const EVERY = 5_000;"],
    ["src/git/refs.ts", "export interface Wanted {"],
    ["docs/decisions.md", "An address of before leads on."],
  ] as const) {
    test(`${path}: ${line}`, () => assert.equal(bannedWords(path, `first\n${line}`).length, 1));
  }

  test("ordinary uses of the same words are fine", () => {
    const text =
      "const found = rows[0];\n// Somebody else may hold the lease; the REST API says so.\nconst MAX_BYTES = 1;\n";
    assert.deepEqual(bannedWords("src/db/database.ts", text), []);
  });
});
