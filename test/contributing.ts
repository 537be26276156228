import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Copy, copyRepository } from "./support/copy.ts";

const root = join(import.meta.dirname, "..");
const GENERATED = [
  ...["docs/endpoints.md", "docs/openapi.json", "docs/openapi/organization.json"],
  ...["docs/schema.sql", "src/db/types.ts"],
];
/** The list of endpoints of the domain. */
const INDEX = "src/domains/organization/index.ts";

/** Follows the six steps of CONTRIBUTING.md in a copy of the repository: a new resource must not need more. */
describe("the six steps of CONTRIBUTING.md", { concurrency: 2 }, () => {
  const steps = readSteps(readFileSync(join(root, "CONTRIBUTING.md"), "utf8"));
  let copy: Copy;

  before(async () => {
    copy = copyRepository();
    for (const [file, text] of steps) {
      mkdirSync(dirname(join(copy.path, file)), { recursive: true });
      writeFileSync(join(copy.path, file), text);
    }
    const index = join(copy.path, INDEX);
    writeFileSync(index, listed(readFileSync(index, "utf8")));
    await copy.run("tools/generate.ts");
  });
  after(() => copy.remove());

  test("name every file but the generated ones", () => {
    assert.equal(steps.size, 6);
    assert.deepEqual(copy.changed(), [...steps.keys(), INDEX, ...GENERATED].toSorted());
  });

  test("have the right types", async () => {
    await copy.run("node_modules/typescript/bin/tsc", "--noEmit");
  });

  test("keep the style and the fences", async () => {
    const files = [...steps.keys(), INDEX].filter((file) => file.endsWith(".ts"));
    await copy.run("node_modules/oxfmt/bin/oxfmt", "--check", ...files);
    await copy.run("node_modules/oxlint/bin/oxlint", ...files);
  });

  test("pass the tests of the new resource and those of all contracts", async () => {
    const own = [...steps.keys(), "src/domains/deletions.test.ts"].filter((file) => file.endsWith(".test.ts"));
    // In one process, which starts one PostgreSQL.
    const inOne = ["--test", "--test-isolation=none", "--test-force-exit", "--test-reporter=tap"];
    assert.match(await copy.run(...inOne, ...own), /^# pass [1-9]/m);
    const shared = ["audit", "statements", "contracts"].map((name) => `test/${name}.test.ts`);
    const output = await copy.run(...inOne, "--test-name-pattern=notice", ...shared);
    for (const name of [
      "POST /projects/:id/notices, by an administrator",
      "POST /projects/:id/notices, under sudo",
      "/projects/:id/notices",
      "the digest of a project shows whether it has: notice",
    ]) {
      const isRun = output.split("\n").some((line) => /^ *ok /.test(line) && line.endsWith(` - ${name}`));
      assert.ok(isRun, `${name} did not run\n${output}`);
    }
  });

  test("are covered by the authorization matrix", async () => {
    const output = await copy.run("test/matrix/run.ts", "--only", "notices");
    assert.match(output, /^matrix: \d{4,} passed, 0 failed$/m);
    const [, caught, all] = /^mutants: (\d+) of (\d+) caught/m.exec(output) ?? [];
    assert.ok(Number(caught) > 50 && caught === all, output);
  });
});

/** The text of each file that the steps name before a block of code. */
function readSteps(page: string): Map<string, string> {
  const [, section = ""] = /^## Add an endpoint in six steps$([\s\S]*?)^## /m.exec(page) ?? [];
  const files = new Map<string, string>();
  for (const step of section.split(/^(?=\*\*\d\. )/m).slice(1)) {
    const [, file = ""] = /`((?:src|migrations)\/[^`]*notices[^`]*)`/.exec(step) ?? [];
    const [, text = ""] = /^```(?:ts|sql)\n([\s\S]*?)^```$/m.exec(step) ?? [];
    files.set(file.replace("NNNN", nextMigration()), text);
  }
  return files;
}

function nextMigration(): string {
  const numbers = readdirSync(join(root, "migrations")).map((file) => Number(file.slice(0, 4)));
  return String(Math.max(...numbers) + 1).padStart(4, "0");
}

/** The list of endpoints with the new resource in it, as step 4 says. */
const listed = (index: string): string =>
  index
    .replace(/^(?=import \{ projects \})/m, 'import { notices } from "./notices/routes.ts";\n')
    .replace(/^(?=  projects\b)/m, "  notices,\n");
