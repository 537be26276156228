import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ALSO_CALLED, SETTING_NAMES } from "./entity.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";

const PATH = "/application/settings";

/** No test here uses it. */
const ONE_STORAGE = { FAIRLEAD_STORAGES: "default=/nonexistent" };

const DEFAULTS = {
  allow_local_requests_from_web_hooks_and_services: false,
  anonymous_user_listing: "all",
  can_create_group: true,
  default_branch_name: "main",
  default_group_visibility: "private",
  default_project_creation: 2,
  default_project_visibility: "private",
  default_projects_limit: 100_000,
  default_theme_id: 3,
  deletion_adjourned_period: 7,
  email_confirmation: "off",
  generic_alert_fingerprinting: true,
  group_service_accounts_limit: 100,
  password_minimum_length: 8,
  prevent_blocking_cycles: true,
  push_action_names: "plain",
  repository_storages_weighted: { default: 100 },
  require_token_expiry: true,
  restricted_visibility_levels: [],
  service_accounts_by_owners: null,
  user_defaults_to_private_profile: false,
  user_storage_limit_bytes: 20 * 2 ** 30,
};

const OTHERS = {
  allow_local_requests_from_web_hooks_and_services: true,
  anonymous_user_listing: "username",
  can_create_group: false,
  default_branch_name: "trunk/new",
  default_group_visibility: "internal",
  default_project_creation: 4,
  default_project_visibility: "public",
  default_projects_limit: 5,
  default_theme_id: 1,
  deletion_adjourned_period: 0,
  email_confirmation: "hard",
  generic_alert_fingerprinting: false,
  group_service_accounts_limit: 0,
  password_minimum_length: 12,
  prevent_blocking_cycles: false,
  push_action_names: "detailed",
  repository_storages_weighted: { default: 7 },
  require_token_expiry: false,
  restricted_visibility_levels: ["private"],
  service_accounts_by_owners: true,
  user_defaults_to_private_profile: true,
  user_storage_limit_bytes: 0,
};

describe("application settings", () => {
  let databaseUrl: string;
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    // Settings apply to the whole instance, so other tests must not share this database.
    databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl, env: ONE_STORAGE });
    admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
  });
  after(() => app.close());

  const read = async () => (await app.get(PATH, { token: admin.token })).body;
  const change = (payload: object) => app.put(PATH, { token: admin.token, payload });
  const own = (body: Record<string, unknown>) => Object.fromEntries(SETTING_NAMES.map((name) => [name, body[name]]));

  test("a new instance has the defaults, and every change is visible at once", async () => {
    assert.deepEqual(own(await read()), DEFAULTS);
    const { status, body } = await change(OTHERS);
    assert.equal(status, 200);
    assert.deepEqual(own(body), OTHERS);
    assert.deepEqual(await read(), body);
    assert.deepEqual(own((await change(DEFAULTS)).body), DEFAULTS);
  });

  test("the guide has a row for each, with its default and its alternative name", async () => {
    const guide = await readFile(join(import.meta.dirname, "../../../../docs/guides/settings.md"), "utf8");
    const rows = [...guide.matchAll(/^\| `(\w+)` \|.+\| `(.+)` \|$/gm)].map(([, name, value]) => [name, value]);
    const defaults = Object.entries(DEFAULTS).map(([name, value]) => [name, JSON.stringify(value)]);
    assert.deepEqual(rows, defaults);
    for (const [other, name] of Object.entries(ALSO_CALLED)) {
      assert.ok(guide.includes(`\n| \`${name}\` | \`${other}\` |\n`), other);
    }
  });

  test("local requests are refused until the setting allows them", async () => {
    const problem = () => app.services.outbound.urlProblem("https://10.0.0.1/");
    assert.equal((await problem())?.reason, "destination");
    await change({ allow_local_requests_from_web_hooks_and_services: true });
    await until("the setting applies", async () => (await problem()) === undefined);
    await change(DEFAULTS);
    await until("the default applies", async () => (await problem())?.reason === "destination");
  });

  test("changing one setting leaves the others alone", async () => {
    for (const [name, value] of Object.entries(OTHERS)) {
      if (name === "restricted_visibility_levels") continue;
      const { body } = await change({ [name]: value });
      assert.deepEqual(own(body), { ...DEFAULTS, [name]: value });
      await change(DEFAULTS);
    }
    assert.deepEqual(own((await change({})).body), DEFAULTS);
  });

  test("forms and strings are accepted", async () => {
    const payload =
      "restricted_visibility_levels[]=public&repository_storages_weighted[default]=9&can_create_group=0&default_theme_id=2";
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const { status, body } = await app.put(PATH, { token: admin.token, payload, headers });
    assert.equal(status, 200);
    assert.deepEqual(body.restricted_visibility_levels, ["public"]);
    assert.deepEqual(body.repository_storages_weighted, { default: 9 });
    assert.equal(body.can_create_group, false);
    assert.equal(body.default_theme_id, 2);
    await change(DEFAULTS);
  });

  test("alternative names are shown and accepted", async () => {
    for (const [other, name] of Object.entries(ALSO_CALLED)) {
      const value = OTHERS[name];
      const { body } = await change({ [other]: value });
      assert.equal(body[name], value);
      assert.equal(body[other], value);
      const both = await change({ [other]: DEFAULTS[name] ?? false, [name]: value });
      assert.equal(both.status, 400);
      assert.equal(both.body.error, `${name}, ${other} are one setting: send one of them`);
      assert.equal((await change({ [other]: value, [name]: value })).status, 200);
    }
    await change(DEFAULTS);
  });

  test("invalid values are refused with advice, and nothing is changed", async () => {
    const refused: [payload: object, said: RegExp][] = [
      [{ repository_storages_weighted: { default: 0 } }, /give at least one storage a weight above 0/],
      [{ repository_storages_weighted: {} }, /give at least one storage a weight above 0/],
      [{ repository_storages_weighted: { default: 1, fast: 3 } }, /fast is no storage of this instance.*: default/],
      [{ repository_storages_weighted: { default: 101 } }, /repository_storages_weighted\[default\]/],
      [{ repository_storages_weighted: "default" }, /repository_storages_weighted is invalid/],
      [{ restricted_visibility_levels: ["private"] }, /default_project_visibility.*private is restricted/],
      [{ restricted_visibility_levels: ["secret"] }, /restricted_visibility_levels does not have a valid value/],
      [{ default_project_visibility: "secret" }, /default_project_visibility does not have a valid value/],
      [{ default_project_creation: 5 }, /default_project_creation does not have a valid value/],
      [{ deletion_adjourned_period: 91 }, /deletion_adjourned_period/],
      [{ deletion_adjourned_period: -1 }, /deletion_adjourned_period/],
      [{ default_branch_name: "" }, /default_branch_name is empty/],
      [{ default_branch_name: "a".repeat(256) }, /default_branch_name is too long/],
      [{ email_confirmation: "soft" }, /email_confirmation does not have a valid value/],
      [{ password_minimum_length: 7 }, /password_minimum_length/],
      [{ default_projects_limit: 2 ** 31 }, /default_projects_limit/],
      [{ push_action_names: "long" }, /push_action_names/],
    ];
    for (const [payload, said] of refused) {
      const { status, text } = await change({ can_create_group: false, ...payload });
      assert.equal(status, 400, JSON.stringify(payload));
      assert.match(text, said);
    }
    assert.deepEqual(own(await read()), DEFAULTS);
  });

  test("a default branch must be a valid git branch name", async () => {
    const bad = ["a b", "a..b", "-a", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "a~1", "a^", "a:b", "a?", "a*"];
    for (const name of [...bad, "a[b", "a\\b", "a@{1}", "@", "HEAD", "a\u007Fb", "a\u0001b"]) {
      const { status, body } = await change({ default_branch_name: name });
      assert.equal(status, 400, name);
      assert.deepEqual(body.message, { default_branch_name: ["is no name that git takes for a branch"] });
    }
    for (const name of ["master", "feature/a-b", "v1.2", "über", "a@b"]) {
      assert.equal((await change({ default_branch_name: name })).status, 200, name);
    }
    await change(DEFAULTS);
  });

  test("only administrators have access", async () => {
    const user = await app.makeUser();
    for (const call of [app.get, app.put]) {
      assert.equal((await call(PATH)).status, 401);
      const { status, body } = await call(PATH, { token: user.token });
      assert.equal(status, 403);
      assert.deepEqual(body, { message: "403 Forbidden - Requires an administrator" });
    }
  });

  test("the audit log has what changed, with old and new values", async () => {
    const { body } = await change({
      default_theme_id: 5,
      can_create_group: true,
      restricted_visibility_levels: ["public"],
    });
    assert.equal(body.default_theme_id, 5);
    const [event] = (await app.get("/audit_events?per_page=1", { token: admin.token })).body;
    assert.equal(event.event_name, "application_settings_updated");
    assert.equal(event.author_id, admin.id);
    assert.equal(event.entity_type, "Instance");
    assert.deepEqual(event.details.data, {
      changed: {
        default_theme_id: { from: 3, to: 5 },
        restricted_visibility_levels: { from: [], to: ["public"] },
      },
    });
    await change(DEFAULTS);
  });

  test("concurrent changes lose nothing", async () => {
    const [one, two] = await Promise.all([change({ default_theme_id: 7 }), change({ default_projects_limit: 70 })]);
    assert.equal(one.status, 200);
    assert.equal(two.status, 200);
    const { default_theme_id, default_projects_limit } = await read();
    assert.deepEqual([default_theme_id, default_projects_limit], [7, 70]);
    await change(DEFAULTS);
  });

  test("another process uses a change within a second", async () => {
    const other = await testApp({ databaseUrl, env: ONE_STORAGE });
    try {
      assert.equal((await other.get("/users")).status, 200);
      await change({ anonymous_user_listing: "off" });
      await sleep(1_000);
      assert.equal((await other.get("/users")).status, 403);
      assert.equal((await app.get("/users")).status, 403);
    } finally {
      await other.close();
      await change(DEFAULTS);
    }
  });

  test("the database refuses values that only a bug would write", async () => {
    const { write } = app.services.db;
    const wrong = [
      { deletion_adjourned_period: 91 },
      { default_project_visibility: 15 },
      { default_group_visibility: 5 },
      { restricted_visibility_levels: [1] },
      { default_branch_name: "" },
      { repository_storages_weighted: {} },
      { repository_storages_weighted: { default: 0 } },
      { repository_storages_weighted: { default: 101 } },
      { repository_storages_weighted: { default: "1" } },
      { default_projects_limit: -1 },
      { default_theme_id: 12 },
      { password_minimum_length: 4 },
    ];
    for (const columns of wrong) {
      await assert.rejects(
        write.updateTable("settings").set(columns).execute(),
        /violates check constraint "settings_/,
        JSON.stringify(columns),
      );
    }
  });
});
