import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Value from "typebox/value";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { ImpersonationToken, NewImpersonationToken } from "./entity.ts";

describe("impersonation tokens", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
  });
  after(() => app.close());

  const path = (id: number | string = "", of = user.id) =>
    `/users/${of}/impersonation_tokens${id === "" ? "" : `/${id}`}`;
  const named = { name: "look into it", scopes: ["api"] };
  const create = async (payload: object = named, of = user.id) => {
    const { status, body, text } = await app.post(path("", of), { token: admin.token, payload });
    assert.equal(status, 201, text);
    return body as { id: number; token: string };
  };
  const ids = async (query = "") =>
    (await app.get(`${path()}?${query}`, { token: admin.token })).body.map(({ id }: { id: number }) => id);

  test("are created by administrators and act as the user", async () => {
    const made = await create();
    assert.ok(Value.Check(NewImpersonationToken, made));
    const shown = await app.get(path(made.id), { token: admin.token });
    assert.ok(Value.Check(ImpersonationToken, shown.body));
    assert.equal(shown.body.impersonation, true);
    assert.equal((await app.get("/user", { token: made.token })).body.id, user.id);
    assert.equal((await app.get(path(), { token: made.token })).status, 403, "with the user's rights, no more");
  });

  test("requests made with one are audited as impersonation", async () => {
    const { id, token } = await create();
    const did = await app.post("/user/personal_access_tokens", {
      token,
      payload: { name: "x", scopes: ["k8s_proxy"] },
    });
    const own = await app.post("/user/personal_access_tokens", {
      token: user.token,
      payload: { name: "x", scopes: ["k8s_proxy"] },
    });
    const detailsOf = async (requestId = "") =>
      await app.services.db.read
        .selectFrom("audit_events")
        .select(["actor_id", "details"])
        .where("request_id", "=", requestId)
        .executeTakeFirstOrThrow();
    const { actor_id, details } = await detailsOf(did.headers["x-request-id"]);
    assert.equal(actor_id, user.id);
    assert.equal((details as Record<string, unknown>)["impersonation_token_id"], id);
    const { details: plain } = await detailsOf(own.headers["x-request-id"]);
    assert.equal("impersonation_token_id" in (plain as object), false);
  });

  test("are listed for one user: all, active or inactive", async () => {
    const active = await create();
    const expired = await app.makeToken(user.id, { impersonation: true, expires_at: "2020-01-01" });
    const revoked = await app.makeToken(user.id, { impersonation: true, revoked_at: "2020-01-01" });
    const elsewhere = await app.makeToken(admin.id, { impersonation: true });
    const all = await ids();
    for (const id of [active.id, expired.id, revoked.id]) assert.ok(all.includes(id));
    assert.ok(!all.includes(elsewhere.id) && !all.includes(user.tokenId));
    assert.deepEqual(await ids("state=all"), all);
    assert.deepEqual(await ids("state=inactive"), [revoked.id, expired.id]);
    const rest = await ids("state=active");
    assert.ok(rest.includes(active.id) && !rest.includes(expired.id) && !rest.includes(revoked.id));
    assert.equal((await app.get(`${path()}?state=asleep`, { token: admin.token })).status, 400);
  });

  test("only administrators see, create or revoke them, not even the user", async () => {
    const { id, token } = await create();
    for (const [as, expected] of [
      [user.token, 403],
      [undefined, 401],
    ] as const) {
      assert.equal((await app.get(path(), { token: as })).status, expected);
      assert.equal((await app.get(path(id), { token: as })).status, expected);
      assert.equal((await app.post(path(), { token: as, payload: named })).status, expected);
      assert.equal((await app.delete(path(id), { token: as })).status, expected);
    }
    const own = await app.get("/personal_access_tokens?per_page=100", { token: user.token });
    assert.ok(!own.body.some((item: { id: number }) => item.id === id));
    for (const as of [user.token, token]) {
      assert.equal((await app.get(`/personal_access_tokens/${id}`, { token: as })).status, 404);
      assert.equal((await app.delete(`/personal_access_tokens/${id}`, { token: as })).status, 404);
      assert.equal((await app.post(`/personal_access_tokens/${id}/rotate`, { token: as })).status, 404);
    }
    assert.equal((await app.get("/personal_access_tokens/self", { token })).status, 404);
    assert.equal((await app.post("/personal_access_tokens/self/rotate", { token })).status, 404);
    assert.equal((await app.get("/user", { token })).status, 200);
  });

  test("end at once when revoked; revoking twice is 400", async () => {
    const { id, token } = await create();
    assert.equal((await app.delete(path(id), { token: admin.token })).status, 204);
    assert.equal((await app.get("/user", { token })).status, 401);
    assert.equal((await app.delete(path(id), { token: admin.token })).status, 400);
  });

  test("a token of another user or of another kind is 404", async () => {
    const { id } = await create();
    for (const wrong of [path(id, admin.id), path(user.tokenId), path(999_999_999)]) {
      for (const { status, body } of [
        await app.get(wrong, { token: admin.token }),
        await app.delete(wrong, { token: admin.token }),
      ]) {
        assert.equal(status, 404, wrong);
        assert.deepEqual(body, { message: "404 Impersonation Token Not Found" });
      }
    }
    const unknown = await app.get(path("", 999_999_999), { token: admin.token });
    assert.deepEqual(unknown.body, { message: "404 User Not Found" });
    const made = await app.post(path("", 999_999_999), { token: admin.token, payload: named });
    assert.equal(made.status, 404);
  });

  test("have the limits of other tokens: scopes, maximum lifetime, state of the user", async () => {
    const refused = await app.post(path(), { token: admin.token, payload: { name: "n", scopes: ["sudo"] } });
    assert.equal(refused.status, 400);
    const late = await app.post(path(), { token: admin.token, payload: { ...named, expires_at: "9999-12-31" } });
    assert.equal(late.status, 422);
    const blocked = await app.makeUser();
    const { token } = await create(named, blocked.id);
    await app.services.db.write.updateTable("users").set({ state: "blocked" }).where("id", "=", blocked.id).execute();
    assert.equal((await app.get("/user", { token })).status, 403);
  });
});
