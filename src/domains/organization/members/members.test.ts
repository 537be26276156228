import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { dayFromNow, type RowInserter, rowInserter } from "./test-support.ts";

const BELOW_MANAGERS = { group: "maintainer", project: "developer" } as const;

for (const kind of ["group", "project"] as const) {
  describe(`members of a ${kind}`, () => {
    let app: TestApp;
    let insert: RowInserter;
    let owner: TestUser;
    before(async () => {
      app = await testApp();
      insert = rowInserter(app);
      owner = await app.makeUser();
    });
    after(() => app.close());

    async function owned() {
      const place = await insert.place(kind);
      await insert.member(owner, place.of, "owner");
      return { ...place, members: `${place.address}/members` };
    }

    const as = (user: TestUser, payload?: object) => ({ token: user.token, ...(payload && { payload }) });
    const levels = (body: { id: number; access_level: number }[]) =>
      body.map(({ id, access_level }) => [id, access_level]);

    test("are added, shown, changed and removed", async () => {
      const { members, id } = await owned();
      const user = await app.makeUser();
      const expires_at = dayFromNow(10);
      const added = await app.post(members, as(owner, { user_id: user.id, access_level: 30, expires_at }));
      assert.equal(added.status, 201);
      const { created_at, avatar_url, web_url, created_by, ...rest } = added.body;
      assert.deepEqual(rest, {
        id: user.id,
        username: user.username,
        name: `Name of ${user.username}`,
        state: "active",
        locked: false,
        access_level: 30,
        expires_at,
        membership_state: "active",
      });
      assert.match(created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      assert.match(avatar_url, /^http:\/\/localhost\/uploads\//);
      assert.equal(web_url, `http://localhost/${user.username}`);
      assert.equal(created_by.id, owner.id);
      assert.equal(created_by.email, undefined);
      for (const address of [`${members}/${user.id}`, `${members}/all/${user.id}`])
        assert.deepEqual((await app.get(address, as(owner))).body, added.body, address);

      const changed = await app.put(`${members}/${user.id}`, as(owner, { access_level: 20 }));
      assert.equal(changed.status, 200);
      assert.deepEqual(changed.body, { ...added.body, access_level: 20 });
      const endless = await app.put(`${members}/${user.id}`, as(owner, { access_level: 20, expires_at: "" }));
      assert.equal(endless.body.expires_at, null);

      const listed = await app.get(members, as(user));
      assert.deepEqual(levels(listed.body), [
        [owner.id, 50],
        [user.id, 20],
      ]);
      assert.equal((await app.delete(`${members}/${user.id}`, as(owner))).status, 204);
      assert.equal((await app.get(`${members}/${user.id}`, as(owner))).text, '{"message":"404 Not found"}');

      const { rows } = await sql<{ event: string; target_id: number; details: unknown }>`
        select event, target_id, details from audit_events
        where target_type = 'Member' and entity_type = ${kind === "group" ? "Group" : "Project"} and entity_id = ${id}
        order by id`.execute(app.services.db.write);
      assert.deepEqual(
        rows.map(({ event }) => event),
        ["member_added", "member_updated", "member_updated", "member_removed"],
      );
      assert.ok(rows.every(({ target_id }) => target_id === user.id));
      assert.deepEqual(rows[0]?.details, { user_ids: [user.id], access_level: 30, expires_at });
      assert.deepEqual(rows[3]?.details, { before: { access_level: 20, expires_at: null } });
    });

    test("are added by username, and several at once", async () => {
      const { members } = await owned();
      const [a, b, c, d] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser(), app.makeUser()]);
      const add = (payload: object) => app.post(members, as(owner, { access_level: 20, ...payload }));
      const one = await add({ username: a.username.toUpperCase() });
      assert.equal(one.status, 201);
      assert.equal(one.body.id, a.id);
      const several = await add({ user_id: `${b.id},${c.id}` });
      assert.equal(several.status, 201);
      assert.deepEqual(several.body, { status: "success" });
      assert.equal((await app.get(members, as(owner))).body.length, 4);

      const again = await add({ user_id: [d.id, b.id] });
      assert.equal(again.status, 409);
      assert.deepEqual(again.body, { message: `Member already exists: ${b.username}` });
      const unknown = await add({ username: `${d.username},no-one-at-all` });
      assert.equal(unknown.status, 404);
      assert.deepEqual(unknown.body, { message: "404 User Not Found" });
      assert.equal((await app.get(`${members}/${d.id}`, as(owner))).status, 404, "all of them or none");
    });

    test("must be existing users, once each, with a valid level and a future expiry date", async () => {
      const { members } = await owned();
      const user = await app.makeUser();
      const tried: [payload: object, status: number, text: RegExp][] = [
        [{ access_level: 30 }, 400, /"user_id, username are missing, at least one parameter must be provided"/],
        [{ user_id: user.id, username: "x", access_level: 30 }, 400, /"user_id, username are mutually exclusive"/],
        [{ user_id: user.id }, 400, /"access_level is missing"/],
        [{ user_id: user.id, access_level: 25 }, 400, /"access_level does not have a valid value"/],
        [{ user_id: user.id, access_level: 0 }, 400, /"access_level does not have a valid value"/],
        [{ user_id: "", access_level: 30 }, 400, /"user_id/],
        [{ user_id: 2 ** 50, access_level: 30 }, 404, /"404 User Not Found"/],
        [{ user_id: user.id, access_level: 30, expires_at: dayFromNow(-1) }, 400, /{"message":{"expires_at":\["/],
        [{ user_id: user.id, access_level: 30, expires_at: dayFromNow(0) }, 400, /{"message":{"expires_at":\["/],
        [{ user_id: user.id, access_level: 30, expires_at: "soon" }, 400, /"expires_at is invalid"/],
        [{ user_id: owner.id, access_level: 30 }, 409, /{"message":"Member already exists"}/],
      ];
      for (const [payload, status, text] of tried) {
        const answer = await app.post(members, as(owner, payload));
        assert.equal(answer.status, status, JSON.stringify(payload));
        assert.match(answer.text, text);
      }
      const minimal = await app.post(members, as(owner, { user_id: user.id, access_level: 5 }));
      assert.equal(minimal.status, kind === "group" ? 201 : 400);
      assert.equal((await app.put(`${members}/${user.id}`, as(owner, {}))).status, 400);
      const past = { access_level: 50, expires_at: dayFromNow(0) };
      assert.equal((await app.put(`${members}/${owner.id}`, as(owner, past))).status, 400);
    });

    test("are members until their expiry date begins", async () => {
      const { members, of, address } = await owned();
      const [gone, today, staying] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
      await insert.member(gone, of, "maintainer", -400);
      await insert.member(today, of, "maintainer", 0);
      await insert.member(staying, of, "guest", 1);
      for (const list of [members, `${members}/all`]) {
        const { body } = await app.get(list, as(owner));
        assert.deepEqual(levels(body), [
          [owner.id, 50],
          [staying.id, 10],
        ]);
      }
      for (const user of [gone, today]) {
        assert.equal((await app.get(members, as(user))).status, 404, "it is private");
        assert.equal((await app.get(`${members}/${user.id}`, as(owner))).status, 404);
        assert.equal((await app.put(`${members}/${user.id}`, as(owner, { access_level: 10 }))).status, 404);
        assert.equal((await app.delete(`${members}/${user.id}`, as(owner))).status, 404);
      }
      assert.equal((await app.get(`${address}/members`, as(staying))).status, 200);
      const back = await app.post(members, as(owner, { user_id: gone.id, access_level: 20 }));
      assert.equal(back.status, 201, "a membership that ended does not stand in the way of another");
      assert.equal(back.body.expires_at, null);
      assert.equal(back.body.access_level, 20);
      assert.equal(back.body.created_by.id, owner.id);
      assert.equal((await app.get(members, as(gone))).status, 200);
    });

    test("may leave, and only members with their level or above may remove them", async () => {
      const { members, of } = await owned();
      const [guest, manager, stranger] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
      await insert.member(guest, of, "guest");
      await insert.member(manager, of, BELOW_MANAGERS[kind]);
      const remove = (whom: TestUser, by?: TestUser) =>
        app.delete(`${members}/${whom.id}`, by ? as(by) : {}).then(({ status }) => status);
      assert.equal(await remove(guest), 401);
      assert.equal(await remove(guest, stranger), 404);
      assert.equal(await remove(stranger, stranger), 404);
      assert.equal(await remove(guest, manager), 403);
      assert.equal(await remove(owner, guest), 403);
      assert.equal(await remove(guest, guest), 204);
      assert.equal(await remove(guest, guest), 404);
      assert.equal((await app.put(`${members}/${manager.id}`, as(manager, { access_level: 10 }))).status, 403);
      const itself = { user_id: stranger.id, access_level: 10 };
      assert.equal((await app.post(members, as(manager, itself))).status, 403);
    });

    test("are shown to everyone who may see it, blocked ones too, without private addresses", async () => {
      const { members, of, id } = await owned();
      const blocked = await app.makeUser({ state: "blocked" });
      const bot = await app.makeUser({ user_type: "project_bot" });
      await insert.member(blocked, of, "developer");
      await insert.member(bot, of, "reporter");
      assert.equal((await app.get(members)).status, 404);
      await sql`update ${sql.ref(kind === "group" ? "namespaces" : "projects")} set visibility = 20 where id = ${id}`.execute(
        app.services.db.write,
      );
      const { body, text } = await app.get(members);
      assert.deepEqual(
        body.map((member: { id: number; state: string }) => [member.id, member.state]),
        [
          [owner.id, "active"],
          [blocked.id, "blocked"],
          [bot.id, "active"],
        ],
      );
      assert.doesNotMatch(text, /@example\.com/);
    });

    test("keep at least the level that they inherit", async () => {
      const place = await owned();
      const above = await insert.group();
      await sql`update namespaces set parent_id = ${above}, traversal_ids = array[${above}::bigint, id]
        where id = ${place.groupId}`.execute(app.services.db.write);
      const [user, minimal, ended] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
      await insert.member(user, { group_id: above }, "developer");
      await insert.member(minimal, { group_id: above }, "minimal");
      await insert.member(ended, { group_id: above }, "maintainer", 0);
      const name = await app.services.db.write
        .selectFrom("namespaces")
        .select("name")
        .where("id", "=", above)
        .executeTakeFirstOrThrow();
      const message = `should be greater than or equal to Developer inherited membership from group ${name.name}`;
      const lower = await app.post(place.members, as(owner, { user_id: user.id, access_level: 20 }));
      assert.equal(lower.status, 400);
      assert.deepEqual(lower.body, { message: { access_level: [message] } });
      assert.equal((await app.post(place.members, as(owner, { user_id: user.id, access_level: 30 }))).status, 201);
      const lowered = await app.put(`${place.members}/${user.id}`, as(owner, { access_level: 10 }));
      assert.equal(lowered.status, 400);
      assert.deepEqual(lowered.body, lower.body);
      for (const { id } of [minimal, ended])
        assert.equal((await app.post(place.members, as(owner, { user_id: id, access_level: 10 }))).status, 201);
    });

    test("can be changed by administrators too", async () => {
      const { members } = await owned();
      const [admin, user] = await Promise.all([app.makeUser({ admin: true }), app.makeUser()]);
      assert.equal((await app.post(members, as(admin, { user_id: user.id, access_level: 50 }))).status, 201);
      assert.equal((await app.put(`${members}/${user.id}`, as(admin, { access_level: 10 }))).status, 200);
      assert.equal((await app.delete(`${members}/${user.id}`, as(admin))).status, 204);
    });

    test("added twice concurrently are members once", async () => {
      const { members } = await owned();
      const user = await app.makeUser();
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => app.post(members, as(owner, { user_id: user.id, access_level: 30 }))),
      );
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      assert.deepEqual(statuses, [201, 409, 409, 409, 409, 409]);
    });

    test("of another group or project are 404, as if they did not exist", async () => {
      const [here, there] = [await owned(), await owned()];
      const user = await app.makeUser();
      await insert.member(user, there.of, "developer");
      for (const method of ["GET", "PUT", "DELETE"] as const) {
        const payload = method === "PUT" ? { access_level: 10 } : undefined;
        const foreign = await app.call(method, `${here.members}/${user.id}`, as(owner, payload));
        const nobody = await app.call(method, `${here.members}/999999999`, as(owner, payload));
        assert.equal(foreign.status, 404);
        assert.equal(foreign.text, nobody.text);
      }
      assert.equal((await app.get(`${there.members}/${user.id}`, as(owner))).status, 200);
    });
  });
}

describe("members of a project", () => {
  let app: TestApp;
  let insert: RowInserter;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
  });
  after(() => app.close());

  test("cannot be granted or denied a level above the caller's own", async () => {
    const { address, of } = await insert.place("project");
    const [owner, maintainer, user] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
    await insert.member(owner, of, "owner");
    await insert.member(maintainer, of, "maintainer");
    const { token } = maintainer;
    const add = (access_level: number) =>
      app.post(`${address}/members`, { token, payload: { user_id: user.id, access_level } });
    const refused = await add(50);
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /^403 Forbidden - You cannot give or take a role above your own in the /);
    assert.equal((await add(40)).status, 201);
    const raise = await app.put(`${address}/members/${user.id}`, { token, payload: { access_level: 50 } });
    assert.equal(raise.status, 403);
    const own = await app.put(`${address}/members/${maintainer.id}`, { token, payload: { access_level: 50 } });
    assert.equal(own.status, 403);
    const lower = await app.put(`${address}/members/${owner.id}`, { token, payload: { access_level: 30 } });
    assert.equal(lower.status, 403);
    assert.equal((await app.delete(`${address}/members/${owner.id}`, { token })).status, 403);
    const made = await app.put(`${address}/members/${user.id}`, {
      token: owner.token,
      payload: { access_level: 50 },
    });
    assert.equal(made.status, 200);
  });

  test("in a personal namespace keep its user as Owner", async () => {
    const [owner, other, admin] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser({ admin: true })]);
    const { namespace_id } = await app.services.db.write
      .selectFrom("users")
      .select("namespace_id")
      .where("id", "=", owner.id)
      .executeTakeFirstOrThrow();
    const project_id = await insert.project(namespace_id);
    await insert.member(owner, { project_id }, "owner");
    await insert.member(other, { project_id }, "owner");
    const address = (user: TestUser) => `/projects/${project_id}/members/${user.id}`;
    const stay = /^403 Forbidden - the owner of a personal project cannot leave/;
    for (const { token } of [owner, other, admin]) {
      const removed = await app.delete(address(owner), { token });
      assert.equal(removed.status, 403);
      assert.match(removed.body.message, stay);
      const lowered = await app.put(address(owner), { token, payload: { access_level: 40 } });
      assert.match(lowered.body.message, stay);
    }
    assert.equal((await app.delete(address(other), { token: owner.token })).status, 204);
  });
});
