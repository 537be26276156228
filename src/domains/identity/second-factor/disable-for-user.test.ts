import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("PATCH /users/:id/disable_two_factor", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());
  const disable = (id: number, token = admin.token) => app.call("PATCH", `/users/${id}/disable_two_factor`, { token });

  test("removes the second factor: 204; 400 without one, 403 for an administrator, 404 for an unknown user", async () => {
    const user = await app.makeUser({ two_factor_enabled: true });
    await sql`insert into second_factors (user_id, sealed_secret, confirmed_at) values (${user.id}, 'x', now())`.execute(
      app.services.db.write,
    );
    assert.equal((await disable(user.id, user.token)).status, 403);
    assert.equal((await disable(user.id)).status, 204);
    assert.equal((await app.get(`/users/${user.id}`, { token: admin.token })).body.two_factor_enabled, false);
    const { rows } = await sql`select from second_factors where user_id = ${user.id}`.execute(app.services.db.write);
    assert.equal(rows.length, 0);
    const again = await disable(user.id);
    assert.equal(again.status, 400);
    assert.deepEqual(again.body, {
      message: "400 Bad request - Two-factor authentication is not enabled for this user",
    });
    const otherAdmin = await app.makeUser({ admin: true, two_factor_enabled: true });
    const refused = await disable(otherAdmin.id);
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /^403 Forbidden - Two-factor authentication for admins cannot be disabled/);
    assert.equal((await disable(999_999_999)).status, 404);
  });
});
