import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Operation, operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import { SCOPES } from "./callers.ts";
import { keyOf, linesOf } from "./cells.ts";
import type { Line } from "./line.ts";
import { duplicateLines, lines } from "./lines.ts";

/** Expectations come from the contracts and these files only, so they must not import the tested code. */
const INDEPENDENT = ["line", "callers", "model"];

describe("the lines of the matrix", () => {
  const operations = operationsOf(resources);

  test("are there for every endpoint, once, and for nothing else", () => {
    assert.deepEqual(
      operations.map(keyOf).filter((key) => !(key in lines)),
      [],
    );
    const served = new Set(operations.map(keyOf));
    assert.deepEqual(
      Object.keys(lines).filter((key) => !served.has(key)),
      [],
    );
    assert.deepEqual(duplicateLines, []);
  });

  for (const name of INDEPENDENT) {
    test(`do not take their expectations from the tested code in ${name}.ts`, () => {
      const text = readFileSync(join(import.meta.dirname, `${name}.ts`), "utf8");
      const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]*)"/g)].map((found) => found[1] ?? "");
      const own = INDEPENDENT.map((each) => `./${each}.ts`);
      assert.deepEqual(
        imported.filter((each) => !own.includes(each)),
        [],
      );
    });
  }

  for (const operation of operations) {
    test(`name the scopes that open ${keyOf(operation)}`, () => {
      const opening = scopesThatOpen(operation);
      for (const line of linesOf(operation)) if (!line.ignoresCredentials) assert.deepEqual(scopesIn(line), opening);
    });
  }
});

function scopesThatOpen({ endpoint: { access, method } }: Operation): string[] {
  const implied = method === "GET" && !access.forGit ? ["api", "read_api"] : ["api"];
  return SCOPES.filter((scope) => implied.includes(scope) || access.scopes.includes(scope));
}

const scopesIn = ({ scopes }: Line): string[] =>
  SCOPES.filter((scope) => scopes === "any" || scopes.split(" ").includes(scope));
