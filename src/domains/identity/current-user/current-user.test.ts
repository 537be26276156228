import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { GIF } from "#test/support/images.ts";

describe("the current user's preferences and avatar", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
  });
  after(() => app.close());

  test("preferences: at least one of four must be sent", async () => {
    const defaults = {
      ...{ id: user.id, user_id: user.id, view_diffs_file_by_file: false },
      ...{ show_whitespace_in_diffs: true, pass_user_identities_to_ci_jwt: false, timezone: null },
    };
    const get = async () => (await app.get("/user/preferences", { token: user.token })).body;
    const put = (payload: object) => app.put("/user/preferences", { token: user.token, payload });
    assert.deepEqual(await get(), defaults);
    const { status, body } = await put({ show_whitespace_in_diffs: false, view_diffs_file_by_file: true, admin: true });
    assert.equal(status, 200);
    const expected = { ...defaults, show_whitespace_in_diffs: false, view_diffs_file_by_file: true };
    assert.deepEqual(body, expected);
    assert.deepEqual(await get(), expected);
    assert.deepEqual((await put({})).body, {
      error:
        "view_diffs_file_by_file, show_whitespace_in_diffs, pass_user_identities_to_ci_jwt, timezone are missing, " +
        "at least one parameter must be provided",
    });
    assert.equal((await app.get("/user/preferences")).status, 401);
    assert.equal((await app.get("/user", { token: user.token })).body.is_admin, undefined);
  });

  test("a time zone by its IANA name gives local_time, and null removes it", async () => {
    const { token } = user;
    const put = (payload: object) => app.put("/user/preferences", { token, payload });
    const localTime = async () => (await app.get("/user", { token })).body.local_time;
    const admin = await app.makeUser({ admin: true });
    const update = (timezone: string | null) =>
      app.put(`/users/${user.id}`, { token: admin.token, payload: { timezone } });
    assert.equal(await localTime(), null);
    for (const name of ["Asia/Kolkata", "Europe/Berlin", "America/Argentina/Buenos_Aires", "UTC", " Asia/Calcutta "]) {
      const { status, body } = await put({ timezone: name });
      assert.deepEqual([status, body.timezone], [200, name.trim()]);
      assert.match(await localTime(), /^(1[0-2]|[1-9]):[0-5]\d [AP]M$/);
    }
    for (const timezone of ["Mars/Olympus", "+02:00", "Europe", "Europe/Berlin; drop", "GMT+25"]) {
      for (const refused of [await put({ timezone }), await update(timezone)]) {
        assert.deepEqual(
          [refused.status, refused.body],
          [400, { message: { timezone: ["is not a known time zone"] } }],
        );
      }
    }
    assert.deepEqual([(await put({ timezone: null })).status, await localTime()], [200, null]);
    assert.match((await update("Asia/Tokyo")).body.local_time, /M$/);
    assert.equal((await app.get("/user/preferences", { token })).body.timezone, "Asia/Tokyo");
    assert.equal((await update("")).body.local_time, null);
    const name = `zoned-${user.id}`;
    const payload = { ...{ username: name, name, email: `${name}@example.com` }, force_random_password: true };
    const made = await app.post("/users", { token: admin.token, payload: { ...payload, timezone: "Asia/Tokyo" } });
    assert.match(made.body.local_time, /M$/);
  });

  test("avatar: an image, or null to remove it", async () => {
    const put = (form: FormData) => app.put("/user/avatar", { token: user.token, payload: form as never });
    const form = (bytes: Uint8Array<ArrayBuffer>) => {
      const data = new FormData();
      data.set("avatar", new Blob([bytes]), "me.gif");
      return data;
    };
    const { status, body } = await put(form(new Uint8Array(GIF)));
    assert.equal(status, 200);
    assert.deepEqual(body, { avatar_url: `http://localhost/uploads/-/system/user/avatar/${user.id}/avatar.gif` });
    const image = await app.app.inject({ url: new URL(body.avatar_url).pathname, headers: { host: "localhost" } });
    assert.deepEqual(image.rawPayload, GIF);
    const refused = await put(form(new TextEncoder().encode("no image")));
    assert.equal(refused.status, 400);
    assert.deepEqual(Object.keys(refused.body.message), ["avatar"]);
    const missing = await app.put("/user/avatar", { token: user.token, payload: {} });
    assert.deepEqual(missing.body, { error: "avatar is missing" });
    const removed = await app.put("/user/avatar", { token: user.token, payload: { avatar: null } });
    assert.match(removed.body.avatar_url, /default\.svg$/);
  });
});
