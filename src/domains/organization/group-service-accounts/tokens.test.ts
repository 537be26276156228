import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import Value from "typebox/value";
import { makeGroup } from "#domains/organization/groups/test-support.ts";
import { NewToken, Token } from "#domains/identity/tokens/entity.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { type Made, makeAccount, makeAccountToken, type MadeToken } from "./test-support.ts";

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe("tokens of service accounts", () => {
  let app: TestApp;
  let admin: TestUser;
  let owner: TestUser;
  let group: { id: number };
  let account: Made;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    owner = await app.makeUser();
    group = await makeGroup(app, owner);
    account = await makeAccount(app, owner, group.id);
  });
  after(() => app.close());

  const path = (of: { id: number } = account) => `/groups/${group.id}/service_accounts/${of.id}/personal_access_tokens`;
  const make = (of: { id: number } = account, payload: object = {}) =>
    makeAccountToken(app, owner, group.id, of.id, payload);
  const rotate = (id: number, of: { id: number } = account, payload: object = {}, token = owner.token) =>
    app.post(`${path(of)}/${id}/rotate`, { token, payload });
  const works = async ({ token }: { token: string }) => (await app.get("/user", { token })).status === 200;
  const live = async (of: { id: number }) => {
    const { body } = await app.get(`${path(of)}?state=active&per_page=100`, { token: owner.token });
    return (body as MadeToken[]).map(({ id }) => id);
  };

  test("a token that an Owner creates acts as the account", async () => {
    const payload = { name: "deploys", description: "d", scopes: "api,read_user", expires_at: inDays(10) };
    const { status, body } = await app.post(path(), { token: owner.token, payload });
    assert.equal(status, 201);
    assert.deepEqual([...Value.Errors(NewToken, body)], []);
    assert.deepEqual(body.scopes, ["api", "read_user"]);
    assert.equal(body.user_id, account.id);
    assert.equal(body.expires_at, inDays(10));
    assert.equal((await app.get("/user", { token: body.token })).body.id, account.id);
    const rest = await make();
    assert.equal(
      (await app.get(`/personal_access_tokens/${rest.id}`, { token: admin.token })).body.expires_at,
      inDays(365),
    );
  });

  test("a token that cannot be used yet says why", async () => {
    const refused = "Requests with this token are refused for now: ";
    const unconfirmed = `${refused}Your primary email address is not confirmed. Follow the link in the confirmation mail.`;
    const waiting = await makeAccount(app, owner, group.id, { email: `waiting-${group.id}@example.com` });
    const payload = { name: "t", scopes: ["api"] };
    const made = await app.post(path(waiting), { token: owner.token, payload });
    assert.deepEqual([made.status, made.body.warning], [201, unconfirmed]);
    assert.deepEqual([...Value.Errors(NewToken, made.body)], []);
    const use = await app.get("/user", { token: made.body.token });
    assert.equal(use.status, 403, "as it said");
    assert.equal((await rotate(made.body.id, waiting)).body.warning, unconfirmed);
    assert.equal("warning" in (await make()), false);

    const blocked = await app.makeUser({ state: "blocked" });
    const ofUser = await app.post(`/users/${blocked.id}/personal_access_tokens`, { token: admin.token, payload });
    assert.deepEqual([ofUser.status, ofUser.body.warning], [201, `${refused}Your account has been blocked.`]);
  });

  test("the shorter path that a client uses works too", async () => {
    const { status, body } = await app.post(`/groups/${group.id}/service_accounts/${account.id}`, {
      token: owner.token,
      payload: { name: "short", scopes: ["read_api"] },
    });
    assert.equal(status, 201);
    assert.equal(body.user_id, account.id);
    assert.ok(await works(body));
  });

  test("missing and unknown values are refused", async () => {
    const create = async (payload: object) => (await app.post(path(), { token: owner.token, payload })).body;
    assert.deepEqual(await create({}), { error: "name is missing, scopes is missing" });
    assert.deepEqual(await create({ name: "n", scopes: [] }), { message: "Scopes can't be blank" });
    for (const expires_at of [inDays(366), inDays(0), "2001-01-01"]) {
      assert.match((await create({ name: "n", scopes: ["api"], expires_at })).message, /^Expiration date must be /);
    }
    for (const expires_at of ["9999999-01-01", "tomorrow", ["2027-01-01"], { year: 2027 }, "2570-01-01 BE"]) {
      assert.deepEqual(await create({ name: "n", scopes: ["api"], expires_at }), { error: "expires_at is invalid" });
    }
  });

  test("are listed in order of creation, with every filter and sort, for this account only", async () => {
    const listed = await makeAccount(app, owner, group.id);
    const [first, second, third] = [
      await make(listed, { name: "one" }),
      await make(listed, { name: "two", expires_at: inDays(3) }),
      await make(listed, { name: "three" }),
    ];
    await app.makeToken(listed.id, { impersonation: true });
    await app.delete(`${path(listed)}/${third.id}`, { token: owner.token });
    const list = async (query: string) => {
      const { status, body, text } = await app.get(`${path(listed)}?${query}`, { token: owner.token });
      assert.equal(status, 200, text);
      for (const item of body) assert.deepEqual([...Value.Errors(Token, item)], []);
      return (body as MadeToken[]).map(({ id }) => id);
    };
    assert.deepEqual(await list(""), [first.id, second.id, third.id]);
    for (const [query, expected] of [
      ["state=active", [first.id, second.id]],
      ["state=inactive", [third.id]],
      ["revoked=true", [third.id]],
      ["revoked=false", [first.id, second.id]],
      ["search=thr", [third.id]],
      ["search=hr", [third.id]],
      [`expires_before=${inDays(4)}`, [second.id]],
      ["created_after=2100-01-01T00:00:00Z", []],
      ["last_used_after=2000-01-01T00:00:00Z", []],
      ["sort=name_asc", [first.id, third.id, second.id]],
      ["sort=expires_asc&revoked=false", [second.id, first.id]],
      ["sort=created_desc", [third.id, second.id, first.id]],
    ] as const) {
      assert.deepEqual(await list(query), expected, query);
    }
    assert.equal((await app.get(`${path(listed)}?sort=id`, { token: owner.token })).status, 400);
  });

  test("a revoked token ends at once; revoking it again is 400", async () => {
    const made = await make();
    assert.equal((await app.delete(`${path()}/${made.id}`, { token: owner.token })).status, 204);
    assert.equal(await works(made), false);
    const again = await app.delete(`${path()}/${made.id}`, { token: owner.token });
    assert.deepEqual(again.body, { message: "400 Bad request - Token already revoked" });
  });

  describe("rotated", () => {
    let own: Made;
    const fresh = async () => (own = await makeAccount(app, owner, group.id));

    test("all tokens of the account end at once, and there is one new token", async () => {
      await fresh();
      const [one, two] = [await make(own, { name: "kept name", scopes: ["api", "read_user"] }), await make(own)];
      const hidden = await app.makeToken(own.id, { impersonation: true });
      const { status, body } = await rotate(one.id, own);
      assert.equal(status, 200);
      assert.deepEqual([body.name, body.scopes, body.user_id], ["kept name", ["api", "read_user"], own.id]);
      assert.equal(body.expires_at, inDays(7));
      assert.deepEqual(await live(own), [body.id]);
      assert.deepEqual(await Promise.all([one, two, body, hidden].map(works)), [false, false, true, true]);
    });

    test("only the rotated token gets the grace period", async () => {
      await fresh();
      const [one, two] = [await make(own), await make(own)];
      const { body } = await rotate(one.id, own, { grace_period: 600, expires_at: inDays(30) });
      assert.equal(body.expires_at, inDays(30));
      assert.deepEqual(await Promise.all([one, two, body].map(works)), [true, false, true]);
      const next = await rotate(body.id, own);
      assert.equal(next.status, 200);
      assert.deepEqual(await Promise.all([one, body, next.body].map(works)), [false, false, true], "no grace is left");
    });

    test("a revoked token cannot be rotated, and nothing changes; an expired one can", async () => {
      await fresh();
      const one = await make(own);
      const { body: next } = await rotate(one.id, own);
      const again = await rotate(one.id, own);
      assert.equal(again.status, 400);
      assert.deepEqual(again.body, { message: "400 Bad request - Token already revoked" });
      assert.deepEqual(await live(own), [next.id]);
      await app.services.db.write
        .updateTable("personal_access_tokens")
        .set({ expires_at: "2020-01-01" })
        .where("id", "=", next.id)
        .execute();
      assert.equal((await rotate(next.id, own)).status, 200);
    });

    test("a refused rotation revokes nothing", async () => {
      await fresh();
      const [one, two] = [await make(own), await make(own)];
      assert.equal((await rotate(one.id, own, { expires_at: inDays(400) })).status, 422);
      assert.deepEqual(await Promise.all([one, two].map(works)), [true, true]);
    });

    test("of many concurrent rotations one succeeds, and one token is valid", async () => {
      for (let round = 0; round < 5; round++) {
        await fresh();
        const tokens = [await make(own), await make(own), await make(own)];
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, at) =>
            rotate(tokens[at % 3]?.id ?? 0, own, {}, [owner, admin][at % 2]?.token),
          ),
        );
        const won = answers.filter(({ status }) => status === 200);
        assert.equal(won.length, 1);
        for (const { status } of answers) assert.ok(status === 200 || status === 400, String(status));
        assert.deepEqual(await live(own), [won[0]?.body.id]);
      }
    });

    test("no token survives that rotates itself or is created at the same time", async () => {
      for (let round = 0; round < 15; round++) {
        await fresh();
        const [one, two] = [await make(own), await make(own)];
        const [all, self] = await Promise.all([
          rotate(one.id, own),
          app.post("/personal_access_tokens/self/rotate", { token: two.token }),
        ]);
        assert.equal(all.status, 200);
        assert.ok([200, 400, 401].includes(self.status), self.text);
        assert.deepEqual(await live(own), [all.body.id], `the other was answered ${self.status}`);
      }
    });

    test("with an idempotency key the Owner or the account gets the response again", async () => {
      await fresh();
      const one = await make(own);
      const ask = (id: number, token: string) =>
        app.post(`${path(own)}/${id}/rotate`, { token, headers: { "idempotency-key": "once" } });
      const first = await ask(one.id, owner.token);
      assert.equal(first.status, 200);
      assert.equal((await ask(one.id, owner.token)).text, first.text);
      await app.services.db.write
        .insertInto("members")
        .values({ group_id: group.id, user_id: own.id, access_level: 50 })
        .execute();
      const second = await ask(first.body.id, first.body.token);
      assert.equal(second.status, 200);
      const again = await ask(first.body.id, first.body.token);
      assert.equal(again.text, second.text);
      assert.equal(again.headers["idempotency-replayed"], "true");
      assert.deepEqual(await live(own), [second.body.id]);
    });

    test("a revoked token that is used again later revokes its family", async () => {
      await fresh();
      const one = await make(own);
      const { body: next } = await rotate(one.id, own);
      await app.services.db.write
        .updateTable("personal_access_tokens")
        .set({ revoked_at: sql<string>`now() - interval '11 seconds'` })
        .where("id", "=", one.id)
        .execute();
      assert.equal((await rotate(one.id, own, {}, one.token)).status, 401);
      assert.equal(await works(next), false);
    });
  });

  test("administrators manage them by the general token routes, and the account its own", async () => {
    const robot = await makeAccount(app, owner, group.id);
    const { body, status } = await app.post(`/users/${robot.id}/personal_access_tokens`, {
      token: admin.token,
      payload: { name: "n", scopes: ["api", "self_rotate"] },
    });
    assert.equal(status, 201);
    const other = await make(robot);
    const turned = await app.post(`/personal_access_tokens/${body.id}/rotate`, { token: admin.token });
    assert.equal(turned.status, 200);
    assert.ok(await works(other), "only the rotated one ends here");
    const self = await app.post("/personal_access_tokens/self/rotate", { token: turned.body.token });
    assert.equal(self.status, 200);
    const listed = await app.get(`/personal_access_tokens?user_id=${robot.id}`, { token: admin.token });
    assert.equal(listed.body.length, 4);
    assert.equal((await app.delete(`/personal_access_tokens/${self.body.id}`, { token: admin.token })).status, 204);
    assert.equal(await works(self.body), false);
  });
});
