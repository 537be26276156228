import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { longestBlock } from "#test/support/event-loop.ts";
import { meterHttp } from "./http.ts";

const STATUSES = [200, 400, 401, 403, 404, 409, 412, 422, 429];
const MAX_BLOCK_MS = 25;

describe("the durations of requests", () => {
  test(`are formatted without blocking other requests for ${MAX_BLOCK_MS} ms`, async () => {
    const http = meterHttp();
    for (let operation = 0; operation < 1000; operation++) {
      for (const status of STATUSES) http.meterOf(`resources.operation${operation}`).count(status, 7);
    }
    const { longest } = await longestBlock(() => http.text(), MAX_BLOCK_MS);
    assert.ok(longest < MAX_BLOCK_MS, `${longest.toFixed(1)} ms at once`);
  });
});
