import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { makeEngine, onKysely } from "./engine.ts";
import { DEAD, QUEUES } from "./queues.ts";

describe("the job engine", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  test("finds the schema that its release needs; a newer release needs a migration", async () => {
    const report = await makeEngine(onKysely(app.services.db.write), app.services.log).detectSchemaDrift();
    assert.equal(report.ok, true, JSON.stringify(report, null, 2));
  });

  test("the migrations created every queue, with a heartbeat timeout of 10 s and a dead-letter queue", async () => {
    const { rows } = await sql<{ name: string; heartbeat: number | null; dead: string | null; notify: boolean }>`
      select name, heartbeat_seconds as heartbeat, dead_letter as dead, notify from jobs.queue
      where left(name, 2) <> '__' order by name`.execute(app.services.db.read);
    const expected = [
      ...QUEUES.map((name) => ({ name, heartbeat: 10, dead: DEAD, notify: true })),
      { name: DEAD, heartbeat: null, dead: null, notify: false },
    ];
    assert.deepEqual(
      rows,
      expected.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
  });
});
