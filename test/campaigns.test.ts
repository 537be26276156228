import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { indexOf, pageOf, readOutput } from "#tools/campaign/record.ts";
import { CAMPAIGNS } from "./campaigns.ts";

const root = join(import.meta.dirname, "..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

describe("campaigns", () => {
  test("are all suites that package.json has", () => {
    const suites = Object.keys(scripts).filter((name) => name.startsWith("test:"));
    const known = new Set(CAMPAIGNS.map(({ script }) => script));
    assert.deepEqual(
      suites.filter((name) => !known.has(name)),
      [],
      "add them to test/campaigns.ts",
    );
    for (const script of known) assert.ok(script in scripts, `package.json has no script ${script}`);
    assert.equal(new Set(CAMPAIGNS.map(({ name }) => name)).size, CAMPAIGNS.length, "two have the same name");
  });

  test("are counted as the gate counts suites", () => {
    const links = CAMPAIGNS.find(({ name }) => name === "links");
    const output = "seed 5\n✖ a link twice\n900 requests, of which 8 wrote\nlinks: 899 passed, 1 failed\n";
    assert.deepEqual(readOutput(output, 1, links?.figures), {
      ...{ passed: 899, failed: 1 },
      figures: "seed 5\n900 requests, of which 8 wrote",
    });
    const runner = "ℹ tests 6\nℹ pass 4\nℹ fail 1\nℹ cancelled 1\n";
    assert.deepEqual(readOutput(runner, 1), { passed: 4, failed: 2, figures: "" });
    assert.deepEqual(readOutput("startup: 0.8 s (goal at most 1 s)\n", 0), { passed: 1, failed: 0, figures: "" });
    assert.equal(readOutput("", 1).failed, 1, "ended badly");
    assert.equal(readOutput("links: 5 passed, 0 failed\n", 1).failed, 1, "ended badly after it had counted");
    assert.equal(readOutput("", null).failed, 1, "was stopped");
  });

  test("are in the index with what their pages say", () => {
    const [first, second] = CAMPAIGNS;
    assert.ok(first && second);
    const found = { passed: 7, failed: 0, figures: "seed 1", command: "`npm run x`", commit: "abc", minutes: "1.0" };
    const page = pageOf(first, { ...found, date: "2026-01-01", machine: "2 cores" });
    assert.match(page, /^\| Passed \| 7 \|$/m);
    const index = indexOf([first, second], new Map([[first.name, page]]));
    assert.ok(
      index.includes(`| [${first.name}](${first.name}.md) | ${first.shows} | 7 | 0 | abc | 2026-01-01 |`),
      index,
    );
    assert.ok(index.includes(`| ${second.name} | ${second.shows} |  |  |  | never |`), index);
  });
});
