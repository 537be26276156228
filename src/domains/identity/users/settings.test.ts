import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const PASSWORD = "Tall-Ships-Sail-4-Ever";

const fresh = () => {
  const username = `new-${randomUUID().slice(0, 8)}`;
  return { username, name: "New Person", email: `${username}@example.com` };
};

describe("POST /users and the settings of the instance", () => {
  test("the settings decide on confirmation, the private profile, limits and passwords", async () => {
    const strict = await testApp({ databaseUrl: await freshDatabase() });
    try {
      const { token } = await strict.makeUser({ admin: true });
      const changes = {
        email_confirmation: "hard",
        user_defaults_to_private_profile: true,
        default_projects_limit: 12,
        can_create_group: false,
        default_theme_id: 4,
        password_minimum_length: 30,
      } as const;
      await strict.services.db.write.updateTable("settings").set(changes).execute();
      const make = async (given: object = {}) =>
        (await strict.post("/users", { token, payload: { ...fresh(), password: `${PASSWORD}-${PASSWORD}`, ...given } }))
          .body;
      const made = await make();
      assert.equal(made.confirmed_at, null);
      assert.equal(made.private_profile, true);
      assert.equal(made.projects_limit, 12);
      assert.equal(made.can_create_group, false);
      assert.equal(made.theme_id, 4);
      assert.notEqual((await make({ skip_confirmation: true })).confirmed_at, null);
      assert.equal((await make({ private_profile: null })).private_profile, true);
      assert.equal((await make({ private_profile: false })).private_profile, false);
      const short = await make({ password: PASSWORD });
      assert.deepEqual(short.message, { password: ["is too short (minimum is 30 characters)"] });
    } finally {
      await strict.close();
    }
  });
});
