import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { unavailable } from "#lib/refusal.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const common = {
  method: "GET",
  summary: "Fail",
  access: anyone(),
  params: Type.Object({}),
  returns: Type.Unknown(),
} as const;
const failing = {
  bug: endpoint({
    ...common,
    path: "/fail/bug",
    handle() {
      throw new Error("the secret is 4711");
    },
  }),
  statement: endpoint({
    ...common,
    path: "/fail/statement",
    handle: ({ databases }) => databases.point.query("select nothing from nowhere", []),
  }),
  unavailable: endpoint({
    ...common,
    path: "/fail/unavailable",
    handle() {
      throw unavailable(7);
    },
  }),
};

describe("errors", () => {
  let app: TestApp;
  let user: TestUser;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ resources: { ...resources, failing } });
    user = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  test("error bodies: a helper's message", async () => {
    const { id: own } = await app.makeToken(admin.id, { revoked_at: new Date().toISOString() });
    for (const [method, path, token, status, message] of [
      ["GET", "/user", undefined, 401, "401 Unauthorized"],
      ["GET", "/user", "flpat-unknown", 401, "401 Unauthorized"],
      ["PUT", `/users/${user.id}`, user.token, 403, "403 Forbidden - Requires an administrator"],
      ["GET", "/users/999999999", user.token, 404, "404 User Not Found"],
      ["GET", "/personal_access_tokens/999999999", user.token, 404, "404 Personal Access Token Not Found"],
      ["DELETE", `/personal_access_tokens/${own}`, admin.token, 400, "400 Bad request - Token already revoked"],
    ] as const) {
      const reply = await app.call(method, path, { token });
      assert.equal(reply.status, status, path);
      assert.deepEqual(reply.body, { message });
    }
  });

  test("error bodies: validation errors by field", async () => {
    const payload = { email: "x", name: "n", username: "test!", password: "short" };
    const { status, body } = await app.post("/users", { token: admin.token, payload });
    assert.equal(status, 400);
    assert.deepEqual(Object.keys(body), ["message"]);
    assert.deepEqual(body.message.password, ["is too short (minimum is 8 characters)"]);
    assert.deepEqual(body.message.email, ["is invalid"]);
    assert.equal(body.message.username.length, 2);
  });

  test("error bodies: parameters, several joined by commas", async () => {
    for (const [path, error] of [
      ["/users?page=x", "page is invalid"],
      ["/users?per_page=0", "per_page has a value not allowed"],
      ["/users?order_by=shoe_size&sort=up", "order_by does not have a valid value, sort does not have a valid value"],
      ["/users?extern_uid=7", "extern_uid, provider provide all or none of parameters"],
      ["/users?created_after=soon&active=perhaps", "active is invalid, created_after is invalid"],
    ] as const) {
      const { status, body } = await app.get(path, { token: admin.token });
      assert.equal(status, 400, path);
      assert.deepEqual({ error: body.error.split(", ").toSorted() }, { error: error.split(", ").toSorted() }, path);
    }
    const { body } = await app.post("/users", { token: admin.token, payload: { username: " " } });
    assert.deepEqual(body, {
      error:
        "username is empty, name is missing, email is missing, " +
        "password, reset_password, force_random_password are missing, at least one parameter must be provided",
    });
  });

  test("error bodies: errors of a token", async () => {
    const expired = await app.makeToken(user.id, { expires_at: "2020-01-01" });
    const revoked = await app.makeToken(user.id, { revoked_at: new Date().toISOString() });
    const narrow = await app.makeToken(user.id, { scopes: ["read_repository"] });
    const ask = (token: string) => app.get("/user", { token });
    assert.deepEqual((await ask(expired.token)).body, {
      error: "invalid_token",
      error_description: "Token is expired. You can either do re-authorization or token refresh.",
    });
    const refused = await ask(revoked.token);
    assert.equal(refused.status, 401);
    assert.match(refused.headers["www-authenticate"] ?? "", /^Bearer realm="[^"]+", error="invalid_token"$/);
    assert.deepEqual(refused.body, {
      error: "invalid_token",
      error_description: "Token was revoked. You have to re-authorize from the user.",
    });
    const scoped = await ask(narrow.token);
    assert.equal(scoped.status, 403);
    assert.deepEqual(scoped.body, {
      error: "insufficient_scope",
      error_description: "The request requires higher privileges than provided by the access token.",
      scope: "read_user api read_api",
    });
  });

  test("error bodies: a conflict has a plain message", async () => {
    const payload = { email: user.email, name: "n", username: "free-name", force_random_password: true };
    const { status, body } = await app.post("/users", { token: admin.token, payload });
    assert.equal(status, 409);
    assert.deepEqual(body, { message: "Email has already been taken" });
  });

  test("error bodies: a bug shows no details, and the log has all of them", async () => {
    for (const path of ["/fail/bug", "/fail/statement"]) {
      const { status, body, headers } = await app.get(path);
      assert.equal(status, 500);
      assert.deepEqual(body, { message: "500 Internal Server Error" });
      const lines = app.logged.filter((line) => line.includes(headers["x-request-id"] ?? "no id"));
      assert.equal(lines.length, 2);
      assert.match(lines[0] ?? "", /"stack":/);
    }
    assert.ok(app.logged.join("").includes("the secret is 4711"));
  });

  test("error bodies: 503 has Retry-After", async () => {
    const { status, body, headers } = await app.get("/fail/unavailable");
    assert.equal(status, 503);
    assert.deepEqual(body, { message: "503 Service Unavailable" });
    assert.equal(headers["retry-after"], "7");
  });

  test("a request that fails on our side is logged as a warning with its reason", async () => {
    for (const [path, level, reason] of [
      ["/fail/bug", "warn", "unexpected failure"],
      ["/fail/unavailable", "warn", "503 Service Unavailable"],
      ["/users/999999999", "info", undefined],
    ] as const) {
      const { headers } = await app.get(path, { token: user.token });
      const lines = app.logged.filter((line) => line.includes(headers["x-request-id"] ?? "no id"));
      const line = JSON.parse(lines.at(-1) ?? "{}");
      assert.deepEqual([line.level, line.reason], [level, reason], path);
    }
  });
});

describe("order of checks", () => {
  let app: TestApp;
  let user: TestUser;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const nowhere = 999_999_999;
  const bad = { projects_limit: "many", email: "not an address" };

  test("401, then 403, then 400, then 404, then validation errors", async () => {
    const put = (id: number, token: string | undefined, payload: object) => app.put(`/users/${id}`, { token, payload });
    assert.equal((await put(nowhere, undefined, bad)).status, 401);
    assert.equal((await put(nowhere, user.token, bad)).status, 403);
    assert.equal((await put(nowhere, admin.token, bad)).status, 400);
    assert.equal((await put(nowhere, admin.token, { email: bad.email })).status, 404);
    assert.equal((await put(user.id, admin.token, { username: admin.username, bio: "b".repeat(300) })).status, 409);
    assert.equal((await put(user.id, admin.token, { bio: "b".repeat(300) })).status, 400);
  });

  test("a caller without access gets the same refusal with good, bad and no parameters", async () => {
    for (const token of [undefined, user.token]) {
      const answers = new Set<string>();
      for (const id of [user.id, nowhere]) {
        for (const payload of [{}, { bio: "fine" }, bad]) {
          const { status, text } = await app.put(`/users/${id}`, { token, payload });
          answers.add(`${status} ${text}`);
        }
      }
      assert.equal(answers.size, 1, [...answers].join("\n"));
    }
  });

  test("not visible: 404, byte for byte as if it did not exist", async () => {
    const other = await app.makeToken(admin.id);
    for (const [method, path] of [
      ["GET", (id: number) => `/personal_access_tokens/${id}`],
      ["DELETE", (id: number) => `/personal_access_tokens/${id}`],
      ["POST", (id: number) => `/personal_access_tokens/${id}/rotate`],
    ] as const) {
      const hidden = await app.call(method, path(other.id), { token: user.token });
      const absent = await app.call(method, path(nowhere), { token: user.token });
      assert.equal(hidden.status, 404);
      assert.equal(hidden.text, absent.text);
      const { "x-request-id": _a, date: _b, ...hiddenHeaders } = hidden.headers;
      const { "x-request-id": _c, date: _d, ...absentHeaders } = absent.headers;
      assert.deepEqual(hiddenHeaders, absentHeaders);
    }
    assert.equal((await app.get("/user", { token: other.token })).status, 200);
  });

  test("an anonymous caller gets 401, also for an unknown user", async () => {
    assert.equal((await app.get(`/users/${user.id}`)).status, 401);
    assert.equal((await app.get(`/users/${nowhere}`)).status, 401);
  });
});
