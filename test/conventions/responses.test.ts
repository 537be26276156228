import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { listen, send } from "#test/support/wire.ts";

describe("responses", () => {
  let app: TestApp;
  let user: TestUser;
  let admin: TestUser;
  let port: number;
  before(async () => {
    app = await testApp();
    port = await listen(app);
    user = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  test("response type: exactly application/json, errors included", async () => {
    for (const [path, status] of [
      ["/user", 200],
      ["/users?per_page=1", 200],
      ["/users/999999999", 404],
      ["/users?page=x", 400],
      ["/no-such-thing", 404],
    ] as const) {
      const reply = await app.get(path, { token: user.token });
      assert.equal(reply.status, status, path);
      assert.equal(reply.headers["content-type"], "application/json", path);
    }
    assert.equal((await app.get("/user")).headers["content-type"], "application/json");
  });

  test("response type: 204 has neither body nor content type", async () => {
    const { id, token } = await app.makeToken(user.id);
    const reply = await app.delete(`/personal_access_tokens/${id}`, { token });
    assert.equal(reply.status, 204);
    assert.equal(reply.text, "");
    assert.equal(reply.headers["content-type"], undefined);
    assert.ok(["0", undefined].includes(reply.headers["content-length"]));
  });

  test("ETag: an unchanged response is 304 with neither body nor content type", async () => {
    const first = await app.get(`/users/${admin.id}`, { token: user.token });
    const etag = first.headers["etag"];
    assert.match(etag ?? "", /^W\/"[0-9a-f]{32}"$/);
    const again = await app.get(`/users/${admin.id}`, { token: user.token, headers: { "if-none-match": etag ?? "" } });
    assert.equal(again.status, 304);
    assert.equal(again.text, "");
    assert.equal(again.headers["content-type"], undefined);
    assert.equal(again.headers["content-length"], undefined);
    assert.equal(again.headers["etag"], etag);
  });

  test("ETag: one of several, the strong form and * match; another one does not", async () => {
    const { headers } = await app.get("/version", { token: user.token });
    const etag = headers["etag"] ?? "";
    const status = async (known: string) =>
      (await app.get("/version", { token: user.token, headers: { "if-none-match": known } })).status;
    assert.equal(await status(`W/"other", ${etag}`), 304);
    assert.equal(await status(etag.replace("W/", "")), 304);
    assert.equal(await status("*"), 304);
    assert.equal(await status('W/"other"'), 200);
  });

  test("ETag: responses to writes are not cached", async () => {
    const made = await app.post("/user/personal_access_tokens", {
      token: user.token,
      payload: { name: "kept by nobody", scopes: ["k8s_proxy"] },
    });
    assert.equal(made.status, 201);
    assert.equal(made.headers["etag"], undefined);
    assert.equal(made.headers["cache-control"], "no-store");
  });

  test("HEAD: the headers of GET without its body", async () => {
    const headers = { "private-token": user.token };
    const ask = (method: string, path: string) => send(port, method, `/api/v4${path}`, { headers });
    const got = await ask("GET", "/users?per_page=1");
    const head = await ask("HEAD", "/users?per_page=1");
    assert.equal(head.status, 200);
    assert.equal(head.text, "");
    for (const name of ["content-type", "content-length", "etag", "link", "x-total", "x-page"]) {
      assert.equal(head.headers[name], got.headers[name], name);
    }
    const missing = await ask("HEAD", "/users/999999999");
    assert.equal(missing.status, 404);
    assert.equal(missing.text, "");
    assert.equal((await send(port, "HEAD", "/api/v4/user")).status, 401);
  });

  test("CORS: any origin may read a response and its paging headers", async () => {
    const origin = "https://tool.example.org";
    const reply = await app.get("/users", { token: user.token, headers: { origin } });
    assert.equal(reply.headers["access-control-allow-origin"], "*");
    assert.equal(reply.headers["access-control-allow-credentials"], undefined);
    const exposed = (reply.headers["access-control-expose-headers"] ?? "").toLowerCase().split(", ");
    for (const name of ["link", "x-total", "x-next-page", "x-request-id", "etag", "ratelimit-remaining"]) {
      assert.ok(exposed.includes(name), name);
    }
    const silent = await app.get("/users", { token: user.token });
    assert.equal(silent.headers["access-control-allow-origin"], undefined);
    assert.equal(silent.headers["vary"], "Origin");
  });

  test("CORS: a preflight request is answered with the allowed methods and headers", async () => {
    const headers = { origin: "https://tool.example.org", "access-control-request-method": "PUT" };
    const reply = await app.call("OPTIONS", "/users/1", { headers });
    assert.equal(reply.status, 204);
    assert.equal(reply.headers["access-control-allow-origin"], "*");
    assert.equal(reply.headers["access-control-allow-methods"], "GET, PUT, DELETE, HEAD");
    const allowed = (reply.headers["access-control-allow-headers"] ?? "").split(", ");
    for (const name of ["authorization", "content-type", "private-token", "sudo"]) assert.ok(allowed.includes(name));
  });

  const SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    server: undefined,
    "x-powered-by": undefined,
  };
  const securityOf = (headers: Record<string, string | string[] | undefined>) =>
    Object.fromEntries(Object.keys(SECURITY).map((name) => [name, headers[name]]));

  test("security headers: on every kind of response", async () => {
    const etag = (await app.get("/version", { token: user.token })).headers["etag"] ?? "";
    for (const [status, method, path, headers] of [
      [200, "GET", "/api/v4/user", { "private-token": user.token }],
      [304, "GET", "/api/v4/version", { "private-token": user.token, "if-none-match": etag }],
      [204, "OPTIONS", "/api/v4/users", {}],
      [200, "HEAD", "/api/v4/users", {}],
      [200, "GET", "/-/health", {}],
      [200, "GET", "/-/api/openapi.json", {}],
      [302, "GET", "/", {}],
      [400, "GET", "/api/v4/users?page=x", {}],
      [400, "GET", "/%", {}],
      [401, "GET", "/api/v4/user", {}],
      [401, "GET", "/a/b.git/info/refs?service=git-upload-pack", {}],
      [404, "GET", "/api/v4/no-such-thing", {}],
      [405, "PATCH", "/api/v4/users", {}],
      [414, "GET", `/${"a".repeat(9000)}`, {}],
      [431, "GET", "/api/v4/users", { "x-long": "a".repeat(70_000) }],
    ] as const) {
      const answer = await send(port, method, path, { headers });
      assert.equal(answer.status, status, `${method} ${path.slice(0, 50)}`);
      assert.deepEqual(securityOf(answer.headers), SECURITY, `${method} ${path.slice(0, 50)}`);
    }
  });

  test("security headers: pages for people allow what they need", async () => {
    const reference = await app.get("/-/api");
    const policy = reference.headers["content-security-policy"] ?? "";
    assert.match(policy, /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'/);
    assert.deepEqual(securityOf(reference.headers), { ...SECURITY, "content-security-policy": policy });
    const account = await app.get("/-/account/forgotten");
    const accountPolicy = account.headers["content-security-policy"] ?? "";
    assert.match(accountPolicy, /^default-src 'none'; style-src 'sha256-.*frame-ancestors 'none'/);
    assert.deepEqual(securityOf(account.headers), {
      ...SECURITY,
      "content-security-policy": accountPolicy,
      // With `no-referrer` browsers would send `Origin: null` with its forms.
      "referrer-policy": "same-origin",
    });
  });

  test("security headers: HSTS only if the site uses https", async () => {
    const hstsOf = async (at: TestApp, headers: Record<string, string> = {}, path = "/users") =>
      (await at.get(path, { headers })).headers["strict-transport-security"];
    assert.equal(await hstsOf(app), undefined);
    assert.equal(await hstsOf(app, { "x-forwarded-proto": "https" }), undefined, "no proxy is trusted");
    const named = await testApp({ env: { FAIRLEAD_EXTERNAL_URL: "https://code.example" } });
    const behind = await testApp({ env: { FAIRLEAD_TRUSTED_PROXIES: "127.0.0.1" } });
    try {
      for (const path of ["/users", "/user", "/nowhere", "/-/health", "/-/account/forgotten"])
        assert.equal(await hstsOf(named, {}, path), "max-age=31536000", path);
      assert.equal(await hstsOf(behind), undefined);
      assert.equal(await hstsOf(behind, { "x-forwarded-proto": "https" }), "max-age=31536000");
      assert.equal(await hstsOf(behind, { "x-forwarded-proto": "http" }), undefined);
    } finally {
      await named.close();
      await behind.close();
    }
  });

  test("status: 405 names the allowed verbs", async () => {
    const reply = await app.call("PATCH", "/users", { token: admin.token });
    assert.equal(reply.status, 405);
    assert.deepEqual(reply.body, { error: "405 Not Allowed" });
    assert.equal(reply.headers["allow"], "GET, POST, HEAD");
  });

  test("request ids: unique on every response, sorted by time", async () => {
    const ids: string[] = [];
    for (const path of ["/user", "/users", "/nowhere", "/-/health"]) {
      const { headers } = await app.get(path);
      assert.match(headers["x-request-id"] ?? "", /^[0-9A-HJKMNP-TV-Z]{26}$/, path);
      ids.push(headers["x-request-id"] ?? "");
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(ids, ids.toSorted());
  });

  test("request ids: the caller's id is ignored", async () => {
    const { headers } = await app.get("/users", { headers: { "x-request-id": "chosen" } });
    assert.notEqual(headers["x-request-id"], "chosen");
  });

  test("times are in UTC with milliseconds, dates without a time", async () => {
    const { body } = await app.get(`/users/${user.id}`, { token: admin.token });
    assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const tokens = await app.get("/personal_access_tokens", { token: user.token });
    assert.match(tokens.body[0].expires_at, /^\d{4}-\d\d-\d\d$/);
  });
});
