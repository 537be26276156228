import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Value from "typebox/value";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { AdminUser, CurrentUser, UserProfile, UserSummary } from "./entity.ts";

const SUMMARY = ["avatar_url", "id", "locked", "name", "state", "username", "web_url"];
const PROFILE = [
  ...SUMMARY,
  ...[
    "bio",
    "bot",
    "created_at",
    "discord",
    "followers",
    "following",
    "github",
    "is_followed",
    "job_title",
    "linkedin",
  ],
  ...[
    "local_time",
    "location",
    "organization",
    "pronouns",
    "public_email",
    "twitter",
    "website_url",
    "work_information",
  ],
];
const ACCOUNT = [
  ...PROFILE,
  ...[
    "can_create_group",
    "can_create_project",
    "color_scheme_id",
    "commit_email",
    "confirmed_at",
    "current_sign_in_at",
  ],
  ...[
    "email",
    "external",
    "identities",
    "last_activity_on",
    "last_sign_in_at",
    "preferred_language",
    "private_profile",
  ],
  ...["projects_limit", "theme_id", "two_factor_enabled"],
];
const ADMINISTRATOR = [
  ...ACCOUNT,
  ...["created_by", "current_sign_in_ip", "email_reset_offered_at", "extra_shared_runners_minutes_limit", "is_admin"],
  ...["failed_attempts", "lock_reason", "locked_until"],
  ...["is_auditor", "last_sign_in_ip", "namespace_id", "note", "plan", "provisioned_by_group_id", "scim_identities"],
  ...["shared_runners_minutes_limit", "sign_in_count", "trial", "using_license_seat"],
];

const keysOf = (body: object) => Object.keys(body).toSorted();
const sorted = (names: readonly string[]) => names.toSorted();

describe("views of a user", () => {
  let app: TestApp;
  let user: TestUser;
  let other: TestUser;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
    other = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const get = (id: number, token: string) => app.get(`/users/${id}`, { token });

  test("lists show the public summary", async () => {
    const { body } = await app.get(`/users?username=${user.username}`, { token: other.token });
    assert.deepEqual(keysOf(body[0]), sorted(SUMMARY));
    assert.ok(Value.Check(UserSummary, body[0]));
  });

  test("a user shows the profile, and to administrators everything", async () => {
    const seen = await get(user.id, other.token);
    assert.deepEqual(keysOf(seen.body), sorted(PROFILE));
    assert.ok(Value.Check(UserProfile, seen.body));
    const administered = await get(user.id, admin.token);
    assert.deepEqual(keysOf(administered.body), sorted(ADMINISTRATOR));
    assert.ok(Value.Check(AdminUser, administered.body));
  });

  test("the calling user sees their account, an administrator the view for administrators", async () => {
    const own = await app.get("/user", { token: user.token });
    assert.deepEqual(keysOf(own.body), sorted(ACCOUNT));
    assert.ok(Value.Check(CurrentUser, own.body));
    assert.deepEqual(keysOf((await app.get("/user", { token: admin.token })).body), sorted(ADMINISTRATOR));
  });

  test("administrators see everything in lists too", async () => {
    const { body } = await app.get(`/users?username=${user.username}`, { token: admin.token });
    assert.deepEqual(keysOf(body[0]), sorted(ADMINISTRATOR));
    assert.deepEqual(body[0], (await get(user.id, admin.token)).body);
  });

  test("no view contains a secret", async () => {
    const { text } = await get(user.id, admin.token);
    for (const secret of ["password", "digest", "avatar_blob"]) assert.ok(!text.includes(secret), secret);
  });

  test("a private profile leaves out created_at and followers for others", async () => {
    const hidden = ["created_at", "followers", "following", "is_followed"];
    const open = PROFILE.filter((name) => !hidden.includes(name));
    for (const columns of [
      { private_profile: true },
      { state: "blocked" },
      { state: "ldap_blocked" },
      { state: "banned" },
      { confirmed_at: null },
    ] as const) {
      const shy = await app.makeUser(columns);
      assert.deepEqual(keysOf((await get(shy.id, other.token)).body), sorted(open), JSON.stringify(columns));
      const { body } = await get(shy.id, admin.token);
      assert.ok(hidden.every((name) => name in body));
    }
    const shy = await app.makeUser({ private_profile: true });
    assert.deepEqual(keysOf((await get(shy.id, shy.token)).body), sorted(PROFILE));
  });

  test("bots show as bots; users of every state can be read", async () => {
    for (const [user_type, bot] of [
      ["human", false],
      ["service_user", false],
      ["project_bot", true],
      ["service_account", true],
      ["alert_bot", true],
      ["support_bot", true],
      ["ghost", false],
    ] as const) {
      const someone = await app.makeUser({ user_type });
      assert.equal((await get(someone.id, other.token)).body.bot, bot, user_type);
    }
    for (const state of [
      "active",
      "blocked",
      "ldap_blocked",
      "deactivated",
      "banned",
      "blocked_pending_approval",
    ] as const) {
      const someone = await app.makeUser({ state });
      assert.equal((await get(someone.id, other.token)).body.state, state);
    }
  });

  test("locked is true until the lock is over", async () => {
    const locked = async (locked_until: string) => {
      const someone = await app.makeUser({ locked_until });
      return (await get(someone.id, other.token)).body.locked;
    };
    assert.equal(await locked(new Date(Date.now() + 60_000).toISOString()), true);
    assert.equal(await locked(new Date(Date.now() - 60_000).toISOString()), false);
  });

  test("work_information joins job title and organization", async () => {
    const of = async (columns: { job_title?: string; organization?: string }) =>
      (await get((await app.makeUser(columns)).id, other.token)).body.work_information;
    assert.equal(await of({ job_title: "Rigger", organization: "Harbour" }), "Rigger at Harbour");
    assert.equal(await of({ job_title: "Rigger" }), "Rigger");
    assert.equal(await of({ organization: "Harbour" }), "Harbour");
    assert.equal(await of({}), null);
  });

  test("local_time is on a 12-hour clock in the user's time zone, null without one", async () => {
    const { id } = await app.makeUser({ time_zone: "Asia/Kolkata" });
    const { local_time } = (await get(id, other.token)).body;
    assert.match(local_time, /^(1[0-2]|[1-9]):[0-5]\d [AP]M$/);
    const minutes = Number(local_time.split(/[: ]/)[1]);
    const difference = (minutes - new Date().getUTCMinutes() + 60) % 60;
    assert.ok([29, 30, 31].includes(difference), "the zone is half an hour off");
    assert.equal((await get(user.id, other.token)).body.local_time, null);
  });

  test("commit_email is the private form or the chosen one, else the primary address", async () => {
    const of = async (commit_email: string | null) => {
      const { id } = await app.makeUser({
        commit_email,
        username: `commits-${commit_email ?? "none"}`.replace("@", "-at-"),
      });
      return [id, (await get(id, admin.token)).body] as const;
    };
    const [id, hidden] = await of("_private");
    assert.equal(hidden.commit_email, `${id}-commits-_private@users.noreply.localhost`);
    assert.equal((await of("mine@example.com"))[1].commit_email, "mine@example.com");
    const [, plain] = await of(null);
    assert.equal(plain.commit_email, plain.email);
  });

  test("only identities of group_saml have saml_provider_id", async () => {
    const { id, token } = await app.makeUser();
    await app.services.db.write
      .insertInto("identities")
      .values([
        { user_id: id, provider: "ldapmain", extern_uid: `uid=${id}` },
        { user_id: id, provider: "group_saml", extern_uid: `saml-${id}`, saml_provider_id: 10 },
      ])
      .execute();
    const expected = [
      { provider: "ldapmain", extern_uid: `uid=${id}` },
      { provider: "group_saml", extern_uid: `saml-${id}`, saml_provider_id: 10 },
    ];
    assert.deepEqual((await app.get("/user", { token })).body.identities, expected);
    assert.deepEqual((await get(id, admin.token)).body.identities, expected);
    const sudo = await app.makeToken(admin.id, { scopes: ["api", "sudo"] });
    assert.deepEqual((await app.get(`/user?sudo=${id}`, { token: sudo.token })).body.identities, expected);
  });

  test("custom attributes are shown to administrators who ask for them", async () => {
    await app.services.db.write
      .insertInto("user_custom_attributes")
      .values([
        { user_id: user.id, key: "desk", value: "window" },
        { user_id: user.id, key: "badge", value: "7" },
      ])
      .execute();
    const expected = [
      { key: "badge", value: "7" },
      { key: "desk", value: "window" },
    ];
    const asked = (path: string, token: string) => app.get(`${path}with_custom_attributes=true`, { token });
    assert.deepEqual((await asked(`/users/${user.id}?`, admin.token)).body.custom_attributes, expected);
    assert.deepEqual(
      (await asked(`/users?username=${user.username}&`, admin.token)).body[0].custom_attributes,
      expected,
    );
    assert.deepEqual((await asked(`/users/${other.id}?`, admin.token)).body.custom_attributes, []);
    assert.equal("custom_attributes" in (await get(user.id, admin.token)).body, false);
    assert.equal("custom_attributes" in (await asked(`/users/${user.id}?`, other.token)).body, false);
  });

  test("created_by is a summary of the creator, null without one", async () => {
    assert.equal((await get(user.id, admin.token)).body.created_by, null);
    const made = await app.makeUser({ created_by_id: admin.id });
    const { created_by } = (await get(made.id, admin.token)).body;
    assert.ok(Value.Check(UserSummary, created_by));
    assert.equal(created_by.id, admin.id);
  });

  test("an unknown user is 404, an anonymous caller 401", async () => {
    const { status, body } = await get(999_999_999, other.token);
    assert.equal(status, 404);
    assert.deepEqual(body, { message: "404 User Not Found" });
    assert.equal((await get(999_999_999, admin.token)).text, JSON.stringify(body));
    assert.equal((await app.get(`/users/${user.id}`)).status, 401);
  });
});
