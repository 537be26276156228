import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("custom attributes of users", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
  });
  after(() => app.close());

  const at = (key = "", id = user.id) => `/users/${id}/custom_attributes${key && `/${encodeURIComponent(key)}`}`;
  const asAdmin = () => ({ token: admin.token });

  test("are set, read, listed by key, used to filter users, and removed", async () => {
    const set = await app.put(at("room"), { ...asAdmin(), payload: { value: "12" } });
    assert.equal(set.status, 200);
    assert.deepEqual(set.body, { key: "room", value: "12" });
    await app.put(at("room"), { ...asAdmin(), payload: { value: "14" } });
    await app.put(at("a/b c"), { ...asAdmin(), payload: { value: "" } });
    assert.deepEqual((await app.get(at("room"), asAdmin())).body, { key: "room", value: "14" });
    assert.deepEqual((await app.get(at(), asAdmin())).body, [
      { key: "a/b c", value: "" },
      { key: "room", value: "14" },
    ]);
    const found = await app.get("/users?custom_attributes[room]=14&with_custom_attributes=true", asAdmin());
    assert.deepEqual(
      found.body.map(({ id }: TestUser) => id),
      [user.id],
    );
    assert.equal(found.body[0].custom_attributes.length, 2);
    assert.equal((await app.delete(at("room"), asAdmin())).status, 204);
    for (const answer of [await app.get(at("room"), asAdmin()), await app.delete(at("room"), asAdmin())]) {
      assert.equal(answer.status, 404);
      assert.deepEqual(answer.body, { message: "404 Custom Attribute Not Found" });
    }
  });

  test("values up to the maximum length are stored, longer ones refused", async () => {
    const key = "ü".repeat(255);
    const value = "😀".repeat(4000);
    assert.equal((await app.put(at(key), { ...asAdmin(), payload: { value } })).status, 200);
    assert.equal((await app.get(at(key), asAdmin())).body.value, value);
    assert.equal((await app.put(at(`${key}ü`), { ...asAdmin(), payload: { value } })).status, 400);
    assert.deepEqual((await app.put(at("x"), asAdmin())).body, { error: "value is missing" });
  });

  test("are for administrators only; an unknown user is 404", async () => {
    for (const [method, path] of [
      ["GET", at()],
      ["GET", at("room")],
      ["PUT", at("room")],
      ["DELETE", at("room")],
    ] as const) {
      assert.equal((await app.call(method, path, { payload: { value: "x" } })).status, 401);
      assert.equal((await app.call(method, path, { token: user.token, payload: { value: "x" } })).status, 403);
      const nobody = path.replace(String(user.id), "999999999");
      const { status, body } = await app.call(method, nobody, { ...asAdmin(), payload: { value: "x" } });
      assert.equal(status, 404, `${method} ${path}`);
      assert.deepEqual(body, { message: "404 User Not Found" });
    }
  });
});
