import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { isCodeChild } from "./matrix/code.ts";
import { digester } from "./matrix/digest.ts";
import { allLines } from "./matrix/lines.ts";
import { group, insertForId, project } from "./matrix/rows.ts";
import { type TestApp, testApp } from "./support/app.ts";
import { contracts } from "./support/contracts.ts";
import { fixtures, makeFixtures, makeFixtureContext } from "./support/fixtures.ts";

/** Tables of the kernel, which belong to no resource. */
const KERNEL = ["job_totals", "kept_answers", "rate_counts", "schema_migrations"];
/** Names in lines that are not fixtures. */
const OBJECTS = ["user", "newcomer", "token"];
const VALUES = ["user", "group", "namespace", "visibility"];
/** Fixtures without a row of the container's own: the acting user, the audit log, and identities, which belong to users. */
const ROWLESS = new Set(["oneself", "audit event", "SAML user"]);

describe("contracts", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  test("each table belongs to one resource, or to the kernel", async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
      order by 1`.execute(app.services.db.read);
    const claimed = contracts.flatMap((contract) => contract.tables ?? []);
    assert.deepEqual(
      [...claimed, ...KERNEL].toSorted(),
      rows.map(({ name }) => name),
    );
  });

  test("no two have a fixture or a value of one name", () => {
    const names = contracts.flatMap(({ fixtures: own = {}, values = {} }) => [
      ...Object.keys(own),
      ...Object.keys(values).map((name) => `{${name}}`),
    ]);
    assert.deepEqual([...new Set(names)], names);
  });

  test("every name in a line is a fixture or a value of some contract", () => {
    const values = new Set([...VALUES, ...contracts.flatMap((contract) => Object.keys(contract.values ?? {}))]);
    let checked = 0;
    for (const [key, lines] of Object.entries(allLines)) {
      for (const { container, has, object, send = "" } of lines) {
        const named = [
          container?.child,
          container?.holds,
          has,
          OBJECTS.includes(object ?? "user") ? undefined : object,
        ];
        for (const name of named.filter((each) => each !== undefined)) {
          const isKnown = fixtures.has(name) || isCodeChild(name) || name === "project";
          assert.ok(isKnown, `${key}: no contract has a fixture for ${name}`);
          checked++;
        }
        for (const [, name = ""] of send.matchAll(/\{(\w+)\}/g))
          assert.ok(values.has(name), `${key}: no contract has a value for {${name}}`);
      }
    }
    assert.ok(checked > 50, String(checked));
  });

  for (const [name, { parents }] of fixtures) {
    for (const parent of parents) {
      if (parent === "user" || ROWLESS.has(name)) continue;
      test(`the digest of a ${parent} shows whether it has: ${name}`, async () => {
        const db = app.services.db.write;
        const context = makeFixtureContext(app);
        const groupId = await insertForId(db, "namespaces", group(null));
        const kind = parent === "project" ? "project" : "group";
        const id = kind === "group" ? groupId : await insertForId(db, "projects", project(groupId));
        const digest = await digester(db);
        const digestOf = () => (kind === "group" ? digest([id], []) : digest([], [id]));
        const before = await digestOf();
        assert.equal(await digestOf(), before);
        await makeFixtures(context, name, [{ kind, id, name: "0", acting: await context.person("acting") }]);
        assert.notEqual(await digestOf(), before);
      });
    }
  }
});
