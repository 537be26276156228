import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { longestBlock } from "#test/support/event-loop.ts";
import { CASES, type ExpensiveRepositories, expensiveRepositories } from "./hostile-reads.fixtures.ts";

/** Generous, since other tests share the process; `npm run test:exhaustion` expects 100 ms of a server of its own. */
const MAX_BLOCK_MS = 250;

describe("reading expensive repositories", () => {
  let repositories: ExpensiveRepositories;
  before(async () => {
    repositories = await expensiveRepositories();
  });
  after(() => repositories.close());

  for (const [name, { make, reads }] of Object.entries(CASES)) {
    test(`${name}: no response blocks others`, async () => {
      const base = await repositories.publicProject(make);
      for (const path of Object.keys(reads)) {
        const { result, longest } = await longestBlock(() => repositories.read(`${base}/${path}`), MAX_BLOCK_MS);
        assert.ok(result.status < 500, `${path} answered ${result.status}`);
        assert.ok(longest < MAX_BLOCK_MS, `${path} took ${Math.round(longest)} ms of the event loop at once`);
      }
    });
  }
});
