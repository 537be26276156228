import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { removeGroup } from "#domains/organization/groups/jobs.ts";
import { keysOn } from "#domains/code/deploy-keys/test-support.ts";
import { join, makeGroup, makeProject } from "#domains/organization/groups/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { until } from "#test/support/until.ts";
import { ghostUser } from "./ghost.ts";
import { deletions } from "#domains/index.ts";
import { removeUser } from "./jobs.ts";

describe("DELETE /users/:id", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
    await app.makeUser({ username: "ghost" });
  });
  after(() => app.close());

  const remove = (id: number, query = "") => app.delete(`/users/${id}${query}`, { token: admin.token });
  const get = (path: string, token = admin.token) => app.get(path, { token });
  const one = async <T>(query: ReturnType<typeof sql<T>>) => (await query.execute(app.services.db.write)).rows[0];

  /** Runs a worker until no job is left. */
  async function work() {
    const worker = await runWorker(app.services, [removeUser(deletions), removeGroup(deletions)], { queues: ["bulk"] });
    try {
      await until("all jobs are done", async () => {
        const left = await one(sql<{ count: number }>`select count(*) as count from jobs.job where name = 'bulk'`);
        return left?.count === 0;
      });
    } finally {
      await worker.stop();
    }
  }
  const ghostId = async () => (await one(sql<{ id: number }>`select id from users where user_type = 'ghost'`))?.id;

  test("concurrent requests create one ghost user, with a free username", async () => {
    const ids = await Promise.all([1, 2, 3, 4].map(() => app.services.db.transaction(ghostUser)));
    assert.equal(new Set(ids).size, 1);
    const { body } = await get(`/users/${ids[0]}`);
    assert.equal(body.username, "ghost1");
    assert.equal(body.bot, false);
    assert.deepEqual((await get("/users?exclude_internal=true&search=ghost1")).body, []);
  });

  test("204, and from then on the account can neither be found nor used", async () => {
    const user = await app.makeUser();
    const other = await app.makeUser();
    await sql`insert into sessions (user_id, digest) values (${user.id}, 'x')`.execute(app.services.db.write);
    await sql`update personal_access_tokens set revoked_at = now() + interval '1 hour'
      where id = ${(await app.makeToken(user.id)).id}`.execute(app.services.db.write);
    const { status, text } = await remove(user.id);
    assert.equal(status, 204);
    assert.equal(text, "");
    for (const token of [admin.token, other.token]) {
      assert.equal((await get(`/users/${user.id}`, token)).text, '{"message":"404 User Not Found"}');
    }
    assert.equal((await get(`/users/${user.username}/status`)).status, 404);
    assert.equal((await app.get("/user", { token: user.token })).status, 401);
    for (const path of ["", "/emails", "/memberships", "/custom_attributes"])
      assert.equal((await get(`/users/${user.id}${path}`)).status, 404, path);
    assert.equal((await app.put(`/users/${user.id}`, { token: admin.token, payload: { bio: "x" } })).status, 404);
    assert.equal((await app.post(`/users/${user.id}/unblock`, { token: admin.token })).status, 404, "no way back");
    assert.equal((await remove(user.id)).status, 404, "once is enough");
    const left = await one(sql<{ sessions: number; tokens: number }>`select
      (select count(*) from sessions where user_id = ${user.id}) as sessions,
      (select count(*) from personal_access_tokens where user_id = ${user.id}
        and (revoked_at is null or revoked_at > now())) as tokens`);
    assert.deepEqual(left, { sessions: 0, tokens: 0 });
    await work();
    const again = { username: user.username, name: "Again", email: user.email, force_random_password: true };
    assert.equal((await app.post("/users", { token: admin.token, payload: again })).status, 201, "all is free again");
  });

  test("only administrators delete users, but not themselves or internal accounts", async () => {
    const user = await app.makeUser();
    const ghost = await app.makeUser({ user_type: "alert_bot" });
    assert.equal((await app.delete(`/users/${user.id}`)).status, 401);
    assert.equal((await app.delete(`/users/${user.id}`, { token: user.token })).status, 403);
    assert.match((await remove(admin.id)).text, /403 Forbidden - The API initiating user/);
    assert.match((await remove(ghost.id)).text, /403 Forbidden - An internal user cannot be removed/);
    assert.equal((await remove(999_999_999)).status, 404);
  });

  test("the user's own rows are deleted and counts corrected; what the user created for others belongs to the ghost user", async () => {
    const { write } = app.services.db;
    const user = await app.makeUser();
    const other = await app.makeUser();
    const made = await app.makeUser({ created_by_id: user.id });
    const { namespace_id } = await write
      .selectFrom("users")
      .select("namespace_id")
      .where("id", "=", user.id)
      .executeTakeFirstOrThrow();
    const group = await makeGroup(app, other);
    const sub = await makeGroup(app, other, { parent_id: group.id });
    const starred = await makeProject(app, group.id, { creator_id: user.id, star_count: 2 });
    const own = await makeProject(app, namespace_id, { creator_id: user.id });
    const moved = await makeProject(app, namespace_id, { creator_id: user.id });
    await sql`update projects set namespace_id = ${group.id} where id = ${moved.id}`.execute(write);
    await sql`update namespaces set creator_id = ${user.id} where id = ${sub.id}`.execute(write);
    await sql`insert into stars (project_id, user_id) values (${starred.id}, ${user.id}), (${starred.id}, ${other.id}),
      (${own.id}, ${other.id})`.execute(write);
    await join(app, sub.id, user, 30);
    const crowd = await sql<{ id: number }>`
      with spaces as (insert into namespaces (path, name) select 'crowd-' || i, 'x' from generate_series(1, 1200) i
        returning id, path)
      insert into users (username, name, email, namespace_id, following_count, followers_count)
      select path, 'x', path || '@example.com', id, 1, 1 from spaces returning id`.execute(write);
    const ids = crowd.rows.map(({ id }) => id);
    await sql`insert into follows (follower_id, followed_id)
      select id, ${user.id} from unnest(${ids}::bigint[]) id union all
      select ${user.id}, id from unnest(${ids}::bigint[]) id`.execute(write);
    await sql`insert into members (user_id, project_id, access_level) values (${user.id}, ${starred.id}, 40)`.execute(
      write,
    );

    assert.equal((await remove(user.id)).status, 204);
    await work();

    const ghost = await ghostId();
    assert.ok(ghost);
    const rows = await sql<{ id: number; creator_id: number; star_count: number }>`
      select id, creator_id, star_count from projects where id in (${starred.id}, ${own.id}, ${moved.id}) order by id`.execute(
      write,
    );
    assert.deepEqual(rows.rows, [
      { id: starred.id, creator_id: ghost, star_count: 1 },
      { id: moved.id, creator_id: ghost, star_count: 0 },
    ]);
    const found = await one(sql<Record<string, number>>`select
      (select count(*) from users where id = ${user.id}) as users,
      (select count(*) from namespaces where id = ${namespace_id}) as spaces,
      (select count(*) from routes where namespace_id = ${namespace_id} or parent_id = ${namespace_id}) as routes,
      (select count(*) from members where user_id = ${user.id}) as members,
      (select count(*) from follows where ${user.id} in (follower_id, followed_id)) as follows,
      (select creator_id from namespaces where id = ${sub.id}) as creator,
      (select sum(following_count + followers_count) from users where id = any(${ids}::bigint[])) as counts`);
    const nothing = { users: 0, spaces: 0, routes: 0, members: 0, follows: 0 };
    assert.deepEqual(found, { ...nothing, creator: ghost, counts: 0 });
    const creator = (await get(`/users/${made.id}`)).body.created_by;
    assert.equal(creator.id, ghost);
    assert.match(creator.username, /^ghost\d*$/);
    assert.equal((await get(`/users/${ghost}`)).body.state, "active");
    assert.equal((await remove(ghost)).status, 403);
  });

  test("the only Owner of a group is 409, unless hard_delete, which deletes the group too", async () => {
    const user = await app.makeUser();
    const other = await app.makeUser();
    const blocked = await app.makeUser({ state: "blocked" });
    const alone = await makeGroup(app, user);
    const inside = await makeGroup(app, user, { parent_id: alone.id });
    const held = await makeGroup(app, user);
    await join(app, held.id, other, 50);
    const withBlocked = await makeGroup(app, user);
    await join(app, withBlocked.id, blocked, 50);
    const project = await makeProject(app, held.id, { creator_id: user.id });

    const refused = await remove(user.id);
    assert.equal(refused.status, 409);
    assert.deepEqual(refused.body, { message: "User cannot be removed while is the sole-owner of a group" });
    assert.equal((await get(`/users/${user.id}`)).body.state, "active");

    assert.equal((await remove(user.id, "?hard_delete=true")).status, 204);
    await work();
    assert.equal((await get(`/users/${user.id}`)).status, 404);
    for (const { id } of [alone, inside]) assert.equal((await get(`/groups/${id}`)).status, 404);
    assert.equal((await get(`/groups/${held.id}`)).status, 200);
    assert.equal((await get(`/groups/${withBlocked.id}`)).status, 200, "another user owns it, though a blocked one");
    assert.equal((await get(`/projects/${project.id}`)).body.creator_id, null, "it has no creator, not the ghost user");
  });

  for (const query of ["", "?hard_delete=true"]) {
    test(`any number of deploy keys stay and belong to the ghost user (${query || "no"} hard_delete)`, async () => {
      const { write } = app.services.db;
      const user = await app.makeUser();
      const on = keysOn(app);
      const place = await on.keyProject();
      await on.member(user, { project_id: place.id }, "maintainer");
      const key = await on.added({ ...place, maintainer: user }, { can_push: true });
      await app.post("/user/keys", { token: user.token, payload: { title: "Own", key: newSshKey() } });
      await sql`with made as (
          insert into keys (kind, user_id, title, key, fingerprint_sha256)
          select 'deploy', ${user.id}, 'Ship ' || n, 'ssh-ed25519 x', ${`left-${user.id}-`} || n from generate_series(1, 1200) n
          returning id)
        insert into deploy_keys_projects (project_id, key_id) select ${place.id}, id from made`.execute(write);
      assert.equal((await remove(user.id, query)).status, 204);
      await work();
      const ghost = await ghostId();
      const { rows } = await sql<{ user_id: number; keys: number }>`
        select user_id, count(*) as keys from keys k join deploy_keys_projects d on d.key_id = k.id
        where d.project_id = ${place.id} group by user_id`.execute(write);
      assert.deepEqual(rows, [{ user_id: ghost, keys: 1201 }]);
      const left = await one(sql`select from keys where user_id = ${user.id}`);
      assert.equal(left, undefined, "their own went");
      const { body } = await get(`${place.keys}/${key.id}`, place.maintainer.token);
      assert.deepEqual([body.can_push, body.creator_active], [true, false]);
      assert.equal((await get(`/keys/${key.id}`)).body.user.id, ghost);
      const told = await one(sql<{ count: number; details: unknown }>`
        select (select count(*) from audit_events where event = 'deploy_key_creator_removed'
          and (details->>'creator_id')::bigint = ${user.id}) as count, details
        from audit_events where event = 'deploy_key_creator_removed' and target_id = ${key.id}`);
      assert.deepEqual(told, { count: 1201, details: { fingerprint: key.fingerprint_sha256, creator_id: user.id } });
    });
  }

  test("another Owner of the group or of one above is enough, unless blocked or being deleted", async () => {
    const user = await app.makeUser();
    const other = await app.makeUser();
    const top = await makeGroup(app, other);
    const sub = await makeGroup(app, admin, { parent_id: top.id });
    await join(app, sub.id, user, 50);
    await sql`delete from members where group_id = ${sub.id} and user_id = ${admin.id}`.execute(app.services.db.write);
    assert.equal((await remove(user.id)).status, 204);

    const [first, second] = [await app.makeUser(), await app.makeUser()];
    const both = await makeGroup(app, first);
    await join(app, both.id, second, 50);
    const answers = await Promise.all([remove(first.id), remove(second.id)]);
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [204, 409],
      "of two who go at once one stays",
    );
    await work();
  });

  test("rows added until the last moment are deleted too, and counts stay exact", async () => {
    const { db } = app.services;
    const user = await app.makeUser();
    const group = await makeGroup(app, admin);
    const project = await makeProject(app, group.id, { star_count: 1 });
    await remove(user.id);
    await removeUser(deletions).run({
      ...{ id: "", attempt: 1, services: app.services, signal: AbortSignal.timeout(120_000) },
      payload: { id: user.id, hard_delete: false },
      step: (part) => db.transaction(part),
      async transaction(part) {
        await sql`insert into stars (project_id, user_id) values (${project.id}, ${user.id})`.execute(db.write);
        return db.transaction(part);
      },
    });
    assert.equal((await get(`/projects/${project.id}`)).body.star_count, 0);
    assert.equal(await one(sql`select from users where id = ${user.id}`), undefined);
    await work();
  });

  test("the deletion begins once, also if the user is blocked or unblocked at the same moment", async () => {
    for (let round = 0; round < 10; round++) {
      const user = await app.makeUser();
      const post = (move: string) => app.post(`/users/${user.id}/${move}`, { token: admin.token });
      const [block, unblock, first, second] = await Promise.all([
        post("block"),
        post("unblock"),
        remove(user.id),
        remove(user.id),
      ]);
      for (const { status } of [block, unblock]) assert.ok(status === 201 || status === 404, String(status));
      assert.deepEqual(
        [first, second].map(({ status }) => status).toSorted((a, b) => a - b),
        [204, 404],
      );
      const row = await one(sql<{ state: string }>`select state from users where id = ${user.id}`);
      assert.equal(row?.state, "blocked");
    }
    await work();
    const left = await one(
      sql<{ count: number }>`select count(*) as count from users where removal_began_at is not null`,
    );
    assert.equal(left?.count, 0);
  });

  test("deleting a group deletes its service accounts and releases its other users", async () => {
    const owner = await app.makeUser();
    const top = await makeGroup(app, owner);
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const kept = await makeGroup(app, owner);
    const account = { user_type: "service_account" } as const;
    const bots = [
      await app.makeUser({ ...account, provisioned_by_group_id: top.id }),
      await app.makeUser({ ...account, provisioned_by_group_id: sub.id }),
    ];
    const other = await app.makeUser({ ...account, provisioned_by_group_id: kept.id });
    const person = await app.makeUser({ provisioned_by_group_id: top.id });
    const owned = await makeGroup(app, bots[0] ?? owner);
    await app.delete(`/groups/${top.id}`, { token: owner.token });
    assert.equal((await get(`/users/${bots[0]?.id}`)).status, 200, "while it can be restored they stay");
    await app.delete(`/groups/${top.id}?permanently_remove=true&full_path=${top.full_path}`, { token: owner.token });
    await work();
    for (const bot of bots) {
      assert.equal((await get(`/users/${bot.id}`)).status, 404);
      assert.equal((await one(sql<{ id: number }>`select id from users where id = ${bot.id}`))?.id, undefined);
    }
    assert.equal((await get(`/users/${other.id}`)).body.provisioned_by_group_id, kept.id);
    assert.equal((await get(`/users/${person.id}`)).body.provisioned_by_group_id, null);
    assert.equal((await get(`/groups/${owned.id}`)).status, 200, "what an account owned elsewhere stays");
  });

  test("the deletion is audited", async () => {
    const user = await app.makeUser();
    const { headers } = await remove(user.id, "?hard_delete=true");
    const row = await app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    assert.equal(row.event, "user_deleted");
    assert.equal(row.target_name, user.username);
    assert.deepEqual(row.details, { hard_delete: true });
    await work();
  });
});
