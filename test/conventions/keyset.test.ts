import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { order } from "#db/lists/order.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { resources } from "#domains/index.ts";
import { type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const halfKeyset = {
  list: endpoint({
    method: "GET",
    path: "/half_keyset",
    summary: "A list with an order that keyset paging does not serve",
    access: anyone(),
    params: Type.Object({}),
    returns: pageOf(Type.Object({ id: Type.Integer() }), {
      id: "u.id",
      orders: { id: order("u.id", "bigint"), name: order("u.name", "text") },
      keyset: ["id"],
    }),
    handle: ({ db, page }) => page(db.selectFrom("users as u").select("u.id"), (row) => row),
  }),
};

const ORDERS = ["id", "name", "username", "created_at", "updated_at"] as const;

describe("keyset paging", () => {
  const tag = `ks${randomUUID().slice(0, 8)}`;
  let app: TestApp;
  let user: TestUser;
  let ids: number[];
  before(async () => {
    app = await testApp({ resources: { ...resources, halfKeyset } });
    user = await app.makeUser();
    ids = [];
    for (let n = 0; n < 5; n++) ids.push((await app.makeUser({ username: `${tag}-${n}`, name: "The same" })).id);
  });
  after(() => app.close());

  const list = (query: string) => app.get(`/users?pagination=keyset&search=${tag}&${query}`, { token: user.token });
  const idsOf = (reply: Reply): number[] => reply.body.map((item: { id: number }) => item.id);
  const nextOf = ({ headers }: Reply) => /^<([^<>,]+)>; rel="next"$/.exec(headers["link"] ?? "")?.[1];

  /** Follows the next links to the end and returns the pages. */
  async function walk(query: string): Promise<number[][]> {
    const pages: number[][] = [];
    let reply = await list(query);
    for (;;) {
      pages.push(idsOf(reply));
      const next = nextOf(reply);
      if (next === undefined) return pages;
      const url = new URL(next);
      reply = await app.get(url.pathname + url.search, { token: user.token });
    }
  }

  test("the default order is by id, descending", async () => {
    assert.deepEqual((await walk("per_page=2")).flat(), ids.toReversed());
  });

  test("every page with rows has a next link, the last one is [] without a link", async () => {
    assert.deepEqual(
      (await walk("per_page=2&sort=asc")).map((page) => page.length),
      [2, 2, 1, 0],
    );
    assert.deepEqual(
      (await walk("per_page=5")).map((page) => page.length),
      [5, 0],
    );
  });

  test("no x- paging headers, and one link with every filter", async () => {
    const reply = await list("per_page=2&order_by=name&sort=asc&active=true");
    assert.deepEqual(
      Object.keys(reply.headers).filter((name) => /^x-(page|per-page|next-page|prev-page|total)/.test(name)),
      [],
    );
    const { searchParams } = new URL(nextOf(reply) ?? "");
    const { cursor, ...rest } = Object.fromEntries(searchParams);
    assert.match(cursor ?? "", /^[\w-]+$/);
    assert.deepEqual(rest, {
      pagination: "keyset",
      search: tag,
      per_page: "2",
      order_by: "name",
      sort: "asc",
      active: "true",
    });
  });

  test("the parameter page is ignored and not repeated in the link", async () => {
    const reply = await list("per_page=2&page=2&sort=asc");
    assert.deepEqual(idsOf(reply), ids.slice(0, 2));
    assert.equal(new URL(nextOf(reply) ?? "").searchParams.has("page"), false);
  });

  for (const order of ORDERS) {
    test(`order_by=${order}, both ways, in pages of two`, async () => {
      const ascending = (await walk(`order_by=${order}&sort=asc&per_page=2`)).flat();
      const descending = (await walk(`order_by=${order}&sort=desc&per_page=2`)).flat();
      assert.deepEqual(ascending, ids);
      assert.deepEqual(descending, ids.toReversed());
    });
  }

  test("per_page works as with offset paging", async () => {
    assert.equal((await list("per_page=0")).status, 400);
    assert.equal((await list("per_page=500")).status, 200);
  });

  test("it continues where offset paging ends", async () => {
    assert.equal((await list("page=9000&per_page=100")).status, 200);
  });

  test("an order_by outside the list is 400", async () => {
    const { status, body } = await list("order_by=shoe_size");
    assert.equal(status, 400);
    assert.deepEqual(body, { error: "order_by does not have a valid value" });
  });

  test("an order_by without keyset paging is 405", async () => {
    const { status, body } = await app.get("/half_keyset?pagination=keyset&order_by=name");
    assert.equal(status, 405);
    assert.deepEqual(body, { error: "Keyset pagination is not yet available for this type of request" });
    assert.equal((await app.get("/half_keyset?pagination=keyset&order_by=id")).status, 200);
    assert.equal((await app.get("/half_keyset?order_by=name")).status, 200);
  });

  test("a list without keyset paging, and any other value of pagination, uses offset paging", async () => {
    const emails = await app.get("/user/emails?pagination=keyset", { token: user.token });
    assert.equal(emails.status, 200);
    assert.equal(emails.headers["x-page"], "1");
    const other = await app.get("/users?pagination=Keyset", { token: user.token });
    assert.equal(other.headers["x-page"], "1");
  });

  test("it works for anonymous callers too", async () => {
    const { headers, status } = await app.get(`/users?pagination=keyset&per_page=2&search=${tag}`);
    assert.equal(status, 200);
    assert.match(headers["link"] ?? "", /cursor=/);
  });

  test("an invalid cursor is 400, whatever its content", async () => {
    const coded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const time = "2026-01-01T00:00:00.000Z";
    for (const [order, cursor] of [
      ["id", "nonsense"],
      ["id", "%00"],
      ["id", coded(7)],
      ["id", coded(["id", "desc", 7])],
      ["id", coded(["id", "desc", 7, "7"])],
      ["id", coded(["id", "desc", 7, 2 ** 60])],
      ["id", coded(["id", "asc", 7, 7])],
      ["name", coded(["id", "desc", 7, 7])],
      ["name", coded(["name", "desc", 7, 7])],
      ["name", coded(["name", "desc", "a\0b", 7])],
      ["name", coded(["name", "desc", "\ud800", 7])],
      ["name", coded(["name", "desc", null, 7])],
      ["created_at", coded(["created_at", "desc", "yesterday", 7])],
      ["created_at", coded(["created_at", "desc", "infinity", 7])],
      ["created_at", coded(["created_at", "desc", "+012345-01-01T00:00:00.000Z", 7])],
      ["created_at", coded(["created_at", "desc", "-000001-01-01T00:00:00.000Z", 7])],
      ["created_at", coded(["created_at", "desc", 1767225600000, 7])],
      ["updated_at", coded(["created_at", "desc", time, 7])],
    ] as const) {
      const { status, body } = await list(`order_by=${order}&cursor=${cursor}`);
      assert.equal(status, 400, `${order} ${Buffer.from(cursor, "base64url").toString()}`);
      assert.equal(typeof body.error, "string");
    }
    assert.equal((await list(`order_by=created_at&cursor=${coded(["created_at", "desc", time, 7])}`)).status, 200);
  });

  test("a row that moves does not hide the rows that stay", async () => {
    const first = await list("order_by=name&sort=asc&per_page=2");
    await app.services.db.write
      .deleteFrom("personal_access_tokens")
      .where("user_id", "=", ids[1] ?? 0)
      .execute();
    await app.services.db.write
      .updateTable("users")
      .set({ name: "Zzz" })
      .where("id", "=", ids[1] ?? 0)
      .execute();
    const url = new URL(nextOf(first) ?? "");
    const rest = await app.get(url.pathname + url.search, { token: user.token });
    assert.deepEqual(idsOf(rest), ids.slice(2, 4));
  });
});

describe("keyset paging of the whole list", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    user = await app.makeUser();
    for (let n = 0; n < 30; n++) await app.makeUser({ name: `Name ${n % 4}`, created_at: `2020-01-0${1 + (n % 3)}` });
  });
  after(() => app.close());

  for (const order of ORDERS) {
    for (const sort of ["asc", "desc"]) {
      test(`order_by=${order}, ${sort}: every user once, in order`, async () => {
        const seen: { id: number }[] = [];
        let next: string | undefined = `/users?pagination=keyset&order_by=${order}&sort=${sort}&per_page=7`;
        for (let pages = 0; next !== undefined; pages++) {
          assert.ok(pages < 20, "it ends");
          const reply: Reply = await app.get(next, { token: user.token });
          assert.equal(reply.status, 200, reply.text);
          seen.push(...reply.body);
          next = /<https?:\/\/[^/]+([^<>]+)>; rel="next"/.exec(reply.headers["link"] ?? "")?.[1];
        }
        const { rows } = await sql<{ id: number }>`
          select id from users order by ${sql.ref(order)} ${sql.raw(sort)}, id ${sql.raw(sort)}`.execute(
          app.services.db.read,
        );
        assert.deepEqual(
          seen.map(({ id }) => id),
          rows.map(({ id }) => id),
        );
      });
    }
  }
});
