import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runSeedStep } from "#db/seed.ts";
import { seedUsers } from "#domains/identity/seed.ts";
import { makeGroup, makeProject } from "#domains/organization/groups/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const USERS = 52_000;

/** Filters that leave more than 50,000 users, and the same as SQL. */
const FILTERS = {
  "without_projects=true": "not exists (select from members m where m.user_id = u.id)",
  "exclude_external=true": "not u.external",
};

describe("offset paging of filtered lists to 50,000 rows", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    const databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
    admin = await app.makeUser({ admin: true });
    await runSeedStep(databaseUrl, seedUsers, { users: USERS, projects: 0, tokens: 0 });
    const group = await makeGroup(app, admin);
    const project = await makeProject(app, group.id);
    const { write } = app.services.db;
    await sql`insert into members (user_id, project_id, access_level)
      select id, ${project.id}, 10 from users where id % 50 = 1 on conflict do nothing`.execute(write);
    await sql`analyze users, members`.execute(write);
  });
  after(() => app.close());

  for (const [query, condition] of Object.entries(FILTERS)) {
    test(`${query}: every page holds the next 100, up to the last`, async () => {
      const { rows } = await sql<{ ids: number[] }>`select array_agg(id order by id desc) as ids
        from users u where ${sql.raw(condition)}`.execute(app.services.db.read);
      const ids = rows[0]?.ids ?? [];
      assert.ok(ids.length > 50_100, String(ids.length));
      for (const page of [1, 2, 99, 100, 101, 250, 499, 500]) {
        const reply = await app.get(`/users?${query}&page=${page}&per_page=100`, { token: admin.token });
        assert.equal(reply.status, 200, String(page));
        const found = reply.body.map(({ id }: { id: number }) => id);
        assert.deepEqual(found, ids.slice((page - 1) * 100, page * 100), String(page));
        if (page < 500) assert.equal(reply.headers["x-next-page"], String(page + 1));
      }
      const beyond = await app.get(`/users?${query}&page=501&per_page=100`, { token: admin.token });
      assert.equal(beyond.status, 405);
      assert.match(beyond.body.error, /keyset pagination/);
    });
  }
});
