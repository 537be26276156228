import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("PUT /users/:id", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const put = (id: number, payload: object) => app.put(`/users/${id}`, { token: admin.token, payload });
  const view = async (id: number) => (await app.get(`/users/${id}`, { token: admin.token })).body;
  const addEmail = async (user: TestUser, email: string, confirmed: boolean) =>
    app.services.db.write
      .insertInto("emails")
      .values({ user_id: user.id, email, confirmed_at: confirmed ? new Date().toISOString() : null })
      .execute();

  test("only administrators, even for one's own account", async () => {
    const user = await app.makeUser();
    assert.equal((await app.put(`/users/${user.id}`, { token: user.token, payload: { bio: "x" } })).status, 403);
    assert.equal((await app.put(`/users/${user.id}`, { payload: { bio: "x" } })).status, 401);
  });

  test("fields that are not sent stay; an empty body changes nothing", async () => {
    const user = await app.makeUser({ bio: "old", location: "Quay", note: "n" });
    const before = await view(user.id);
    const empty = await put(user.id, {});
    assert.equal(empty.status, 200);
    assert.deepEqual(empty.body, before);
    const { body } = await put(user.id, { bio: "new" });
    assert.deepEqual(body, { ...before, bio: "new" });
  });

  test("sending back a user as it was read changes nothing", async () => {
    const user = await app.makeUser();
    const { email, username, name } = await view(user.id);
    const { status, body } = await put(user.id, { email, username, name });
    assert.equal(status, 200);
    assert.equal(body.email, email);
    assert.equal("unconfirmed_email" in body, false);
  });

  test("all fields can be changed", async () => {
    const user = await app.makeUser();
    const given = {
      bio: "b",
      can_create_group: false,
      color_scheme_id: 2,
      discord: "12345678901234567",
      extra_shared_runners_minutes_limit: 9,
      github: "g",
      job_title: "Rigger",
      linkedin: "l",
      location: "loc",
      name: "Changed",
      note: "note",
      organization: "Harbour",
      private_profile: true,
      projects_limit: 4,
      pronouns: "she/her",
      shared_runners_minutes_limit: 8,
      theme_id: 2,
      twitter: "t",
      website_url: "http://example.com",
    };
    const { body } = await put(user.id, { ...given, admin: true, auditor: true });
    for (const [name, value] of Object.entries(given)) assert.deepEqual(body[name], value, name);
    assert.equal(body.is_admin, true);
    assert.equal(body.is_auditor, true);
  });

  test("null empties texts and resets private_profile to the setting", async () => {
    const user = await app.makeUser({ bio: "b", organization: "o", location: "l", note: "n", private_profile: true });
    const { body } = await put(user.id, {
      bio: null,
      organization: null,
      location: null,
      note: null,
      private_profile: null,
    });
    assert.equal(body.bio, "");
    assert.equal(body.organization, "");
    assert.equal(body.location, null);
    assert.equal(body.note, null);
    assert.equal(body.private_profile, false);
  });

  test("shared_runners_minutes_limit: null inherits, 0 is unlimited", async () => {
    const user = await app.makeUser();
    for (const value of [100, 0, null]) {
      const { body } = await put(user.id, { shared_runners_minutes_limit: value });
      assert.equal(body.shared_runners_minutes_limit, value);
    }
    const { status, body } = await put(user.id, { shared_runners_minutes_limit: -1 });
    assert.equal(status, 400);
    assert.deepEqual(body, { error: "shared_runners_minutes_limit does not have a valid value" });
  });

  test("email to a confirmed secondary address changes at once, and the old one becomes secondary", async () => {
    const user = await app.makeUser();
    await addEmail(user, `second-${user.email}`, true);
    const { status, body } = await put(user.id, { email: `Second-${user.email}` });
    assert.equal(status, 200);
    assert.equal(body.email, `second-${user.email}`);
    assert.equal("unconfirmed_email" in body, false);
    const back = await put(user.id, { email: user.email });
    assert.equal(back.body.email, user.email);
  });

  test("email to an unconfirmed secondary address waits for confirmation, unless skip_reconfirmation", async () => {
    const user = await app.makeUser();
    const second = `second-${user.email}`;
    await addEmail(user, second, false);
    const waiting = await put(user.id, { email: second });
    assert.equal(waiting.status, 200);
    assert.equal(waiting.body.email, user.email);
    assert.equal(waiting.body.unconfirmed_email, second);
    const { body } = await put(user.id, { email: second, skip_reconfirmation: true });
    assert.equal(body.email, second);
    assert.equal("unconfirmed_email" in body, false);
    assert.equal((await app.get("/user", { token: user.token })).status, 200, "the address counts as confirmed");
  });

  test("email to any other address is 400, to the address of another user 409", async () => {
    const user = await app.makeUser();
    const other = await app.makeUser();
    const { status, body } = await put(user.id, { email: `elsewhere-${user.email}`, skip_reconfirmation: true });
    assert.equal(status, 400);
    assert.deepEqual(Object.keys(body.message), ["email"]);
    const taken = await put(user.id, { email: other.email });
    assert.equal(taken.status, 409);
    assert.deepEqual(taken.body, { message: "Email has already been taken" });
    assert.equal((await put(user.id, { email: "nonsense" })).status, 400);
    assert.equal((await view(user.id)).email, user.email);
  });

  test("the same address in another case is no change", async () => {
    const user = await app.makeUser();
    const { status, body } = await put(user.id, { email: user.email.toUpperCase() });
    assert.equal(status, 200);
    assert.equal(body.email, user.email);
  });

  test("a new username renames the personal namespace; a taken one is 409", async () => {
    const user = await app.makeUser();
    const other = await app.makeUser();
    const renamed = `renamed-${randomUUID().slice(0, 8)}`;
    const { body } = await put(user.id, { username: renamed });
    assert.equal(body.username, renamed);
    assert.equal(body.web_url, `http://localhost/${renamed}`);
    const namespace = await app.services.db.read
      .selectFrom("namespaces")
      .select("path")
      .where("id", "=", body.namespace_id)
      .executeTakeFirstOrThrow();
    assert.equal(namespace.path, renamed);
    const taken = await put(user.id, { username: other.username.toUpperCase() });
    assert.equal(taken.status, 409);
    assert.deepEqual(taken.body, { message: "Username has already been taken" });
    assert.equal((await put(user.id, { username: renamed.toUpperCase() })).status, 200, "one's own in another case");
  });

  test("public_email and commit_email must be the user's own confirmed addresses", async () => {
    const user = await app.makeUser();
    await addEmail(user, `second-${user.email}`, true);
    await addEmail(user, `waiting-${user.email}`, false);
    for (const field of ["public_email", "commit_email"]) {
      const own = await put(user.id, { [field]: `second-${user.email}` });
      assert.equal(own.body[field], `second-${user.email}`);
      for (const address of [`waiting-${user.email}`, "stranger@example.com"]) {
        const { status, body } = await put(user.id, { [field]: address });
        assert.equal(status, 400);
        assert.deepEqual(body, { message: { [field]: ["must be an email you have verified"] } });
      }
    }
    const { body } = await put(user.id, { public_email: "", commit_email: "_private" });
    assert.equal(body.public_email, null);
    assert.equal(body.commit_email, `${user.id}-${user.username}@users.noreply.localhost`);
  });

  test("a user who becomes external loses the limits, one who already is keeps them", async () => {
    const user = await app.makeUser();
    const outside = await put(user.id, { external: true, projects_limit: 10 });
    assert.equal(outside.body.projects_limit, 0);
    assert.equal(outside.body.can_create_group, false);
    const raised = await put(user.id, { external: true, projects_limit: 10, can_create_group: true });
    assert.equal(raised.body.projects_limit, 10);
    assert.equal(raised.body.can_create_group, true);
  });

  test("a password that an administrator set must be changed at the next sign-in, unless it is their own", async () => {
    const user = await app.makeUser();
    const password = "Tall-Ships-Sail-4-Ever";
    assert.equal((await put(user.id, { password })).status, 200);
    const { status, body } = await app.get("/user", { token: user.token });
    assert.equal(status, 403);
    assert.match(body.message, /^403 Forbidden - Your password expired/);
    const boss = await app.makeUser({ admin: true });
    await sql`insert into sessions (user_id, digest) values (${boss.id}, 'by password')`.execute(app.services.db.write);
    await app.put(`/users/${boss.id}`, { token: boss.token, payload: { password } });
    assert.equal((await app.get("/user", { token: boss.token })).status, 200);
    const { rows } = await sql<{ sessions: number; mails: number }>`select
      (select count(*) from sessions where user_id = ${boss.id}) as sessions,
      (select count(*) from jobs.job where data->'payload'->>'kind' = 'password_changed'
        and data->'payload'->>'userId' = ${String(boss.id)}) as mails`.execute(app.services.db.write);
    assert.deepEqual(rows[0], { sessions: 0, mails: 1 }, "the sessions have ended, and a mail was sent");
  });

  test("an identity is created, then changed", async () => {
    const user = await app.makeUser();
    const first = await put(user.id, { provider: "github", extern_uid: `a${user.id}` });
    assert.deepEqual(first.body.identities, [{ provider: "github", extern_uid: `a${user.id}` }]);
    const second = await put(user.id, { provider: "github", extern_uid: `b${user.id}` });
    assert.deepEqual(second.body.identities, [{ provider: "github", extern_uid: `b${user.id}` }]);
    assert.equal((await put(user.id, { provider: "github" })).status, 400);
  });

  test("updated_at changes only with another column", async () => {
    const user = await app.makeUser({ updated_at: "2001-01-01T00:00:00.000Z" });
    const updated = async () =>
      (await app.services.db.read.selectFrom("users").select("updated_at").where("id", "=", user.id).executeTakeFirst())
        ?.updated_at;
    await put(user.id, {});
    assert.equal(await updated(), "2001-01-01T00:00:00.000Z");
    await put(user.id, { bio: "x" });
    assert.notEqual(await updated(), "2001-01-01T00:00:00.000Z");
  });

  test("the names of the changed fields are audited, without their values", async () => {
    const user = await app.makeUser();
    const { headers } = await put(user.id, { bio: "never recorded", password: "Tall-Ships-Sail-4-Ever" });
    const row = await app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    assert.equal(row.event, "user_updated");
    assert.deepEqual((row.details as { changed: string[] }).changed.toSorted(), ["bio", "password_expired"]);
    assert.ok(!JSON.stringify(row).includes("never recorded"));
  });

  test("an unknown user is 404", async () => {
    const { status, body } = await put(999_999_999, { bio: "x" });
    assert.equal(status, 404);
    assert.deepEqual(body, { message: "404 User Not Found" });
  });
});
