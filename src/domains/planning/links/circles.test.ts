import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import type { TestUser } from "#test/support/app.ts";
import { linkApp, type LinkApp } from "./test-support.ts";

describe("circles of blocking items", () => {
  let links: LinkApp;
  let user: TestUser;
  let project: number;
  before(async () => {
    // Settings apply to the whole instance, so other tests must not share this database.
    links = await linkApp({ databaseUrl: await freshDatabase() });
    user = await links.app.makeUser();
    project = await links.project(user);
  });
  after(() => links.app.close());

  for (const length of [3, 10, 1000]) {
    test(`S-59: ${length} issues do not form a circle`, async () => {
      const items = await links.chain(project, length);
      await links.refusesCircle(user, items);
      await links.linked(user, items[0]!, items.at(-1)!, "blocks");
    });
  }

  test("epics do not form one either, and relations may", async () => {
    const group = await links.group(user);
    const [a, b, c] = await Promise.all([links.epic(group), links.epic(group), links.epic(group)]);
    await links.linked(user, a, b, "blocks");
    await links.linked(user, b, c, "blocks");
    const { status, body } = await links.link(user, c, a, "blocks");
    assert.deepEqual([status, body.message], [422, "The link would close a circle of epics that block each other"]);
    await links.linked(user, c, a);
  });

  test("two links in four groups that together would close a circle are not both created", async () => {
    for (let round = 0; round < 10; round++) {
      const projects = await Promise.all(Array.from({ length: 4 }, () => links.project(user)));
      const [a, b, c, d] = await Promise.all(projects.map((each) => links.issue(each)));
      await links.linked(user, b!, c!, "blocks");
      await links.linked(user, d!, a!, "blocks");
      const replies = await Promise.all([links.link(user, a!, b!, "blocks"), links.link(user, c!, d!, "blocks")]);
      assert.deepEqual(replies.map(({ status }) => String(status)).toSorted(), ["201", "422"]);
    }
  });

  test("a search that would visit too many issues is refused", async () => {
    const [root, other] = [await links.issue(project), await links.issue(project)];
    // The issue blocks 99 others, of which each blocks 104.
    await sql`
      with made as (
        insert into issues (project_id, iid, title)
        select ${project}, 1000000 + n, 'x' from generate_series(0, 10394) n returning id, iid - 1000000 as n
      )
      insert into issue_links (source_id, target_id, link_type)
      select coalesce(source.id, ${root.id}), made.id, 'blocks'
      from made left join made source on made.n > 98 and source.n = (made.n - 99) / 104
      where made.n <= 98 or source.id is not null`.execute(links.app.services.db.write);
    const { status, body } = await links.link(user, other, root, "blocks");
    assert.deepEqual([status, body.message], [422, "Too many issues are blocked to rule out a circle"]);
  });

  test("the setting allows circles", async () => {
    const admin = await links.app.makeUser({ admin: true });
    const set = (value: boolean) =>
      links.app.put("/application/settings", { token: admin.token, payload: { prevent_blocking_cycles: value } });
    const [first, , last] = await links.chain(project, 3);
    assert.equal((await set(false)).status, 200);
    try {
      await until("the setting applies", async () => (await links.link(user, last!, first!, "blocks")).status === 201);
    } finally {
      await set(true);
    }
  });
});
