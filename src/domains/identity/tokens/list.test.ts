import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { TokenFilters } from "./params.ts";

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe("lists of tokens", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
    await app.services.db.write.deleteFrom("personal_access_tokens").where("user_id", "=", user.id).execute();
    const add = (name: string, columns: object) => app.makeToken(user.id, { name, ...columns });
    await add("Beta", {
      created_at: "2026-01-02T00:00:00.000Z",
      expires_at: inDays(20),
      last_used_at: "2026-03-02T00:00:00.000Z",
    });
    await add("alpha", { created_at: "2026-01-03T00:00:00.000Z", expires_at: inDays(10), last_used_at: null });
    await add("gamma 100%", {
      created_at: "2026-01-01T00:00:00.000Z",
      expires_at: inDays(30),
      last_used_at: "2026-03-01T00:00:00.000Z",
    });
    await add("revoked", {
      created_at: "2026-01-04T00:00:00.000Z",
      expires_at: inDays(40),
      revoked_at: "2026-02-01T00:00:00.000Z",
    });
    await add("expired", {
      created_at: "2026-01-05T00:00:00.000Z",
      expires_at: "2026-02-02",
      last_used_at: "2026-01-06T00:00:00.000Z",
    });
    await add("endless", { created_at: "2026-01-06T00:00:00.000Z", expires_at: null });
  });
  after(() => app.close());

  const list = async (query: string): Promise<string[]> => {
    const { status, body } = await app.get(`/personal_access_tokens?user_id=${user.id}&${query}`, {
      token: admin.token,
    });
    assert.equal(status, 200, query);
    return body.map(({ name }: { name: string }) => name);
  };
  const set = async (query: string) => (await list(query)).toSorted();
  const ALL = ["Beta", "alpha", "endless", "expired", "gamma 100%", "revoked"];

  test("a user sees their own tokens, an administrator all or those of one user", async () => {
    const other = await app.makeUser();
    const own = await app.get("/personal_access_tokens", { token: other.token });
    assert.deepEqual(
      own.body.map(({ id }: { id: number }) => id),
      [other.tokenId],
    );
    assert.equal((await app.get(`/personal_access_tokens?user_id=${user.id}`, { token: other.token })).status, 403);
    assert.equal((await app.get(`/personal_access_tokens?user_id=${other.id}`, { token: other.token })).status, 200);
    assert.deepEqual(await set(""), ALL);
    const all = await app.get("/personal_access_tokens?per_page=100", { token: admin.token });
    assert.ok(new Set(all.body.map(({ user_id }: { user_id: number }) => user_id)).size > 1);
    assert.equal((await app.get("/personal_access_tokens")).status, 401);
  });

  for (const [sort, order] of [
    ["created_asc", ["gamma 100%", "Beta", "alpha", "revoked", "expired", "endless"]],
    ["created_desc", ["endless", "expired", "revoked", "alpha", "Beta", "gamma 100%"]],
    ["expires_asc", ["expired", "alpha", "Beta", "gamma 100%", "revoked", "endless"]],
    ["expires_desc", ["endless", "revoked", "gamma 100%", "Beta", "alpha", "expired"]],
    ["last_used_asc", ["alpha", "revoked", "endless", "expired", "gamma 100%", "Beta"]],
    ["last_used_desc", ["Beta", "gamma 100%", "expired", "endless", "revoked", "alpha"]],
    ["name_asc", ["alpha", "Beta", "endless", "expired", "gamma 100%", "revoked"]],
    ["name_desc", ["revoked", "gamma 100%", "expired", "endless", "Beta", "alpha"]],
  ] as const) {
    test(`sort=${sort}, over several pages`, async () => {
      assert.deepEqual(await list(`sort=${sort}`), order);
      const pages = [1, 2, 3].map((page) => list(`sort=${sort}&per_page=2&page=${page}`));
      assert.deepEqual((await Promise.all(pages)).flat(), order);
    });
  }

  test("state and revoked", async () => {
    assert.deepEqual(await set("state=active"), ["Beta", "alpha", "endless", "gamma 100%"]);
    assert.deepEqual(await set("state=inactive"), ["expired", "revoked"]);
    assert.deepEqual(await set("revoked=true"), ["revoked"]);
    assert.deepEqual(
      await set("revoked=false"),
      ALL.filter((name) => name !== "revoked"),
    );
    const { status } = await app.get("/personal_access_tokens?state=asleep", { token: admin.token });
    assert.equal(status, 400);
  });

  test("created and last used are filtered by times, expires by days", async () => {
    for (const [query, expected] of [
      ["created_after=2026-01-05T00:00:00Z", ["endless", "expired"]],
      ["created_before=2026-01-01T00:00:00Z", ["gamma 100%"]],
      ["created_after=2026-01-02&created_before=2026-01-03T00:00:00.000Z", ["Beta", "alpha"]],
      ["last_used_after=2026-03-01T00:00:00Z", ["Beta", "gamma 100%"]],
      ["last_used_before=2026-03-01T00:00:00Z", ["expired", "gamma 100%"]],
      [`expires_after=${inDays(30)}`, ["gamma 100%", "revoked"]],
      ["expires_before=2026-02-03", ["expired"]],
      ["expires_before=2026-02-02", []],
    ] as const) {
      assert.deepEqual(await set(query), expected, query);
    }
    const time = await app.get("/personal_access_tokens?expires_after=2026-01-01T00:00:00Z", { token: admin.token });
    assert.deepEqual(time.body, { error: "expires_after is invalid" });
  });

  test("search matches a part of the name in any case, without patterns", async () => {
    assert.deepEqual(await set("search=ALPH"), ["alpha"]);
    assert.deepEqual(await set("search=100%25"), ["gamma 100%"]);
    assert.deepEqual(await set("search=00%25%20gam"), ["gamma 100%"]);
    assert.deepEqual(await set("search=a_p"), []);
    assert.deepEqual(await set("search=%25%25%25"), []);
    assert.deepEqual(await set("search=ET"), ["Beta"]);
    assert.deepEqual(await set("search=m"), ["gamma 100%"]);
    assert.deepEqual(await set("search=mm%200"), ["gamma 100%"]);
    assert.deepEqual(await set("search=_"), []);
    assert.deepEqual(await set("search=%20"), ALL);
  });

  test("a search of fewer than three letters in the tokens of all users must be the whole name", async () => {
    const found = async (search: string) => {
      const { body } = await app.get(`/personal_access_tokens?search=${search}`, { token: admin.token });
      return body.map(({ name }: { name: string }) => name);
    };
    await app.makeToken(user.id, { name: "Ci" });
    assert.deepEqual(await found("cI"), ["Ci"]);
    assert.deepEqual(await found("c"), []);
    await app.services.db.write.deleteFrom("personal_access_tokens").where("name", "=", "Ci").execute();
  });

  test("the list of all tokens has the same orders and filters", async () => {
    const everybodys = async (query: string) => {
      const { body } = await app.get(`/personal_access_tokens?${query}&per_page=100`, { token: admin.token });
      return body
        .filter(({ user_id }: { user_id: number }) => user_id === user.id)
        .map(({ name }: { name: string }) => name);
    };
    for (const sort of TokenFilters.properties.sort.enum) {
      assert.deepEqual(await everybodys(`sort=${sort}`), await list(`sort=${sort}`), sort);
      const filter = "state=active&created_before=2026-01-05T00:00:00Z";
      assert.deepEqual(await everybodys(`sort=${sort}&${filter}`), await list(`sort=${sort}&${filter}`), sort);
    }
    for (const query of ["state=inactive", "revoked=true", "search=gamma", `expires_after=${inDays(30)}`]) {
      assert.deepEqual(await everybodys(query), await list(query), query);
    }
  });

  test("keyset paging lists the tokens of all users", async () => {
    const seen: number[] = [];
    let query = "/personal_access_tokens?pagination=keyset&per_page=2";
    for (let pages = 0; pages < 50 && query !== ""; pages++) {
      const { body, headers } = await app.get(query, { token: admin.token });
      seen.push(...body.map(({ id }: { id: number }) => id));
      query = /<http:\/\/localhost([^>]+)>; rel="next"/.exec(headers["link"] ?? "")?.[1] ?? "";
    }
    const { body } = await app.get("/personal_access_tokens?per_page=100", { token: admin.token });
    assert.deepEqual(
      seen,
      body.map(({ id }: { id: number }) => id),
    );
    const far = await app.get("/personal_access_tokens?page=501&per_page=100", { token: admin.token });
    assert.equal(far.status, 405);
  });

  test("active says whether a token can still be used", async () => {
    const { body } = await app.get(`/personal_access_tokens?user_id=${user.id}`, { token: admin.token });
    const active = Object.fromEntries(body.map((item: { name: string; active: boolean }) => [item.name, item.active]));
    assert.deepEqual(active, {
      Beta: true,
      alpha: true,
      "gamma 100%": true,
      endless: true,
      revoked: false,
      expired: false,
    });
  });
});

describe("lists of more tokens than are counted", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
    // The older half is revoked, so that an order may begin with rows that do not match.
    await sql`
      insert into personal_access_tokens (user_id, name, scopes, token_digest, created_at, expires_at, last_used_at, revoked_at)
      select ${admin.id}, 'many ' || (n * 7919) % 30011, '{api}', sha256(n::text::bytea), at,
        (now() + (n % 300 + 1) * interval '1 day')::date, case when n % 3 > 0 then at + interval '1 hour' end,
        case when n <= 15000 then at + interval '2 hours' end
      from (select n, '2026-01-01'::timestamptz + n * interval '1 minute' as at from generate_series(1, 30000) n) numbered
    `.execute(app.services.db.write);
    // Its use would be recorded in the middle of the first test.
    await sql`update personal_access_tokens set last_used_at = now() where name not like 'many %'`.execute(
      app.services.db.write,
    );
    await sql`analyze personal_access_tokens`.execute(app.services.db.write);
  });
  after(() => app.close());

  const ORDER: Record<string, string> = {
    created_asc: "created_at, id",
    created_desc: "created_at desc, id desc",
    expires_asc: "expires_at, id",
    expires_desc: "expires_at desc nulls first, id desc",
    last_used_asc: "last_used_at nulls first, id",
    last_used_desc: "last_used_at desc nulls last, id desc",
    name_asc: "lower(name), id",
    name_desc: "lower(name) desc, id desc",
  };
  const FILTERS = {
    "state=active": "revoked_at is null",
    "state=inactive": "revoked_at is not null",
    "search=many": "name like 'many%'",
    "created_after=2026-01-08T00:00:00Z": "created_at >= '2026-01-08T00:00:00Z'",
    "last_used_before=2026-01-18T00:00:00Z": "last_used_at <= '2026-01-18T00:00:00Z'",
  };

  for (const [filter, condition] of Object.entries(FILTERS)) {
    test(`${filter}, in every order`, async () => {
      for (const [sort, order] of Object.entries(ORDER)) {
        const { rows } = await sql<{ id: number }>`select id from personal_access_tokens
          where ${sql.raw(condition)} order by ${sql.raw(order)} offset 40 limit 20`.execute(app.services.db.write);
        const { body, headers } = await app.get(`/personal_access_tokens?${filter}&sort=${sort}&page=3`, {
          token: admin.token,
        });
        assert.deepEqual(
          body.map(({ id }: { id: number }) => id),
          rows.map(({ id }) => id),
          sort,
        );
        assert.equal(headers["x-total"], undefined);
        assert.equal(headers["x-next-page"], "4");
      }
    });
  }

  test("offset paging reaches as far with filters as without", async () => {
    const at = (page: number) =>
      app.get(`/personal_access_tokens?state=active&per_page=100&page=${page}`, { token: admin.token });
    assert.equal((await at(150)).body.length, 100);
    assert.equal((await at(500)).status, 200);
    assert.equal((await at(501)).status, 405);
  });
});
