import assert from "node:assert/strict";
import { argon2Sync, randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { makeGroup } from "#domains/organization/groups/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const PASSWORD = "Tall-Ships-Sail-4-Ever";

/** Whether a password matches a digest. */
function isPassword(digest: string | null, password: string): boolean {
  const [, , , costs = "", nonce = "", tag = ""] = digest?.split("$") ?? [];
  const [memory, passes, parallelism] = costs.split(",").map((cost) => Number(cost.slice(2)));
  assert.ok(memory && passes && parallelism, String(digest));
  const options = {
    message: password,
    nonce: Buffer.from(nonce, "base64"),
    tagLength: 32,
    memory,
    passes,
    parallelism,
  };
  return argon2Sync("argon2id", options).toString("base64").replaceAll("=", "") === tag;
}

describe("POST /users", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const fresh = () => {
    const username = `new-${randomUUID().slice(0, 8)}`;
    return { username, name: "New Person", email: `${username}@example.com`, password: PASSWORD };
  };
  const create = (payload: object) => app.post("/users", { token: admin.token, payload });
  const rowOf = (id: number) =>
    app.services.db.read.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

  test("only administrators create users", async () => {
    const { token } = await app.makeUser();
    assert.equal((await app.post("/users", { token, payload: fresh() })).status, 403);
    assert.equal((await app.post("/users", { payload: fresh() })).status, 401);
  });

  test("without optional fields the defaults apply", async () => {
    const given = fresh();
    const { status, body } = await create(given);
    assert.equal(status, 201);
    const { id, namespace_id, created_at, confirmed_at, avatar_url, created_by, ...rest } = body;
    assert.ok(id > 0 && namespace_id > 0 && created_at && confirmed_at);
    assert.equal(avatar_url, `http://localhost/uploads/-/system/user/avatar/${id}/default.svg`);
    assert.equal(created_by.id, admin.id);
    assert.deepEqual(rest, {
      username: given.username,
      name: given.name,
      state: "active",
      locked: false,
      web_url: `http://localhost/${given.username}`,
      followers: 0,
      following: 0,
      is_followed: false,
      bio: "",
      bot: false,
      location: null,
      public_email: null,
      linkedin: "",
      twitter: "",
      discord: "",
      github: "",
      website_url: "",
      organization: "",
      job_title: "",
      pronouns: "",
      work_information: null,
      local_time: null,
      email: given.email,
      last_sign_in_at: null,
      theme_id: 3,
      last_activity_on: null,
      color_scheme_id: 1,
      projects_limit: 100_000,
      current_sign_in_at: null,
      identities: [],
      can_create_group: true,
      can_create_project: true,
      two_factor_enabled: false,
      external: false,
      private_profile: false,
      commit_email: given.email,
      preferred_language: "en",
      is_admin: false,
      locked_until: null,
      lock_reason: null,
      failed_attempts: 0,
      note: null,
      current_sign_in_ip: null,
      last_sign_in_ip: null,
      sign_in_count: 0,
      email_reset_offered_at: null,
      plan: "ultimate",
      trial: false,
      is_auditor: false,
      using_license_seat: true,
      provisioned_by_group_id: null,
      shared_runners_minutes_limit: null,
      extra_shared_runners_minutes_limit: null,
      scim_identities: [],
    });
    const namespace = await app.services.db.read
      .selectFrom("namespaces")
      .selectAll()
      .where("id", "=", namespace_id)
      .executeTakeFirstOrThrow();
    assert.equal(namespace.path, given.username);
    assert.equal(namespace.kind, "user");
  });

  test("all fields can be set", async () => {
    const given = {
      ...fresh(),
      admin: true,
      auditor: true,
      bio: "Sails",
      can_create_group: false,
      color_scheme_id: 5,
      discord: "123456789012345678",
      extra_shared_runners_minutes_limit: 5,
      github: "gh",
      linkedin: "li",
      location: "Quay",
      note: "for us",
      organization: "Harbour",
      private_profile: true,
      projects_limit: 3,
      pronouns: "they/them",
      shared_runners_minutes_limit: 0,
      theme_id: 5,
      twitter: "tw",
      view_diffs_file_by_file: true,
      website_url: "https://example.com/me",
    };
    const { status, body } = await create(given);
    assert.equal(status, 201);
    const { password: _, admin: __, auditor: ___, view_diffs_file_by_file: ____, ...shown } = given;
    for (const [name, value] of Object.entries(shown)) assert.deepEqual(body[name], value, name);
    assert.equal(body.is_admin, true);
    assert.equal(body.is_auditor, true);
    assert.equal((await rowOf(body.id)).view_diffs_file_by_file, true);
  });

  test("the password is stored as argon2id, and never shown, logged or audited", async () => {
    const { body, text, headers } = await create(fresh());
    const { password_digest } = await rowOf(body.id);
    assert.match(password_digest ?? "", /^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$/);
    assert.equal(isPassword(password_digest, PASSWORD), true);
    assert.equal(isPassword(password_digest, `${PASSWORD}!`), false);
    assert.ok(!text.includes(PASSWORD) && !app.logged.join("").includes(PASSWORD));
    const audited = await app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    assert.equal(audited.event, "user_created");
    assert.equal(audited.target_id, body.id);
    assert.ok(!JSON.stringify(audited).includes(PASSWORD));
  });

  test("force_random_password and reset_password take precedence over password", async () => {
    for (const flag of ["force_random_password", "reset_password"]) {
      const { status, body } = await create({ ...fresh(), [flag]: true });
      assert.equal(status, 201);
      assert.equal((await rowOf(body.id)).password_digest, null, "nobody knows a password that works");
      const { password: _, ...without } = fresh();
      assert.equal((await create({ ...without, [flag]: true })).status, 201);
      assert.equal(
        (await create({ ...fresh(), password: "short", [flag]: true })).status,
        201,
        "the password is ignored",
      );
      const off = await create({ ...fresh(), [flag]: false });
      assert.equal(isPassword((await rowOf(off.body.id)).password_digest, PASSWORD), true);
    }
  });

  test("a password is required where both flags are false", async () => {
    const { password: _, ...without } = fresh();
    for (const flags of [
      { force_random_password: false, reset_password: false },
      { force_random_password: false },
      { reset_password: "0" },
    ]) {
      const { status, body } = await create({ ...without, ...flags });
      assert.deepEqual([status, body], [400, { error: "password is missing" }]);
    }
  });

  test("all missing fields are reported together", async () => {
    const { status, body } = await create({});
    assert.equal(status, 400);
    assert.deepEqual(body, {
      error:
        "username is missing, name is missing, email is missing, " +
        "password, reset_password, force_random_password are missing, at least one parameter must be provided",
    });
  });

  test("a taken email or username is 409, and the email is reported first", async () => {
    const taken = fresh();
    const { id } = (await create(taken)).body;
    const clash = async (given: object) => {
      const { status, body } = await create({ ...fresh(), ...given });
      return [status, body.message];
    };
    assert.deepEqual(await clash({ email: taken.email }), [409, "Email has already been taken"]);
    assert.deepEqual(await clash({ email: taken.email.toUpperCase() }), [409, "Email has already been taken"]);
    assert.deepEqual(await clash({ username: taken.username }), [409, "Username has already been taken"]);
    assert.deepEqual(await clash({ username: taken.username.toUpperCase() }), [409, "Username has already been taken"]);
    assert.deepEqual(await clash({ email: taken.email, username: taken.username }), [
      409,
      "Email has already been taken",
    ]);
    const { write } = app.services.db;
    const emails = [
      { user_id: id, email: `second-${taken.email}`, confirmed_at: new Date().toISOString() },
      { user_id: id, email: `waiting-${taken.email}` },
    ];
    await write.insertInto("emails").values(emails).execute();
    assert.deepEqual(await clash({ email: `second-${taken.email}` }), [409, "Email has already been taken"]);
    assert.deepEqual(await clash({ email: `waiting-${taken.email}` }), [400, { email: ["has already been taken"] }]);
    await write
      .insertInto("namespaces")
      .values({ path: `group-${id}`, name: "g" })
      .execute();
    assert.equal((await clash({ username: `group-${id}` }))[0], 409);
  });

  test("of concurrent requests for one username one succeeds, the others are 409", async () => {
    for (let n = 0; n < 3; n++) {
      const given = fresh();
      const answers = await Promise.all([1, 2, 3].map((m) => create({ ...given, email: `${m}-${given.email}` })));
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 409, 409],
      );
    }
  });

  test("an external user gets can_create_group false and projects_limit 0", async () => {
    const { body } = await create({ ...fresh(), external: true, can_create_group: true, projects_limit: 10 });
    assert.equal(body.external, true);
    assert.equal(body.can_create_group, false);
    assert.equal(body.projects_limit, 0);
    assert.equal(body.can_create_project, false);
  });

  test("extern_uid and provider create an identity", async () => {
    const half = await create({ ...fresh(), provider: "github" });
    assert.deepEqual(half.body, { error: "extern_uid, provider provide all or none of parameters" });
    const uid = randomUUID();
    const { body } = await create({ ...fresh(), provider: "github", extern_uid: uid });
    assert.deepEqual(body.identities, [{ provider: "github", extern_uid: uid }]);
    const again = await create({ ...fresh(), provider: "github", extern_uid: uid.toUpperCase() });
    assert.equal(again.status, 400);
    assert.deepEqual(again.body, { message: { "identities.extern_uid": ["has already been taken"] } });
  });

  test("a top-level group can be the provider and then provisions the user; no other group can", async () => {
    const top = await makeGroup(app, admin);
    const sub = await makeGroup(app, admin, { parent_id: top.id });
    const uid = randomUUID();
    const saml = (group_id_for_saml?: number) =>
      create({ ...fresh(), provider: "group_saml", extern_uid: uid, group_id_for_saml });
    const { status, body } = await saml(top.id);
    assert.equal(status, 201);
    assert.deepEqual(body.identities, [{ provider: "group_saml", extern_uid: uid, saml_provider_id: top.id }]);
    assert.equal(body.provisioned_by_group_id, top.id);
    assert.deepEqual((await saml(sub.id)).body, { message: "400 Bad request - Must be a top-level group" });
    assert.deepEqual((await saml(999_999_999)).body, { message: "404 Group Not Found" });
    assert.deepEqual(Object.keys((await saml()).body.message), ["identities.saml_provider_id"]);
    const own = await app.services.db.read
      .selectFrom("users")
      .select("namespace_id")
      .where("id", "=", admin.id)
      .executeTakeFirstOrThrow();
    assert.equal((await saml(own.namespace_id)).status, 404, "a personal namespace is no group");
    const plain = await create({ ...fresh(), provider: "github", extern_uid: uid, group_id_for_saml: top.id });
    assert.deepEqual(plain.body.identities, [{ provider: "github", extern_uid: uid }]);
    assert.equal(plain.body.provisioned_by_group_id, null);
  });

  test("links to choose a password and to confirm the address are mailed", async () => {
    const mails = async (id: number) => {
      const { rows } = await sql<{ kind: string }>`
        select data->'payload'->>'kind' as kind from jobs.job where data->>'job' = 'mails.send'
          and data->'payload'->>'userId' = ${String(id)} order by 1`.execute(app.services.db.write);
      return rows.map(({ kind }) => kind);
    };
    assert.deepEqual(await mails((await create(fresh())).body.id), []);
    const reset = await create({ ...fresh(), reset_password: true });
    assert.deepEqual(await mails(reset.body.id), ["invitation"]);
    assert.equal((await rowOf(reset.body.id)).password_digest, null, "it takes precedence over the password");
    const other = await testApp({ databaseUrl: await freshDatabase() });
    try {
      await other.services.db.write.updateTable("settings").set({ email_confirmation: "hard" }).execute();
      const { token } = await other.makeUser({ admin: true });
      const given = fresh();
      const { body } = await other.post("/users", { token, payload: { ...given, reset_password: true } });
      const { rows } = await sql<{ mail: object }>`
        select (data->'payload') - 'nonce' as mail from jobs.job where data->>'job' = 'mails.send' order by 1`.execute(
        other.services.db.write,
      );
      assert.deepEqual(
        rows.map(({ mail }) => mail),
        [
          { kind: "invitation", userId: body.id },
          { kind: "confirm_email", email: given.email, userId: body.id },
        ],
      );
    } finally {
      await other.close();
    }
  });

  test("names and addresses are trimmed, tags in names become dashes", async () => {
    const given = fresh();
    const { body } = await create({
      ...given,
      name: "  A <b>bold</b> > name ",
      email: ` ${given.email.toUpperCase()} `,
    });
    assert.equal(body.name, "A -bold- - name");
    assert.equal(body.email, given.email);
  });

  test("commit_email=_private hides the address", async () => {
    const given = fresh();
    const { body } = await create({ ...given, commit_email: "_private" });
    assert.equal(body.commit_email, `${body.id}-${given.username}@users.noreply.localhost`);
  });
});
