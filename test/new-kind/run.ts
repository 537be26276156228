import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Copy, copyRepository } from "#test/support/copy.ts";

/** The files of a kind of its own, as text: they are no part of the product. */
const written = join(import.meta.dirname, "buoys");
const FOLDER = "src/domains/review/buoys";

/** The lists that name every kind. */
const ITEMS = "src/domains/conversation/items/item.ts";
const EDITS: readonly (readonly [file: string, from: string, to: string])[] = [
  [ITEMS, '"MergeRequest"] as const', '"MergeRequest", "Buoy"] as const'],
  [ITEMS, '"merge_request_id"] as const', '"merge_request_id", "buoy_id"] as const'],
  [ITEMS, '| "merge request"', '| "merge request" | "buoy"'],
  [ITEMS, '| "!"', '| "!" | "^"'],
  [ITEMS, '| "merge_requests"', '| "merge_requests" | "buoys"'],
  [ITEMS, '| "mr"', '| "mr" | "b"'],
  [
    "src/domains/review/index.ts",
    "import { reviewConstraints",
    'import { buoyResources } from "./buoys/index.ts";\n$&',
  ],
  ["src/domains/review/index.ts", "  resources: {\n", "$&    ...buoyResources,\n"],
  ["src/domains/index.ts", "import { platform }", 'import { BUOY_TODOS } from "./review/buoys/todos.ts";\n$&'],
  ["src/domains/index.ts", "EPIC_TODOS, MERGE_REQUEST_TODOS", "$&, BUOY_TODOS"],
];

/** What a new kind of item costs: notes, discussions, emoji, subscriptions and to-dos by declaring it. */
describe("a new kind of item", () => {
  let copy: Copy;
  let lines = 0;
  before(async () => {
    copy = copyRepository();
    mkdirSync(join(copy.path, FOLDER));
    for (const name of readdirSync(written)) {
      const text = readFileSync(join(written, name), "utf8");
      const file = name === "migration.sql.txt" ? "migrations/9999_buoys.sql" : `${FOLDER}/${name.replace(".txt", "")}`;
      writeFileSync(join(copy.path, file), text);
      if (!name.includes(".test.")) lines += text.split("\n").length - 1;
    }
    for (const [file, from, to] of EDITS) {
      const text = readFileSync(join(copy.path, file), "utf8");
      assert.ok(text.includes(from), `${file} has no ${from}`);
      writeFileSync(join(copy.path, file), text.replace(from, to));
    }
    await copy.run("tools/generate.ts");
  });
  after(() => copy.remove());

  test("takes one folder, one migration, and its name in three lists", () => {
    const changed = copy.changed().filter((file) => !file.startsWith("docs/") && file !== "src/db/types.ts");
    const others = changed.filter((file) => !file.startsWith(FOLDER));
    assert.deepEqual(others, [
      "migrations/9999_buoys.sql",
      ITEMS,
      "src/domains/index.ts",
      "src/domains/review/index.ts",
    ]);
    console.log(`a new kind: ${changed.length} files, ${lines} lines written, ${EDITS.length} lines changed`);
  });

  test("has the right types", async () => {
    await copy.run("node_modules/typescript/bin/tsc", "--noEmit");
  });

  test("has notes, discussions, emoji, subscriptions and to-dos", async () => {
    const output = await copy.run("--test", "--test-reporter=tap", `${FOLDER}/buoys.test.ts`);
    assert.match(output, /^# pass 4$/m);
  });
});
