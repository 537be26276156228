import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("log", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
  });
  after(() => app.close());

  /** The log lines of one request. */
  async function linesOf(work: () => Promise<{ headers: Record<string, string | undefined> }>) {
    const { headers } = await work();
    const lines = app.logged.filter((line) => line.includes(headers["x-request-id"] ?? "no id"));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  test("log line: one per request, with the operation, status and user", async () => {
    const [line, ...more] = await linesOf(() => app.get(`/users/${admin.id}`, { token: admin.token }));
    assert.deepEqual(more, []);
    const { request_id, time, ms, ...rest } = line ?? {};
    assert.match(String(request_id), /^\w{26}$/);
    assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Number(ms) >= 0);
    assert.deepEqual(rest, {
      level: "info",
      method: "GET",
      path: `/api/v4/users/${admin.id}`,
      operation: "users.get",
      status: 200,
      ip: "127.0.0.1",
      user_id: admin.id,
      token_id: admin.tokenId,
    });
  });

  test("log line: one for refusals and unknown paths too", async () => {
    for (const [path, operation, status] of [
      ["/user", "users.current", 401],
      ["/users?page=x", "users.list", 400],
      ["/nowhere", "none", 404],
    ] as const) {
      const lines = await linesOf(() => app.get(path));
      assert.equal(lines.length, 1, path);
      assert.equal(lines[0]?.["operation"], operation);
      assert.equal(lines[0]?.["status"], status);
    }
  });

  test("log line: an administrator who uses sudo is named", async () => {
    const user = await app.makeUser();
    const [line] = await linesOf(() => app.get(`/user?sudo=${user.id}`, { token: admin.token }));
    assert.equal(line?.["user_id"], user.id);
    assert.equal(line?.["sudoer_id"], admin.id);
  });

  test("log line: no token, password or other parameter is logged", async () => {
    const before = app.logged.length;
    const password = "Correct-Horse-9-Staple";
    const { token } = await app.makeToken(admin.id);
    await app.get(`/users?private_token=${token}&search=somebody-particular`);
    await app.get(`/users?access_token=${token}`);
    await app.get("/user", { headers: { authorization: `Bearer ${token}` } });
    await app.get(`/users/${token}`, { token });
    await app.post("/users", { payload: { private_token: token, password, name: "x" } });
    await app.post("/users", {
      token,
      payload: `{"password":"${password}", broken`,
      headers: { "content-type": "application/json" },
    });
    const text = app.logged.slice(before).join("");
    assert.equal(text.match(/"request_id"/g)?.length, 6);
    for (const secret of [token, password, "somebody-particular"]) assert.ok(!text.includes(secret), secret);
    assert.ok(text.includes("/api/v4/users/[token]"));
  });
});
