import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { BATCH_SIZE } from "./actions.ts";
import { removeEndedMemberships, removeMembershipsBelow } from "./jobs.ts";
import { type RowInserter, rowInserter } from "./test-support.ts";

describe("a user who is removed from a group", () => {
  let app: TestApp;
  let insert: RowInserter;
  let owner: TestUser;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    owner = await app.makeUser();
  });
  after(() => app.close());

  /** A group with a group in it, and a project in each; and one of each beside it. */
  async function tree(user: TestUser) {
    const group = await insert.group();
    await insert.member(owner, { group_id: group }, "owner");
    const below = await insert.group(group);
    const beside = await insert.group();
    const places = {
      group: { group_id: group },
      below: { group_id: below },
      project: { project_id: await insert.project(group) },
      projectBelow: { project_id: await insert.project(below) },
      beside: { group_id: beside },
      projectBeside: { project_id: await insert.project(beside) },
    };
    for (const place of Object.values(places)) await insert.member(user, place, "maintainer");
    return { group, places };
  }

  async function placesOf({ id }: TestUser) {
    const { rows } = await sql<{ group_id: number | null; project_id: number | null }>`
      select group_id, project_id from members where user_id = ${id} order by id`.execute(app.services.db.write);
    return rows.map((row) => (row.group_id === null ? { project_id: row.project_id } : { group_id: row.group_id }));
  }

  test("is removed from everything in it, and from nothing else", async () => {
    const user = await app.makeUser();
    const other = await app.makeUser();
    const { group, places } = await tree(user);
    await insert.member(other, places.below, "developer");
    assert.equal((await app.delete(`/groups/${group}/members/${user.id}`, { token: owner.token })).status, 204);
    assert.deepEqual(await placesOf(user), [places.beside, places.projectBeside]);
    assert.deepEqual(await placesOf(other), [places.below]);
  });

  test("stays in groups and projects below it with skip_subresources", async () => {
    const user = await app.makeUser();
    const { group, places } = await tree(user);
    const address = `/groups/${group}/members/${user.id}?skip_subresources=true`;
    assert.equal((await app.delete(address, { token: user.token })).status, 204);
    assert.equal((await placesOf(user)).length, Object.keys(places).length - 1);
  });

  test("is removed from thousands of projects by a job, but not from those they joined since", async () => {
    const user = await app.makeUser();
    const { group, places } = await tree(user);
    await sql`
      with made as (
        insert into projects (namespace_id, name, path)
        select ${group}, 'p-' || n, 'p-' || n from generate_series(1, ${BATCH_SIZE * 2}::int) n returning id
      )
      insert into members (user_id, project_id, access_level) select ${user.id}, id, 10 from made`.execute(
      app.services.db.write,
    );
    assert.equal((await app.delete(`/groups/${group}/members/${user.id}`, { token: owner.token })).status, 204);
    const left = await placesOf(user);
    assert.equal(left.length, BATCH_SIZE * 2 + Object.keys(places).length - 1 - BATCH_SIZE);
    const joined = { project_id: await insert.project(group) };
    const added = await app.post(`/projects/${joined.project_id}/members`, {
      token: owner.token,
      payload: { user_id: user.id, access_level: 30 },
    });
    assert.equal(added.status, 201);
    const worker = await runWorker(app.services, [removeMembershipsBelow], { queues: ["bulk"] });
    try {
      await until("the rest is removed", async () => (await placesOf(user)).length <= 3);
    } finally {
      await worker.stop();
    }
    assert.deepEqual(await placesOf(user), [places.beside, places.projectBeside, joined]);
  });

  test("loses expired memberships to the cleanup job, and no others", async () => {
    const [gone, today, staying] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
    const place = { group_id: await insert.group() };
    await insert.member(gone, place, "developer", -3);
    await insert.member(today, place, "developer", 0);
    await insert.member(staying, place, "developer", 1);
    await insert.member(owner, place, "owner");
    await app.services.db.write.transaction().execute(async (tx) => {
      const step = async <T>(work: (given: typeof tx) => Promise<T>) => work(tx);
      const signal = AbortSignal.timeout(120_000);
      await removeEndedMemberships.run({
        id: "test",
        payload: {},
        services: app.services,
        signal,
        attempt: 1,
        step,
        transaction: step,
      });
    });
    const { rows } = await sql<{ user_id: number }>`
      select user_id from members where group_id = ${place.group_id} order by user_id`.execute(app.services.db.write);
    assert.deepEqual(
      rows.map(({ user_id }) => user_id).toSorted((a, b) => a - b),
      [staying.id, owner.id].toSorted((a, b) => a - b),
    );
  });
});
