import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { foundationDeletions } from "#domains/foundation/deletions.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("events of what is deleted", () => {
  let app: TestApp;
  let insert: ReturnType<typeof rowInserter>;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    insert = rowInserter(app);
  });
  after(() => app.close());

  const { ofUser = [], ofProjects = [], ofGroups = [] } = foundationDeletions;

  /** Runs a batch until it finds nothing, and returns how many rows each run changed. */
  async function runs(batch: (tx: Tx) => Promise<number>): Promise<number[]> {
    const changed: number[] = [];
    do changed.push(await app.services.db.transaction(batch));
    while (changed.at(-1) !== 0);
    return changed;
  }

  /** Adds events in this month and the next, whose partitions number their rows alike. */
  const addEvents = (column: "project_id" | "group_id", container: number, author: number, count: number) =>
    sql`insert into events (${sql.ref(column)}, author_id, action, created_at)
      select ${container}, ${author}, 1, date_trunc('month', now()) + (n % 2) * interval '1 month'
      from generate_series(1, ${count}) n`.execute(app.services.db.write);

  async function left(): Promise<[author: number, count: number][]> {
    const { rows } = await sql<{ author_id: number; count: number }>`
      select author_id, count(*)::integer as count from events group by 1 order by 1`.execute(app.services.db.write);
    return rows.map(({ author_id, count }) => [author_id, count]);
  }

  test("go in batches with their project or group, and to the ghost user with their author", async () => {
    const [anna, bert, ghost] = [await app.makeUser(), await app.makeUser(), await app.makeUser()];
    const group = await insert.group();
    const [project, other] = [await insert.project(group), await insert.project(group)];
    await addEvents("project_id", project, anna.id, 6000);
    await addEvents("project_id", other, anna.id, 10);
    await addEvents("project_id", other, bert.id, 20);
    await addEvents("group_id", group, bert.id, 30);

    assert.deepEqual(await runs((tx) => ofProjects[0]!(tx, [project], app.services)), [5000, 1000, 0]);
    assert.deepEqual(await left(), [
      [anna.id, 10],
      [bert.id, 50],
    ]);
    assert.deepEqual(await runs((tx) => ofGroups[0]!(tx, [group], app.services)), [30, 0]);
    assert.deepEqual(await left(), [
      [anna.id, 10],
      [bert.id, 20],
    ]);
    const context = {} as never;
    const deleted = { namespace_id: 0, newOwnerId: ghost.id };
    assert.deepEqual(await runs((tx) => ofUser[0]!(tx, { ...deleted, id: anna.id }, context)), [10, 0]);
    assert.deepEqual(await left(), [
      [bert.id, 20],
      [ghost.id, 10],
    ]);
    assert.deepEqual(
      await runs((tx) => ofUser[0]!(tx, { ...deleted, id: bert.id, newOwnerId: null }, context)),
      [20, 0],
    );
    assert.deepEqual(await left(), [[ghost.id, 10]]);
  });
});
