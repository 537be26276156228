import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { sql } from "kysely";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const RUNS = 12;

/** A list by name whose cursor compares the name only, so that it skips or repeats rows. */
const careless = (path: string, sign: ">" | ">=") =>
  endpoint({
    method: "GET",
    path,
    summary: "A list with a planted defect",
    access: anyone(),
    params: Type.Object({ per_page: Type.Integer(), cursor: Type.Optional(Type.String()) }),
    returns: Type.Array(Type.Object({ id: Type.Integer() })),
    async handle({ db, params: { per_page, cursor }, setHeader, site }) {
      const { rows } = await sql<{ id: number; name: string }>`
        select id, name from users where ${cursor === undefined ? sql`true` : sql`name ${sql.raw(sign)} ${cursor}`}
        order by name, id limit ${per_page}`.execute(db);
      const last = rows.at(-1);
      if (last && last.name !== cursor) {
        const next = encodeURIComponent(last.name);
        setHeader("link", `<${site}/api/v4${path}?per_page=${per_page}&cursor=${next}>; rel="next"`);
      }
      return rows.map(({ id }) => ({ id }));
    },
  });

const planted = { skips: careless("/skips", ">"), repeats: careless("/repeats", ">=") };

// Few values, so that many rows share them.
const Row = fc.record({
  name: fc.constantFrom("a", "A", "é", "a b", "zz"),
  day: fc.integer({ min: 1, max: 3 }),
});
const Story = fc.record({
  atFirst: fc.array(Row, { minLength: 1, maxLength: 14 }),
  betweenPages: fc.array(fc.array(Row, { maxLength: 3 }), { maxLength: 8 }),
  perPage: fc.integer({ min: 1, max: 4 }),
});
type Story = typeof Story extends fc.Arbitrary<infer T> ? T : never;

describe("keyset paging while rows are inserted", () => {
  let app: TestApp;
  let made = 0;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase(), resources: { ...resources, planted } });
  });
  after(() => app.close());

  async function insert(rows: Story["atFirst"]): Promise<number[]> {
    const users = rows.map(({ name, day }) => {
      made++;
      // Ids and usernames in random order, so that new rows appear before and after the reader's position.
      const id = (made * 7919) % 1_000_003;
      const time = `2026-01-0${day}T00:00:00.000Z`;
      return { id, username: `u-${(made * 104_729) % 1_000_003}`, name, time };
    });
    await sql`
      with given as (
        select * from jsonb_to_recordset(${JSON.stringify(users)}::jsonb)
          as g (id bigint, username text, name text, time timestamptz)
      ), spaces as (
        insert into namespaces (path, name) select username, name from given returning id, path
      )
      insert into users (id, username, name, email, created_at, updated_at, namespace_id)
      select g.id, username, g.name, username || '@example.com', time, time, s.id
      from given g join spaces s on s.path = g.username`.execute(app.services.db.write);
    return users.map(({ id }) => id);
  }

  /** Reads a list to its end while rows are inserted between its pages; returns the expected and the returned rows. */
  async function read(address: string, { atFirst, betweenPages, perPage }: Story) {
    await sql`delete from users`.execute(app.services.db.write);
    await sql`delete from namespaces`.execute(app.services.db.write);
    const expected = await insert(atFirst);
    const seen: number[] = [];
    let next: string | undefined = `/api/v4${address}per_page=${perPage}`;
    for (let page = 0; next !== undefined; page++) {
      assert.ok(page < 100, "the list has no end");
      const { status, body, headers } = await app.get(next);
      assert.equal(status, 200);
      seen.push(...body.map(({ id }: { id: number }) => id));
      const link: string | undefined = /<([^>]+)>; rel="next"/.exec(headers["link"] ?? "")?.[1];
      const url = link === undefined ? undefined : new URL(link);
      next = url && url.pathname + url.search;
      await insert(betweenPages[page] ?? []);
    }
    return { expected, seen };
  }

  const seesAllOnce = (address: string) =>
    fc.asyncProperty(Story, async (story) => {
      const { expected, seen } = await read(address, story);
      const counts = Map.groupBy(seen, (id) => id);
      const twice = [...counts].filter(([, times]) => times.length > 1).map(([id]) => id);
      const lost = expected.filter((id) => !counts.has(id));
      assert.deepEqual({ twice, lost }, { twice: [], lost: [] });
    });

  for (const order of ["id", "name", "username", "created_at", "updated_at"]) {
    for (const sort of ["asc", "desc"]) {
      test(`order_by=${order}, ${sort}: every row exactly once`, async () => {
        await fc.assert(seesAllOnce(`/users?pagination=keyset&order_by=${order}&sort=${sort}&`), { numRuns: RUNS });
      });
    }
  }

  for (const [defect, complaint] of [
    ["skips", /lost: \[\s+\+?\s*\d/],
    ["repeats", /twice: \[\s+\+?\s*\d/],
  ] as const) {
    test(`the check detects a planted defect: a cursor that ${defect}`, async () => {
      const result = await fc.check(seesAllOnce(`/${defect}?`), { numRuns: 100, endOnFailure: true });
      assert.equal(result.failed, true);
      assert.match(String(result.errorInstance), complaint);
    });
  }
});
