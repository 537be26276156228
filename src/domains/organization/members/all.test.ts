import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { type RowInserter, rowInserter } from "./test-support.ts";

describe("lists of members", () => {
  let app: TestApp;
  let insert: RowInserter;
  let owner: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    [owner, user] = await Promise.all([app.makeUser(), app.makeUser()]);
  });
  after(() => app.close());

  const levelsAt = async (address: string) => {
    const { body, status, text } = await app.get(address, { token: owner.token });
    assert.equal(status, 200, text);
    return new Map<number, number>(
      body.map((member: { id: number; access_level: number }) => [member.id, member.access_level]),
    );
  };

  /** A project in a group in a group, the upper one the owner's. */
  async function nest() {
    const top = await insert.group();
    await insert.member(owner, { group_id: top }, "owner");
    const middle = await insert.group(top);
    const project = await insert.project(middle);
    return { top, middle, project };
  }

  test("without /all show only direct ones", async () => {
    const { top, middle, project } = await nest();
    await insert.member(user, { project_id: project }, "developer");
    assert.deepEqual([...(await levelsAt(`/groups/${top}/members`))], [[owner.id, 50]]);
    assert.deepEqual([...(await levelsAt(`/groups/${middle}/members`))], []);
    assert.deepEqual([...(await levelsAt(`/projects/${project}/members`))], [[user.id, 30]]);
    const address = `/projects/${project}/members`;
    assert.equal((await app.get(`${address}/${owner.id}`, { token: user.token })).status, 404);
    assert.equal((await app.get(`${address}/all/${owner.id}`, { token: user.token })).body.access_level, 50);
  });

  test("with /all show each user once, with their highest level", async () => {
    const { top, middle, project } = await nest();
    await insert.member(user, { group_id: top }, "reporter");
    await insert.member(user, { group_id: middle }, "maintainer", 3);
    await insert.member(user, { project_id: project }, "developer");
    assert.equal((await levelsAt(`/groups/${top}/members/all`)).get(user.id), 20);
    for (const address of [`/groups/${middle}`, `/projects/${project}`]) {
      const { body } = await app.get(`${address}/members/all`, { token: owner.token });
      assert.equal(body.length, 2);
      const member = body.find(({ id }: TestUser) => id === user.id);
      assert.equal(member.access_level, 40);
      assert.notEqual(member.expires_at, null, "the row is that of the highest way");
      assert.deepEqual((await app.get(`${address}/members/all/${user.id}`, { token: owner.token })).body, member);
    }
  });

  test("count minimal access only in its own group", async () => {
    const { top, middle, project } = await nest();
    await insert.member(user, { group_id: top }, "minimal");
    assert.equal((await levelsAt(`/groups/${top}/members`)).get(user.id), 5);
    assert.equal((await levelsAt(`/groups/${top}/members/all`)).get(user.id), 5);
    assert.equal((await levelsAt(`/groups/${middle}/members/all`)).get(user.id), undefined);
    assert.equal((await levelsAt(`/projects/${project}/members/all`)).get(user.id), undefined);
  });

  test("include those of groups that it or a group above is shared with, up to the level of the share", async () => {
    const { top, middle, project } = await nest();
    const [inherits, direct, minimal, late] = await Promise.all(Array.from({ length: 4 }, () => app.makeUser()));
    assert.ok(inherits && direct && minimal && late);
    const above = await insert.group();
    const guests = await insert.group(above);
    const friends = await insert.group();
    await insert.member(inherits, { group_id: above }, "owner");
    await insert.member(direct, { group_id: guests }, "guest");
    await insert.member(direct, { group_id: friends }, "developer");
    await insert.member(minimal, { group_id: guests }, "minimal");
    await insert.member(late, { group_id: guests }, "owner", 0);
    await insert.share({ group_id: top }, guests, "reporter");
    await insert.share({ project_id: project }, friends, "maintainer");
    for (const address of [`/groups/${top}`, `/groups/${middle}`]) {
      assert.deepEqual(
        await levelsAt(`${address}/members/all`),
        new Map([
          [owner.id, 50],
          [inherits.id, 20],
          [direct.id, 10],
        ]),
      );
      assert.equal((await levelsAt(`${address}/members`)).has(inherits.id), false);
    }
    assert.deepEqual(
      await levelsAt(`/projects/${project}/members/all`),
      new Map([
        [owner.id, 50],
        [inherits.id, 20],
        [direct.id, 30],
      ]),
    );
    await sql`update shares set expires_at = (now() at time zone 'UTC')::date where group_id = ${top}`.execute(
      app.services.db.write,
    );
    assert.equal((await levelsAt(`/groups/${middle}/members/all`)).size, 1);
  });

  test("include nobody from an invited group that the caller may not see", async () => {
    const open = { visibility: VISIBILITIES.public };
    const [insider, hidden, seen] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
    const administrator = await app.makeUser({ admin: true });
    const parent = await insert.group(undefined, { visibility: VISIBILITIES.private });
    const closed = await insert.group(parent, { visibility: VISIBILITIES.private });
    const known = await insert.group(undefined, open);
    const top = await insert.group(undefined, open);
    const project = await insert.project(top, open);
    await insert.member(insider, { group_id: closed }, "guest");
    await insert.member(hidden, { group_id: parent }, "developer");
    await insert.member(seen, { group_id: known }, "developer");
    for (const shared of [{ group_id: top }, { project_id: project }]) {
      await insert.share(shared, closed, "maintainer");
      await insert.share(shared, known, "maintainer");
    }
    const lists = [`/groups/${top}/members/all`, `/projects/${project}/members/all`, `/projects/${project}/users`];
    const all = [insider, hidden, seen].map(({ id }) => id).toSorted((a, b) => a - b);
    for (const [token, expected] of [
      [undefined, [seen.id]],
      [user.token, [seen.id]],
      [insider.token, all],
      [administrator.token, all],
    ] as const) {
      for (const address of lists) {
        const { body } = await app.get(`${address}?sort=asc`, { token });
        assert.deepEqual(
          body.map(({ id }: TestUser) => id).toSorted((a: number, b: number) => a - b),
          expected,
          address,
        );
        const searched = await app.get(`${address}?query=${hidden.username}&search=${hidden.username}`, { token });
        assert.equal(searched.body.length, expected.length === all.length ? 1 : 0, address);
      }
      for (const address of lists.slice(0, 2)) {
        const { status, text } = await app.get(`${address}/${hidden.id}`, { token });
        assert.equal(status, expected.length === all.length ? 200 : 404, text);
        if (status === 404) assert.equal(text, (await app.get(`${address}/999999999`, { token })).text);
      }
    }
  });

  test("support offset and keyset paging over any number of sources", async () => {
    const { top, middle, project } = await nest();
    const users = await Promise.all(Array.from({ length: 7 }, () => app.makeUser()));
    for (const [at, one] of users.entries()) {
      await insert.member(one, at % 2 === 0 ? { group_id: top } : { group_id: middle }, "guest");
      if (at % 3 === 0) await insert.member(one, { project_id: project }, "planner");
    }
    const expected = [owner, ...users].map(({ id }) => id).toSorted((a, b) => a - b);
    for (const shares of [0, 3, 20, 70]) {
      for (let made = 0; made < shares; made++) await insert.share({ group_id: top }, await insert.group(), "guest");
      await assertPages(`/projects/${project}/members/all`, expected);
    }
  });

  async function assertPages(address: string, expected: readonly number[]) {
    const seen: number[] = [];
    for (let page = 1; page <= 3; page++) {
      const { body, headers } = await app.get(`${address}?per_page=3&page=${page}`, { token: owner.token });
      assert.equal(headers["x-total"], String(expected.length));
      seen.push(...body.map(({ id }: TestUser) => id));
    }
    assert.deepEqual(seen, expected);
    const scanned: number[] = [];
    let next: string | undefined = `${address}?per_page=3&pagination=keyset`;
    for (let page = 0; page < 10 && next; page++) {
      const { body, headers } = await app.get(next, { token: owner.token });
      scanned.push(...body.map(({ id }: TestUser) => id));
      const link: string | undefined = /<([^>]+)>; rel="next"/.exec(headers["link"] ?? "")?.[1];
      next = link && new URL(link).pathname + new URL(link).search;
    }
    assert.deepEqual(scanned, expected);
  }

  test("can be filtered by search, ids and state", async () => {
    const { top, project } = await nest();
    const [ada, alan] = await Promise.all([
      app.makeUser({ name: "Ada Quaysidé" }),
      app.makeUser({ name: "Alan 100% Quay" }),
    ]);
    await app.makeUser({ name: "Quay of nobody" });
    await insert.member(ada, { group_id: top }, "guest");
    await insert.member(alan, { project_id: project }, "guest");
    const ids = async (query: string, list = "all") =>
      [...(await levelsAt(`/projects/${project}/members/${list}?${query}`)).keys()].toSorted((a, b) => a - b);
    const both = [ada.id, alan.id].toSorted((a, b) => a - b);
    assert.deepEqual(await ids("query=quay"), both);
    assert.deepEqual(await ids("query=100%25"), [alan.id]);
    assert.deepEqual(await ids("query=0%25"), [alan.id]);
    assert.deepEqual(await ids(`query=${ada.username}`), [ada.id]);
    assert.deepEqual(await ids(`query=${ada.email}`), [], "a private address finds nobody");
    assert.deepEqual(await ids("query=quay", ""), [alan.id]);
    assert.deepEqual(await ids("query=nothing+of+this"), []);
    assert.deepEqual(await ids(`user_ids[]=${ada.id}&user_ids[]=999999999`), [ada.id]);
    assert.deepEqual(await ids(`user_ids=${ada.id},${alan.id}&query=alan`), [alan.id]);
    assert.deepEqual(
      await ids("state=active"),
      [owner.id, ...both].toSorted((a, b) => a - b),
    );
    assert.deepEqual(await ids("state=awaiting"), []);
    assert.deepEqual(await ids("state=awaiting&pagination=keyset"), []);
  });

  test("find a few and many among many by name", async () => {
    const { top, project } = await nest();
    await app.services.db.write.transaction().execute(async (tx) => {
      // Without their namespaces, which nothing here asks for, so many users are made soon enough.
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql`set local statement_timeout = 0`.execute(tx);
      await sql`
        with made as (
          insert into users (username, name, email, namespace_id, confirmed_at)
          select 'many-' || n, case when n % 3000 = 0 then 'Rare Bird' else 'Common Gull' end,
            'many-' || n || '@example.com', -n, now()
          from generate_series(1, 12000) n returning id, name
        )
        insert into members (user_id, group_id, access_level) select id, ${top}, 10 from made
        where name = 'Rare Bird' or id % 2 = 0`.execute(tx);
    });
    const of = (query: string) => app.get(`/projects/${project}/members/all?${query}`, { token: owner.token });
    const rare = await of("query=rare");
    assert.equal(rare.body.length, 4);
    assert.equal(rare.headers["x-total"], "4");
    const common = await of("query=common+gull&per_page=50&page=2");
    assert.equal(common.body.length, 50);
    assert.ok(common.body.every(({ name }: { name: string }) => name === "Common Gull"));
    const { rows } = await sql<{
      count: number;
    }>`select count(*) as count from members m join users u on u.id = m.user_id
      where m.group_id = ${top} and u.name = 'Common Gull'`.execute(app.services.db.write);
    assert.equal(common.headers["x-total"], String(rows[0]?.count));
    assert.equal((await of("query=common+gull&per_page=100&page=501")).status, 405);
  });

  test("need a bounded number of statements", async () => {
    const { top, middle, project } = await nest();
    const users = await Promise.all(Array.from({ length: 12 }, () => app.makeUser()));
    for (const one of users) await insert.member(one, { group_id: middle, created_by_id: one.id }, "guest");
    await insert.share({ group_id: top }, await insert.group(), "guest");
    for (const [address, most] of [
      [`/projects/${project}/members`, 5],
      [`/projects/${project}/members/all?per_page=5`, 6],
      [`/projects/${project}/members/all?per_page=5&query=user`, 7],
      [`/groups/${middle}/members/all/${owner.id}`, 5],
    ] as const) {
      const statements = await recordStatements(() => assertFound(address));
      assert.ok(statements.length <= most, `${address}: ${statements.length}`);
    }
  });

  async function assertFound(address: string) {
    const { status } = await app.get(address, { token: owner.token });
    assert.equal(status, 200);
  }
});
