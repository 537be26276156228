import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { multipart } from "#test/support/wire.ts";

describe("X-Ignored-Parameters", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const ignoredOf = async (query: string) =>
    (await app.get(`/users${query}`, { token: admin.token })).headers["x-ignored-parameters"];

  test("names the parameters that an endpoint does not have", async () => {
    assert.equal(await ignoredOf("?serach=x&per_page=1"), "serach");
    assert.equal(await ignoredOf("?serach=x&Active=true&custom[a]=b&list[]=1"), "serach, Active, custom, list");
    assert.equal(await ignoredOf("?search=x&page=1&order_by=id&sudo="), undefined);
    const { headers } = await app.get(`/users?private_token=${admin.token}&access_token=${admin.token}`);
    assert.equal(headers["x-ignored-parameters"], undefined);
  });

  test("in bodies of every kind, and where the rest is refused", async () => {
    const { token } = admin;
    const put = (call: object) => app.put(`/users/${admin.id}`, { token, ...call });
    assert.equal((await put({ payload: { boi: "x" } })).headers["x-ignored-parameters"], "boi");
    const form = { payload: "boi=x&bio=y", headers: { "content-type": "application/x-www-form-urlencoded" } };
    assert.equal((await put(form)).headers["x-ignored-parameters"], "boi");
    const { payload, headers } = multipart({ boi: "x", bio: "y" });
    assert.equal((await put({ payload, headers })).headers["x-ignored-parameters"], "boi");
    const refused = await app.post("/users", { token, payload: { user_name: "x" } });
    assert.deepEqual([refused.status, refused.headers["x-ignored-parameters"]], [400, "user_name"]);
  });

  test("keys of objects, by the name of the object", async () => {
    const { token } = admin;
    const { body: project } = await app.post("/projects", { token, payload: { name: "Keys" } });
    const platform = { api_url: "https://203.0.114.9", token: "t", colour: "red", ca_crt: "x" };
    const path = `/projects/${project.id}/clusters/user`;
    const made = await app.post(path, { token, payload: { name: "c", platform_kubernetes_attributes: platform } });
    const expected = "platform_kubernetes_attributes[colour], platform_kubernetes_attributes[ca_crt]";
    assert.deepEqual([made.status, made.headers["x-ignored-parameters"]], [201, expected]);
    const form = {
      payload: "platform_kubernetes_attributes[authorization_type]=abac&name=d",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    };
    const { headers } = await app.put(`/projects/${project.id}/clusters/${made.body.id}`, { token, ...form });
    assert.equal(headers["x-ignored-parameters"], "platform_kubernetes_attributes[authorization_type]");
  });

  test("whoever may not call the endpoint is told nothing of its parameters", async () => {
    const user = await app.makeUser();
    for (const token of [undefined, user.token]) {
      const { headers } = await app.put(`/users/${admin.id}`, { token, payload: { boi: "x" } });
      assert.equal(headers["x-ignored-parameters"], undefined);
    }
  });

  test("holds at most 10 names and 256 bytes, none that could be a value, and nothing that breaks a header", async () => {
    const many = Array.from({ length: 30 }, (_, n) => `name_${n}=1`).join("&");
    assert.equal((await ignoredOf(`?${many}`))?.split(", ").length, 10);
    const long = Array.from({ length: 10 }, (_, n) => `${"n".repeat(60)}${n}=1`).join("&");
    const named = await ignoredOf(`?${long}`);
    assert.ok(named !== undefined && named.length <= 256 && named.split(", ").length === 4, String(named));
    for (const odd of [
      `${admin.token}=1`,
      `x${admin.token}=1`,
      "a%0d%0aset-cookie:%20b=1",
      "%C3%BC=1",
      `${"x".repeat(65)}=1`,
      "%7B%22password%22:%22hunter2%22%7D",
      "a%20b=1",
      "a,b=1",
    ])
      assert.equal(await ignoredOf(`?${odd}`), undefined, odd);
  });

  test("scripts of other sites can read it", async () => {
    const { headers } = await app.get("/users?serach=x", { headers: { origin: "https://elsewhere.example" } });
    assert.match(headers["access-control-expose-headers"] ?? "", /X-Ignored-Parameters/);
  });
});
