import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cpuTimeOf } from "#test/support/cpu.ts";
import { boundedPasswords } from "./passwords.ts";

describe("passwords", () => {
  test("verifying without a digest takes as long as with one", async () => {
    const passwords = boundedPasswords(1);
    const digest = await passwords.hash("right");
    const times = { known: [] as number[], unknown: [] as number[] };
    for (let n = 0; n < 15; n++) {
      for (const [kind, given] of [
        ["known", digest],
        ["unknown", null],
      ] as const) {
        times[kind].push(await cpuTimeOf(() => passwords.verify("wrong", given)));
      }
    }
    const ratio = Math.min(...times.unknown) / Math.min(...times.known);
    assert.ok(ratio > 0.6 && ratio < 1.6, `${ratio}`);
  });
});
