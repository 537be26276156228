import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CASES, type ExpensiveRepositories, expensiveRepositories } from "./hostile-reads.fixtures.ts";

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

describe("reading expensive repositories", () => {
  let repositories: ExpensiveRepositories;
  before(async () => {
    repositories = await expensiveRepositories();
  });
  after(() => repositories.close());

  for (const [name, { make, reads }] of Object.entries(CASES)) {
    test(`${name}: every response is small`, async () => {
      const base = await repositories.publicProject(make);
      for (const [path, expected] of Object.entries(reads)) {
        const { status, bytes, headers } = await repositories.read(`${base}/${path}`);
        const kind = status === 413 || status === 404 ? "refused" : headers.has("x-truncated") ? "truncated" : "whole";
        assert.deepEqual([path, kind], [path, expected], `${path} answered ${status}`);
        assert.ok(status < 500, `${path} answered ${status}`);
        assert.ok(bytes <= MAX_ANSWER_BYTES, `${path} answered ${bytes} bytes`);
      }
    });
  }
});
