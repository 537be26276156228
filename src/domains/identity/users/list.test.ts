import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

interface Listed {
  readonly id: number;
  readonly username: string;
}

describe("filters of the users list", () => {
  const tag = `fl${randomUUID().slice(0, 8)}`;
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
    for (const [name, columns] of Object.entries({
      active: {},
      blocked: { state: "blocked" },
      ldap: { state: "ldap_blocked" },
      deactivated: { state: "deactivated" },
      banned: { state: "banned" },
      external: { external: true },
      projectbot: { user_type: "project_bot" },
      alertbot: { user_type: "alert_bot" },
      supportbot: { user_type: "support_bot" },
      account: { user_type: "service_account" },
      factor: { two_factor_enabled: true },
      boss: { admin: true },
      auditor: { auditor: true },
      here: { last_activity_on: "2001-02-03", sign_in_count: 3 },
      old: { created_at: "2001-02-03T04:05:06.789Z" },
    } as const)) {
      await app.makeUser({ username: `${tag}-${name}`, ...columns });
    }
  });
  after(() => app.close());

  const ALL = [
    ...["account", "active", "alertbot", "auditor", "banned", "blocked", "boss", "deactivated", "external", "factor"],
    ...["here", "ldap", "old", "projectbot", "supportbot"],
  ];
  const without = (...names: string[]) => ALL.filter((name) => !names.includes(name));

  /** The test's own users that a list shows, by the end of their names. */
  async function listed(query: string, token?: string) {
    const { status, body } = await app.get(`/users?search=${tag}&per_page=100&${query}`, { token });
    assert.equal(status, 200, query);
    return body.map(({ username }: Listed) => username.slice(tag.length + 1)).toSorted();
  }

  const FILTERS: readonly [query: string, expected: readonly string[]][] = [
    ["", ALL],
    ["active=true", without("blocked", "ldap", "deactivated", "banned", "alertbot", "supportbot")],
    ["blocked=true", ["blocked", "ldap"]],
    ["external=true", ["external"]],
    ["humans=true", without("projectbot", "alertbot", "supportbot", "account")],
    ["exclude_active=true", ["banned", "blocked", "deactivated", "ldap"]],
    ["exclude_external=true", without("external")],
    ["exclude_humans=true", ["account", "alertbot", "projectbot", "supportbot"]],
    ["exclude_internal=true", without("alertbot", "supportbot")],
    ["without_project_bots=true", without("projectbot")],
    ["created_before=2001-02-03T04:05:06.789Z", ["old"]],
    ["created_before=2001-02-03T04:05:06.788Z", []],
    ["created_after=2001-02-03T04:05:06.790Z", without("old")],
    ["created_after=2001-02-03T04:05:06.789Z", ALL],
    ["exclude_humans=true&exclude_internal=true", ["account", "projectbot"]],
    ["active=true&exclude_humans=true&without_project_bots=true", ["account"]],
    ["saml_provider_id=7", ALL],
  ];

  for (const [query, expected] of FILTERS) {
    test(`${query || "none"}: for users and administrators alike`, async () => {
      assert.deepEqual(await listed(query, user.token), expected);
      assert.deepEqual(await listed(query, admin.token), expected);
    });
  }

  test("a filter with the value false is ignored", async () => {
    const flags = ["active", "blocked", "external", "humans", "exclude_active", "exclude_external", "exclude_humans"];
    for (const flag of [...flags, "exclude_internal", "without_project_bots", "admins", "auditors", "skip_ldap"]) {
      assert.deepEqual(await listed(`${flag}=false`, admin.token), ALL, flag);
    }
  });

  test("anonymous callers see no blocked users, whatever the filters", async () => {
    assert.deepEqual(await listed(""), without("blocked", "ldap", "banned"));
    assert.deepEqual(await listed("blocked=true"), []);
    assert.deepEqual(await listed("exclude_active=true"), ["deactivated"]);
    const { body } = await app.get(`/users?username=${tag}-blocked`);
    assert.deepEqual(body, []);
  });

  test("filters for administrators are ignored for other users", async () => {
    for (const [query, expected] of [
      ["two_factor=enabled", ["factor"]],
      ["two_factor=disabled", without("factor")],
      ["two_factor=other", ALL],
      ["admins=true", ["boss"]],
      ["auditors=true", ["auditor"]],
      ["without_projects=true", ALL],
      ["last_activity_after=2001-02-03", ["here"]],
      ["last_activity_after=2001-02-04", []],
      ["last_activity_before=2001-02-04", ["here"]],
      ["last_activity_before=2001-02-03", []],
      ["never_signed_in=true", without("here")],
      ["never_signed_in=false", ALL],
    ] as const) {
      assert.deepEqual(await listed(query, admin.token), expected, query);
      assert.deepEqual(await listed(query, user.token), ALL, query);
    }
  });

  test("skip_ldap, and extern_uid with provider", async () => {
    const { body } = await app.get(`/users?username=${tag}-active`, { token: user.token });
    const { id } = body[0];
    const identity = { user_id: id, provider: "ldapmain", extern_uid: `uid=${tag},dc=Example` };
    await app.services.db.write.insertInto("identities").values(identity).execute();
    assert.deepEqual(await listed("skip_ldap=true", admin.token), without("active"));
    const query = `provider=ldapmain&extern_uid=${encodeURIComponent(identity.extern_uid.toUpperCase())}`;
    assert.deepEqual(await listed(query, admin.token), ["active"]);
    assert.deepEqual(await listed(query.replace("ldapmain", "other"), admin.token), []);
    const refused = await app.get(`/users?${query}`, { token: user.token });
    assert.equal(refused.status, 403);
    assert.deepEqual(refused.body, { message: "403 Forbidden - Requires an administrator" });
    const half = await app.get("/users?provider=ldapmain", { token: admin.token });
    assert.deepEqual(half.body, { error: "extern_uid, provider provide all or none of parameters" });
  });

  test("custom_attributes[key]=value, for administrators", async () => {
    const { body } = await app.get(`/users?username=${tag}-boss`, { token: user.token });
    const attributes = [
      { user_id: body[0].id, key: "desk", value: "window" },
      { user_id: body[0].id, key: "badge", value: "7" },
    ];
    await app.services.db.write.insertInto("user_custom_attributes").values(attributes).execute();
    const desk = "custom_attributes[desk]=window";
    assert.deepEqual(await listed(desk, admin.token), ["boss"]);
    assert.deepEqual(await listed(`${desk}&custom_attributes[badge]=7`, admin.token), ["boss"]);
    assert.deepEqual(await listed(`${desk}&custom_attributes[badge]=8`, admin.token), []);
    assert.deepEqual(await listed(desk, user.token), ALL);
  });

  test("username is exact in any case; public_email is exact", async () => {
    const found = async (query: string) =>
      (await app.get(`/users?${query}`, { token: user.token })).body.map(({ username }: Listed) => username);
    assert.deepEqual(await found(`username=${tag.toUpperCase()}-ACTIVE`), [`${tag}-active`]);
    assert.deepEqual(await found(`username=${tag}`), []);
    const shown = await app.makeUser({ public_email: `${tag}@public.example` });
    assert.deepEqual(await found(`public_email=${tag}@public.example`), [shown.username]);
    assert.deepEqual(await found(`public_email=${tag}`), []);
  });

  test("order_by and sort work for every caller", async () => {
    for (const token of [user.token, admin.token]) {
      const names = async (query: string) =>
        (await app.get(`/users?search=${tag}&humans=true&${query}`, { token })).body.map(
          ({ username }: Listed) => username,
        );
      const ascending = await names("order_by=username&sort=asc");
      assert.deepEqual(ascending, ascending.toSorted());
      assert.deepEqual(await names("order_by=username&sort=desc"), ascending.toReversed());
      assert.equal((await names("order_by=created_at&sort=asc"))[0], `${tag}-old`);
      assert.equal((await names("order_by=id"))[0], `${tag}-old`, "sort is desc by default");
    }
  });
});

describe("listing users without signing in", () => {
  test("the setting anonymous_user_listing restricts it to an exact username, or disables it", async () => {
    const app = await testApp({ databaseUrl: await freshDatabase() });
    try {
      const someone = await app.makeUser();
      const set = async (anonymous_user_listing: "all" | "username" | "off") => {
        await app.services.db.write.updateTable("settings").set({ anonymous_user_listing }).execute();
        await new Promise((resolve) => setTimeout(resolve, 1050));
      };
      const status = async (query: string, token?: string) => (await app.get(`/users${query}`, { token })).status;
      assert.equal(await status(""), 200);
      await set("username");
      const refused = await app.get("/users");
      assert.equal(refused.status, 403);
      assert.deepEqual(refused.body, { message: "403 Forbidden - Not authorized to access /api/v4/users" });
      assert.equal(await status("?search=some"), 403);
      assert.equal(await status("?username="), 403);
      const named = await app.get(`/users?username=${someone.username}`);
      assert.equal(named.body[0].id, someone.id);
      assert.deepEqual((await app.get("/users?username=nobody")).body, []);
      await set("off");
      assert.equal(await status(`?username=${someone.username}`), 403);
      assert.equal(await status("", someone.token), 200);
    } finally {
      await app.close();
    }
  });
});
