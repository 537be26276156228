import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { fairlead } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("the commands for jobs", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
  });
  after(() => app.close());

  const run = (...args: string[]) => fairlead(args, { FAIRLEAD_DATABASE_URL: app.services.databaseUrl });

  test("a worker wants a database, and queues that there are", async () => {
    const without = await fairlead(["worker"], {});
    assert.equal(without.code, 1);
    assert.match(without.stderr, /^fairlead: a worker needs FAIRLEAD_DATABASE_URL/m);
    const unknown = await run("worker", "--queues", "default,laundry");
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /^fairlead: 'laundry' is not a queue; use one of critical, default, git/m);
  });

  test("dead jobs are told by doctor, listed, and queued again", async () => {
    assert.deepEqual(await run("jobs", "dead"), { code: 0, stdout: "", stderr: "" });
    assert.match((await run("doctor")).stdout, /^ok {3}No job is dead$/m);
    await sql`
      insert into jobs.job (name, data, source_name, source_output)
      values ('dead', '{"job":"test.dead","payload":{"id":7}}', 'mail', '{"message":"Error: no"}')`.execute(
      app.services.db.write,
    );
    assert.match((await run("doctor")).stdout, /^BAD {2}Jobs that failed for good: 1;/m);
    const listed = await run("jobs", "dead");
    const { queue, job, payload, message } = JSON.parse(listed.stdout);
    assert.deepEqual([queue, job, payload, message], ["mail", "test.dead", { id: 7 }, "Error: no"]);
    assert.equal((await run("jobs", "redrive", "git")).stdout, "Queued again: 0\n");
    assert.equal((await run("jobs", "redrive")).stdout, "Queued again: 1\n");
    const { rows } = await sql<{ name: string }>`select name from jobs.job`.execute(app.services.db.read);
    assert.deepEqual(rows, [{ name: "mail" }]);
  });

  test("anything else is told how it is used", async () => {
    for (const args of [[], ["bury"], ["dead", "mail"], ["redrive", "mail", "git"]]) {
      const { code, stderr } = await run("jobs", ...args);
      assert.equal(code, 1);
      assert.match(stderr, /^fairlead: usage: fairlead jobs dead/m);
    }
  });
});
