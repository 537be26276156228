import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown } from "./render.ts";
import { WORST } from "./test-support.ts";

/** The CPU time that a text takes, in milliseconds; the shortest of some tries, since collecting garbage counts too. */
function timeOf(text: string): number {
  const times = Array.from({ length: 3 }, () => {
    const begun = process.cpuUsage();
    renderMarkdown({ text, site: "https://fairlead.example" });
    return process.cpuUsage(begun).user / 1000;
  });
  return Math.min(...times);
}

const SHORT = 16_384;
/** Four times the length takes sixteen times as long if the time is quadratic. */
const MAX_RATIO = 9;

for (const [name, make] of Object.entries(WORST)) {
  test(`four times as long takes no more than ${MAX_RATIO} times as long: ${name}`, () => {
    const [short, long] = [timeOf(make(SHORT)), timeOf(make(SHORT * 4))];
    // Times below a few milliseconds say nothing.
    assert.ok(long < MAX_RATIO * Math.max(short, 20), `${short} ms and ${long} ms`);
  });
}
