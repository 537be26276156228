import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { anyone } from "#access/access.ts";
import { operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { until } from "#test/support/until.ts";

const ABSENT = 999_999_999;

/** The paths below `/users/:id` that are open to anyone, most of them by id and by username. */
const PATHS = ["status", "keys", "keys/KEY", "projects", "starred_projects"];

describe("users as anonymous callers see them", () => {
  let app: TestApp;
  let user: TestUser;
  let key: number;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    user = await app.makeUser();
    key = (await app.post("/user/keys", { token: user.token, payload: { title: "t", key: newSshKey() } })).body.id;
  });
  after(() => app.close());

  async function allow(anonymous_user_listing: "all" | "username" | "off") {
    const { db, settings } = app.services;
    await db.write.updateTable("settings").set({ anonymous_user_listing }).execute();
    const isInForce = async () => (await settings.current()).anonymous_user_listing === anonymous_user_listing;
    await until("the setting is in force", isInForce);
  }

  const answerTo = async (who: number | string, what: string, token?: string) => {
    const { status, text, headers } = await app.get(`/users/${who}/${what.replace("KEY", String(key))}`, { token });
    return `${status} ${headers["content-length"]} ${text}`;
  };
  const picture = async (id: number, file = "default.svg", token?: string) => {
    const { status, text } = await app.get(`/uploads/-/system/user/avatar/${id}/${file}`, { token });
    return `${status} ${text}`;
  };

  test("every path of a user that is open to anyone is tested here", () => {
    const { rule } = anyone();
    const open = operationsOf(resources)
      .filter(({ endpoint }) => endpoint.access.rule === rule && endpoint.path.startsWith("/users/:"))
      .map(({ endpoint }) => endpoint.path.replace(/^\/users\/:\w+\//, "").replace(/:\w+$/, "KEY"));
    assert.deepEqual(open.toSorted(), PATHS.toSorted());
  });

  test("with anonymous_user_listing off a user cannot be told from one who does not exist", async () => {
    await allow("off");
    for (const what of PATHS) {
      const nobody = await answerTo(ABSENT, what);
      assert.match(nobody, /^404 /, what);
      for (const who of [user.id, user.username]) {
        if (what === "keys/KEY" && who === user.username) continue;
        assert.equal(await answerTo(who, what), nobody, what);
        assert.doesNotMatch(await answerTo(who, what, user.token), /^404 /, what);
      }
    }
    assert.equal((await app.get(`/users?username=${user.username}`)).status, 403);
    const neutral = await picture(ABSENT);
    assert.match(neutral, /^200 <svg/);
    for (const file of ["default.svg", "avatar.png"]) assert.equal(await picture(user.id, file), neutral);
    assert.notEqual(await picture(user.id, "default.svg", user.token), neutral);
  });

  test("with anonymous_user_listing username the ids cannot be enumerated", async () => {
    await allow("username");
    for (const what of PATHS) assert.equal(await answerTo(user.id, what), await answerTo(ABSENT, what), what);
    assert.match(await answerTo(user.username, "status"), /^200 /);
    assert.equal(await picture(user.id), await picture(ABSENT));
  });

  test("with anonymous_user_listing all users are visible", async () => {
    await allow("all");
    for (const what of PATHS) assert.match(await answerTo(user.id, what), /^200 /, what);
    assert.notEqual(await picture(user.id), await picture(ABSENT));
  });
});
