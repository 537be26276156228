import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("following", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  const post = (by: TestUser, id: number, verb: "follow" | "unfollow") =>
    app.post(`/users/${id}/${verb}`, { token: by.token });
  const idsAt = async (path: string, by: TestUser) =>
    (await app.get(path, { token: by.token })).body.map(({ id }: { id: number }) => id);
  const profile = async (id: number, by: TestUser) => {
    const { followers, following, is_followed } = (await app.get(`/users/${id}`, { token: by.token })).body;
    return { followers, following, is_followed };
  };

  test("shows on both sides, and can be undone", async () => {
    const [fan, star] = [await app.makeUser(), await app.makeUser()];
    assert.deepEqual(await profile(star.id, fan), { followers: 0, following: 0, is_followed: false });
    const { status, body } = await post(fan, star.id, "follow");
    assert.equal(status, 201);
    assert.equal(body.id, star.id);
    assert.deepEqual(Object.keys(body).toSorted(), [
      ...["avatar_url", "id", "locked", "name", "state", "username", "web_url"],
    ]);
    const again = await post(fan, star.id, "follow");
    assert.equal(again.status, 304);
    assert.equal(again.text, "");
    assert.deepEqual(await profile(star.id, fan), { followers: 1, following: 0, is_followed: true });
    assert.deepEqual(await profile(fan.id, star), { followers: 0, following: 1, is_followed: false });
    assert.deepEqual(await profile(star.id, star), { followers: 1, following: 0, is_followed: false });
    assert.deepEqual(await idsAt(`/users/${star.id}/followers`, fan), [fan.id]);
    assert.deepEqual(await idsAt(`/users/${fan.id}/following`, star), [star.id]);
    const admin = await app.makeUser({ admin: true });
    await post(admin, star.id, "follow");
    assert.equal((await profile(star.id, admin)).is_followed, true);
    const [listed] = (await app.get(`/users?username=${star.username}`, { token: admin.token })).body;
    assert.equal(listed.is_followed, true);
    assert.equal(listed.followers, 2);
    assert.equal((await post(fan, star.id, "unfollow")).status, 201);
    assert.equal((await post(fan, star.id, "unfollow")).status, 304);
    assert.deepEqual(await profile(star.id, fan), { followers: 1, following: 0, is_followed: false });
  });

  test("oneself is 400, an unknown user 404, an anonymous caller 401", async () => {
    const user = await app.makeUser();
    assert.equal((await post(user, user.id, "follow")).status, 400);
    for (const verb of ["follow", "unfollow"] as const) {
      assert.deepEqual((await post(user, 999_999_999, verb)).body, { message: "404 User Not Found" });
      assert.equal((await app.post(`/users/${user.id}/${verb}`)).status, 401);
    }
    for (const list of ["followers", "following"]) {
      assert.equal((await app.get(`/users/${user.id}/${list}`)).status, 401);
      assert.equal((await app.get(`/users/999999999/${list}`, { token: user.token })).status, 404);
    }
  });

  test("a hidden profile cannot be followed, and only its user and administrators read its lists; unfollowing always works", async () => {
    const user = await app.makeUser();
    const admin = await app.makeUser({ admin: true });
    for (const columns of [{ private_profile: true }, { state: "blocked" }, { confirmed_at: null }] as const) {
      const shy = await app.makeUser(columns);
      assert.equal((await post(user, shy.id, "follow")).status, 404);
      for (const list of ["followers", "following"]) {
        assert.equal((await app.get(`/users/${shy.id}/${list}`, { token: user.token })).status, 404);
        assert.equal((await app.get(`/users/${shy.id}/${list}`, { token: admin.token })).status, 200);
      }
    }
    const later = await app.makeUser();
    await post(user, later.id, "follow");
    await post(later, user.id, "follow");
    await sql`update users set private_profile = true where id = ${later.id}`.execute(app.services.db.write);
    assert.deepEqual(await idsAt(`/users/${later.id}/followers`, later), [user.id]);
    const stranger = await app.makeUser();
    assert.deepEqual(
      await idsAt(`/users/${user.id}/followers`, stranger),
      [],
      "a private profile hides whom it follows",
    );
    assert.deepEqual(await idsAt(`/users/${user.id}/following`, stranger), []);
    assert.deepEqual(await idsAt(`/users/${user.id}/followers`, later), [later.id]);
    assert.deepEqual(await idsAt(`/users/${user.id}/followers`, admin), [later.id]);
    assert.equal((await post(user, later.id, "unfollow")).status, 201);
  });

  test("a user follows at most 300 others", async () => {
    const user = await app.makeUser({ following_count: 300 });
    const last = await app.makeUser();
    const { status, body } = await post(user, last.id, "follow");
    assert.equal(status, 400);
    assert.match(body.message, /^400 Bad request - You can't follow more than 300 users/);
    const { rows } = await sql`select from follows where follower_id = ${user.id}`.execute(app.services.db.write);
    assert.equal(rows.length, 0);
    const nearly = await app.makeUser({ following_count: 299 });
    const others = await Promise.all(Array.from({ length: 5 }, () => app.makeUser()));
    const answers = await Promise.all(others.map(({ id }) => post(nearly, id, "follow")));
    assert.equal(
      answers.filter((answer) => answer.status === 201).length,
      1,
      "of concurrent requests one reaches the limit",
    );
  });

  test("the counts stay exact when many users follow and unfollow each other concurrently", async () => {
    const users = await Promise.all(Array.from({ length: 6 }, () => app.makeUser()));
    const pairs = users.flatMap((by) => users.filter(({ id }) => id !== by.id).map((other) => [by, other] as const));
    const verbs = ["follow", "unfollow", "follow", "follow", "unfollow"] as const;
    const answers = await Promise.all(verbs.flatMap((verb) => pairs.map(([by, other]) => post(by, other.id, verb))));
    for (const { status, text } of answers) assert.ok(status === 201 || status === 304, text);
    const { rows } = await sql<{ wrong: number; follows: number }>`
      select count(*) filter (where followers_count <> (select count(*) from follows where followed_id = u.id)
          or following_count <> (select count(*) from follows where follower_id = u.id)) as wrong,
        (select count(*) from follows where follower_id = any(${users.map(({ id }) => id)}::bigint[])) as follows
      from users u where id = any(${users.map(({ id }) => id)}::bigint[])`.execute(app.services.db.write);
    assert.equal(rows[0]?.wrong, 0);
  });

  test("a profile costs one more statement only if the user has followers", async () => {
    const [fan, star, plain] = [await app.makeUser(), await app.makeUser(), await app.makeUser()];
    await post(fan, star.id, "follow");
    const statements = async (id: number) =>
      (await recordStatements(async () => void (await app.get(`/users/${id}`, { token: fan.token })))).length;
    await statements(plain.id);
    const few = await statements(plain.id);
    assert.equal(await statements(star.id), few + 1);
  });

  test("the lists are paged", async () => {
    const star = await app.makeUser();
    const fans = [await app.makeUser(), await app.makeUser(), await app.makeUser()];
    for (const fan of fans) await post(fan, star.id, "follow");
    const { body, headers } = await app.get(`/users/${star.id}/followers?per_page=2`, { token: star.token });
    assert.deepEqual(
      body.map(({ id }: { id: number }) => id),
      fans.slice(0, 2).map(({ id }) => id),
    );
    assert.equal(headers["x-total"], "3");
  });
});
