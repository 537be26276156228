import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

interface Token {
  readonly id: number;
  readonly token: string;
}

describe("rotation of tokens", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  /** A new user with one token to rotate, besides the one that the user acts with. */
  async function ownToken(): Promise<Token> {
    user = await app.makeUser();
    return app.makeToken(user.id, { name: "rotated", scopes: ["api"] });
  }

  const works = async (token: string) => (await app.get("/user", { token })).status === 200;

  const activeOnes = async () => {
    const { body } = await app.get(`/personal_access_tokens?user_id=${user.id}&state=active&search=rotated`, {
      token: admin.token,
    });
    return (body as Token[]).map(({ id }) => id);
  };

  test("creates a token of the same user, with the same name and scopes, and revokes the old one", async () => {
    const old = await ownToken();
    const { status, body } = await app.post(`/personal_access_tokens/${old.id}/rotate`, { token: user.token });
    assert.equal(status, 200);
    assert.notEqual(body.token, old.token);
    assert.deepEqual([body.user_id, body.name, body.scopes], [user.id, "rotated", ["api"]]);
    assert.ok(await works(body.token));
    assert.ok(!(await works(old.token)));
    assert.deepEqual(await activeOnes(), [body.id]);
  });

  test("succeeds exactly once for two concurrent requests, and exactly one token is active", async () => {
    for (let round = 0; round < 10; round++) {
      const old = await ownToken();
      const answers = await Promise.all(
        [user.token, admin.token].map((token) => app.post(`/personal_access_tokens/${old.id}/rotate`, { token })),
      );
      const [won, lost] = answers.toSorted((one, other) => one.status - other.status);
      assert.deepEqual([won?.status, lost?.status], [200, 400]);
      const made = won?.body as Token;
      assert.deepEqual(await activeOnes(), [made.id]);
      assert.ok(await works(made.token));
    }
  });

  test("succeeds for more tokens at once than there are connections", async () => {
    const fresh = await testApp({ env: { FAIRLEAD_POOL_SIZE: "2" } });
    try {
      const owner = await app.makeUser();
      const tokens = await Promise.all(Array.from({ length: 12 }, () => app.makeToken(owner.id)));
      const rotated = await Promise.all(
        tokens.map(({ id }) => fresh.post(`/personal_access_tokens/${id}/rotate`, { token: owner.token })),
      );
      assert.deepEqual(new Set(rotated.map(({ status }) => status)), new Set([200]));
    } finally {
      await fresh.close();
    }
  });

  test("of a revoked token by its id is 400 and changes nothing", async () => {
    const old = await ownToken();
    const { body: next } = await app.post(`/personal_access_tokens/${old.id}/rotate`, { token: user.token });
    for (const token of [user.token, admin.token]) {
      const again = await app.post(`/personal_access_tokens/${old.id}/rotate`, { token });
      assert.equal(again.status, 400);
      assert.deepEqual(again.body, { message: "400 Bad request - Token already revoked" });
    }
    assert.deepEqual(await activeOnes(), [next.id]);
    assert.ok(await works(next.token));
  });

  test("with a revoked token is 401 and revokes every token derived from it", async () => {
    for (const path of ["self", "by id"]) {
      const first = await ownToken();
      const { body: second } = await app.post("/personal_access_tokens/self/rotate", { token: first.token });
      const { body: third } = await app.post("/personal_access_tokens/self/rotate", { token: second.token });
      assert.ok(await works(third.token));
      await app.services.db.write
        .updateTable("personal_access_tokens")
        .set({ revoked_at: sql<string>`revoked_at - interval '11 seconds'` })
        .where("id", "=", first.id)
        .execute();
      const stolen = await app.post(`/personal_access_tokens/${path === "self" ? path : first.id}/rotate`, {
        token: first.token,
      });
      assert.equal(stolen.status, 401);
      assert.equal(stolen.body.error, "invalid_token");
      assert.deepEqual(await activeOnes(), []);
      assert.ok(!(await works(third.token)));
      assert.ok(await works(user.token), "a token that did not come from it lives on");
    }
  });

  test("a revoked token that is used elsewhere revokes nothing", async () => {
    const old = await ownToken();
    const { body: next } = await app.post(`/personal_access_tokens/${old.id}/rotate`, { token: user.token });
    for (const path of ["/user", "/personal_access_tokens/self", `/personal_access_tokens/${next.id}`]) {
      assert.equal((await app.get(path, { token: old.token })).status, 401);
    }
    assert.equal((await app.delete("/personal_access_tokens/self", { token: old.token })).status, 401);
    assert.ok(await works(next.token));
  });

  test("creates a token for a week by default, and at most for the longest lifetime", async () => {
    const old = await ownToken();
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const { body: next } = await app.post(`/personal_access_tokens/${old.id}/rotate`, { token: user.token });
    assert.equal(next.expires_at, day(7));
    for (const expires_at of [day(-1), day(0), day(366), "9999999-01-01", "tomorrow", ["2027-01-01"]]) {
      const { status } = await app.post(`/personal_access_tokens/${next.id}/rotate`, {
        token: user.token,
        payload: { expires_at },
      });
      assert.ok(status === 400 || status === 422, `${String(expires_at)}: ${status}`);
    }
    assert.deepEqual(await activeOnes(), [next.id], "a refused rotation ends nothing");
    const payload = { expires_at: day(365) };
    const { body: last } = await app.post(`/personal_access_tokens/${next.id}/rotate`, { token: user.token, payload });
    assert.equal(last.expires_at, day(365));
  });

  test("an impersonation token is not among the user's own tokens", async () => {
    const { id } = await ownToken();
    const hidden = await app.makeToken(user.id, { name: "rotated", impersonation: true });
    assert.deepEqual(await activeOnes(), [id]);
    const paths = [`/personal_access_tokens/${hidden.id}`, `/personal_access_tokens/${hidden.id}/rotate`];
    const nobody = await app.get("/personal_access_tokens/4503599627370495", { token: user.token });
    assert.equal((await app.get(paths[0] ?? "", { token: user.token })).text, nobody.text);
    assert.equal((await app.delete(paths[0] ?? "", { token: user.token })).status, 404);
    assert.equal((await app.post(paths[1] ?? "", { token: user.token })).status, 404);
    assert.ok(await works(hidden.token));
  });
});
