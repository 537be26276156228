import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe("lists of tokens", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
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

  test("a user sees their own, an administrator all or one user's", async () => {
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
    ["expires_desc", ["revoked", "gamma 100%", "Beta", "alpha", "expired", "endless"]],
    ["last_used_asc", ["expired", "gamma 100%", "Beta", "endless", "revoked", "alpha"]],
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

  test("three pairs of dates: created and last used are times, expires are days", async () => {
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

  test("search: a part of the name, in any case, without patterns", async () => {
    assert.deepEqual(await set("search=ALPH"), ["alpha"]);
    assert.deepEqual(await set("search=100%25"), ["gamma 100%"]);
    assert.deepEqual(await set("search=%25"), ["gamma 100%"]);
    assert.deepEqual(await set("search=a_p"), []);
  });

  test("active tells whether it can still be used", async () => {
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
