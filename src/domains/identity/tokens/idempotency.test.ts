import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import { tokenByDigest } from "#access/acting-users.ts";
import { removeExpiredResponses } from "#http/idempotency/responses.ts";
import { makePerson, signIn } from "#domains/identity/sessions/test-support.ts";
import { type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { personalAccessTokens } from "./routes.ts";

describe("Idempotency-Key", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
  });
  after(() => app.close());

  const newKey = () => randomUUID();
  const post = (path: string, token: string | undefined, key: string | undefined, payload: object = {}) =>
    app.post(path, { token, payload, ...(key !== undefined && { headers: { "idempotency-key": key } }) });
  const create = (key: string | undefined, payload: object = { name: "k", scopes: ["api"] }, token = admin.token) =>
    post(`/users/${user.id}/personal_access_tokens`, token, key, payload);
  const rotateSelf = (token: string, key?: string, payload?: object) =>
    post("/personal_access_tokens/self/rotate", token, key, payload);
  const works = async (token: string) => (await app.get("/user", { token })).status === 200;
  const countOf = async (name: string) =>
    (await app.get(`/personal_access_tokens?user_id=${user.id}&search=${name}`, { token: admin.token })).body.length;
  const age = (key: string, seconds: number) =>
    app.services.db.write
      .updateTable("kept_answers")
      .set({ created_at: sql<string>`created_at - make_interval(secs => ${seconds})` })
      .where("key", "=", key)
      .execute();
  const change = (id: number, columns: { revoked_at?: string; expires_at?: string }) =>
    app.services.db.write.updateTable("personal_access_tokens").set(columns).where("id", "=", id).execute();

  test("a repeated request gets the same response and changes nothing", async () => {
    const key = newKey();
    const name = `k-${key}`;
    const first = await create(key, { name, scopes: ["api"] });
    assert.equal(first.status, 201);
    assert.equal(first.headers["idempotency-replayed"], undefined);
    // The same request, however its parameters are spelled.
    const again = await app.call("POST", `/users/${user.id}/personal_access_tokens?scopes=api`, {
      token: admin.token,
      headers: { "idempotency-key": key, "content-type": "application/x-www-form-urlencoded" },
      payload: new URLSearchParams({ name }).toString(),
    });
    assert.equal(again.status, 201);
    assert.equal(again.headers["idempotency-replayed"], "true");
    assert.deepEqual(again.body, first.body);
    assert.equal(await countOf(name), 1);
    const { rows } = await sql<{ count: number }>`select count(*) as count from audit_events
      where event = 'personal_access_token_created' and target_id = ${first.body.id}`.execute(app.services.db.write);
    assert.equal(rows[0]?.count, 1);
  });

  test("works on every endpoint that creates a token", async () => {
    const { id } = await app.makeToken(user.id);
    const impersonate = `/users/${user.id}/impersonation_tokens`;
    for (const [path, token, payload] of [
      ["/user/personal_access_tokens", user.token, { name: "o", scopes: ["k8s_proxy"] }],
      [`/personal_access_tokens/${id}/rotate`, user.token, {}],
      [impersonate, admin.token, { name: "i", scopes: ["api"] }],
    ] as const) {
      const key = newKey();
      const first = await post(path, token, key, payload);
      const again = await post(path, token, key, payload);
      assert.ok(first.status === 200 || first.status === 201, `${path} ${first.text}`);
      assert.equal(again.text, first.text, path);
      assert.equal(again.status, first.status);
      assert.equal(again.headers["idempotency-replayed"], "true", path);
    }
  });

  test("a rotated token can repeat only the request for its successor", async () => {
    const old = await app.makeToken(user.id);
    const key = newKey();
    const first = await rotateSelf(old.token, key);
    assert.equal(first.status, 200);
    // Long after the leeway for concurrent requests.
    await change(old.id, { revoked_at: "2020-01-01" });
    const again = await rotateSelf(old.token, key);
    assert.equal(again.status, 200);
    assert.deepEqual(again.body, first.body);
    assert.equal(again.headers["idempotency-replayed"], "true");
    assert.ok(await works(first.body.token));
    const other = await rotateSelf(old.token, key, { expires_at: "2030-01-01" });
    assert.equal(other.status, 422);
    assert.equal((await app.get("/user", { token: old.token, headers: { "idempotency-key": key } })).status, 401);
    assert.equal((await create(key, undefined, old.token)).status, 422, "another operation");
    assert.ok(await works(first.body.token));
    assert.equal((await rotateSelf(old.token, newKey())).status, 401, "another key");
    assert.equal(await works(first.body.token), false, "which is reuse");
  });

  test("works by the token's id too, and during its grace period", async () => {
    const old = await app.makeToken(user.id);
    const key = newKey();
    const path = `/personal_access_tokens/${old.id}/rotate`;
    const first = await post(path, old.token, key, { grace_period: 1 });
    assert.equal((await post(path, old.token, key, { grace_period: 1 })).text, first.text, "in its grace");
    await new Promise((resolve) => setTimeout(resolve, 1100));
    assert.equal(await works(old.token), false);
    assert.equal((await post(path, old.token, key, { grace_period: 1 })).text, first.text, "after its grace");
  });

  test("works however the parameters are sent", async () => {
    const old = await app.makeToken(user.id);
    const form = new FormData();
    form.set("grace_period", "0");
    const request = new Request("http://localhost", { method: "POST", body: form });
    const payload = Buffer.from(await request.arrayBuffer());
    const headers = { "idempotency-key": newKey(), "content-type": request.headers.get("content-type") ?? "" };
    const ask = () => app.post("/personal_access_tokens/self/rotate", { token: old.token, headers, payload });
    const first = await ask();
    assert.equal(first.status, 200);
    assert.equal((await ask()).text, first.text);
  });

  test("works for a session too", async () => {
    const { headers } = await signIn(app, await makePerson(app));
    const ask = () =>
      app.post("/user/personal_access_tokens", {
        headers: { ...headers, "idempotency-key": "s" },
        payload: { name: "s", scopes: ["k8s_proxy"] },
      });
    const first = await ask();
    assert.equal(first.status, 201);
    assert.equal((await ask()).text, first.text);
  });

  test("the same key for another request is 422, and changes nothing", async () => {
    const key = newKey();
    assert.equal((await create(key)).status, 201);
    const name = `other-${key}`;
    const { status, body } = await create(key, { name, scopes: ["api"] });
    assert.equal(status, 422);
    assert.deepEqual(body, { message: "The Idempotency-Key was used for another request" });
    assert.equal((await post("/user/personal_access_tokens", admin.token, key, { name, scopes: [] })).status, 422);
    assert.equal(await countOf(name), 0);
  });

  test("a key belongs to one token", async () => {
    const key = newKey();
    const other = await app.makeToken(admin.id);
    const first = await create(key);
    const second = await create(key, undefined, other.token);
    assert.notEqual(second.body.id, first.body.id);
    assert.equal(second.headers["idempotency-replayed"], undefined);
  });

  test("the user of sudo is part of the request", async () => {
    const sudoer = await app.makeToken(admin.id, { scopes: ["api", "sudo"] });
    const key = newKey();
    const as = (sudo: string) =>
      app.post("/user/personal_access_tokens", {
        token: sudoer.token,
        headers: { "idempotency-key": key, sudo },
        payload: { name: "s", scopes: ["k8s_proxy"] },
      });
    assert.equal((await as(user.username)).status, 201);
    assert.equal((await as(user.username)).headers["idempotency-replayed"], "true");
    assert.equal((await as((await app.makeUser()).username)).status, 422);
  });

  test("a key has 1 to 255 printable ASCII characters, which is checked after access", async () => {
    for (const key of ["", "x".repeat(256), "schlüssel", "tab\tin it"]) {
      const { status, body } = await create(key);
      assert.equal(status, 400, key);
      assert.match(body.error, /^Idempotency-Key /);
      assert.equal((await create(key, undefined, "flpat-nobody")).status, 401);
      assert.equal((await create(key, undefined, user.token)).status, 403);
    }
    for (const key of ["x".repeat(255), "a b~!\"'"]) assert.equal((await create(key)).status, 201);
  });

  test("nothing is stored for a refused request", async () => {
    const key = newKey();
    assert.equal((await create(key, { name: "k", scopes: ["sudo"] })).status, 400);
    assert.equal((await create(key, { name: "k", scopes: ["api"] })).status, 201);
  });

  test("a repeated request must still be allowed", async () => {
    const former = await app.makeUser({ admin: true });
    const key = newKey();
    assert.equal((await create(key, undefined, former.token)).status, 201);
    await app.services.db.write.updateTable("users").set({ admin: false }).where("id", "=", former.id).execute();
    assert.equal((await create(key, undefined, former.token)).status, 403);
  });

  for (const [what, spoil] of [
    ["whose user is blocked", (id: number, userId: number) => blocked(id, userId)],
    ["that expired", (id: number) => change(id, { revoked_at: "2020-01-01", expires_at: "2020-01-01" })],
    ["that was ended by hand in its grace", (id: number) => ended(id)],
  ] as const) {
    test(`a rotated token ${what} is refused`, async () => {
      const owner = await app.makeUser();
      const old = await app.makeToken(owner.id);
      const key = newKey();
      const first = await rotateSelf(old.token, key, { grace_period: 600 });
      assert.equal(first.status, 200);
      await spoil(old.id, owner.id);
      const again = await rotateSelf(old.token, key, { grace_period: 600 });
      assert.ok(again.status === 401 || again.status === 403, String(again.status));
      assert.equal(again.headers["idempotency-replayed"], undefined);
    });
  }

  async function blocked(id: number, userId: number) {
    await change(id, { revoked_at: "2020-01-01" });
    await app.services.db.write.updateTable("users").set({ state: "blocked" }).where("id", "=", userId).execute();
  }

  const ended = (id: number) => app.delete(`/personal_access_tokens/${id}`, { token: admin.token });

  test("a token that another rotation revoked is refused", async () => {
    const old = await app.makeToken(admin.id);
    const key = newKey();
    assert.equal((await create(key, undefined, old.token)).status, 201);
    assert.equal((await create(key, undefined, old.token)).headers["idempotency-replayed"], "true");
    assert.equal((await rotateSelf(old.token)).status, 200);
    assert.equal((await create(key, undefined, old.token)).status, 401);
  });

  test("a key is valid for ten minutes, then it can be used again", async () => {
    const key = newKey();
    const first = await create(key);
    await age(key, 590);
    assert.equal((await create(key)).body.id, first.body.id);
    await age(key, 11);
    const second = await create(key);
    assert.equal(second.status, 201);
    assert.notEqual(second.body.id, first.body.id);
    assert.equal((await create(key)).body.id, second.body.id);

    const old = await app.makeToken(user.id);
    assert.equal((await rotateSelf(old.token, key)).status, 200);
    await age(key, 601);
    assert.equal((await rotateSelf(old.token, key)).status, 401);
  });

  test("of concurrent requests one is executed, the others get its response", async () => {
    const old = await app.makeToken(user.id);
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => rotateSelf(old.token, key)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal(answers.filter(({ headers }) => headers["idempotency-replayed"] === undefined).length, 1);
  });

  test("works even if the first request ends between the lookups of its response and of the token", async () => {
    const old = await app.makeToken(user.id);
    const key = newKey();
    const { rotateSelf: usual } = personalAccessTokens;
    let first: Reply | undefined;
    const access = {
      ...usual.access,
      async findToken(...given: Parameters<typeof tokenByDigest>) {
        first ??= await rotateSelf(old.token, key);
        return tokenByDigest(...given);
      },
    };
    const slow = await testApp({
      env: { FAIRLEAD_DATA_DIR: app.services.config.dataDir },
      resources: { personalAccessTokens: { rotateSelf: { ...usual, access } } },
    });
    try {
      const second = await slow.post("/personal_access_tokens/self/rotate", {
        token: old.token,
        headers: { "idempotency-key": key },
      });
      assert.equal(second.status, 200);
      assert.equal(second.text, first?.text);
    } finally {
      await slow.close();
    }
  });

  test("stored responses are sealed, and removed when they expire", async () => {
    const key = newKey();
    const { body } = await create(key);
    const kept = await app.services.db.read
      .selectFrom("kept_answers")
      .selectAll()
      .where("key", "=", key)
      .executeTakeFirstOrThrow();
    assert.equal(kept.caller_digest.toString("hex"), tokenDigest(admin.token));
    for (const text of ["flpat-", body.token.slice(6)]) assert.ok(!kept.sealed_answer?.includes(text));
    await app.services.db.transaction(removeExpiredResponses);
    assert.equal((await create(key)).body.id, body.id);
    await age(key, 601);
    await app.services.db.transaction(removeExpiredResponses);
    const left = await app.services.db.read.selectFrom("kept_answers").select("key").where("key", "=", key).execute();
    assert.deepEqual(left, []);
  });
});
