import assert from "node:assert/strict";
import { test } from "node:test";
import { mentionsIn } from "./mentions.ts";

test("hostile texts are read in one pass", () => {
  for (const part of ["`", "@", "@a.", "a@", "```\n", "` @", "``` `", "@a-", "> "]) {
    const text = `@x ${part.repeat(1_048_576 / part.length)}`;
    const begun = process.cpuUsage();
    mentionsIn(text);
    const { user } = process.cpuUsage(begun);
    assert.ok(user < 2_000_000, `${JSON.stringify(part)}: ${user} µs`);
  }
});
