import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";

const PREMIUM_FIELDS = [
  ...["shared_runners_minutes_limit", "extra_shared_runners_minutes_limit", "is_auditor", "using_license_seat"],
  ...["provisioned_by_group_id"],
];
const ENTERPRISE_FIELDS = ["plan", "trial"];

async function withApp(env: Record<string, string>, work: (app: TestApp, token: string) => Promise<void>) {
  const app = await testApp({ env });
  try {
    const { token } = await app.makeUser({ admin: true });
    await work(app, token);
  } finally {
    await app.close();
  }
}

const newUser = () => {
  const username = `gated-${randomUUID().slice(0, 8)}`;
  return { username, name: "n", email: `${username}@example.com`, force_random_password: true };
};
const shown = (body: object, names: readonly string[]) => names.filter((name) => name in body);

describe("users in each plan", () => {
  test("free: fields of Premium are neither shown nor accepted", () =>
    withApp({ FAIRLEAD_PLAN: "free" }, async (app, token) => {
      const given = {
        ...newUser(),
        auditor: true,
        shared_runners_minutes_limit: 7,
        extra_shared_runners_minutes_limit: "x",
      };
      const { status, body } = await app.post("/users", { token, payload: given });
      assert.equal(status, 201);
      const hidden = [...PREMIUM_FIELDS, ...ENTERPRISE_FIELDS, "scim_identities"];
      assert.deepEqual(shown(body, hidden), []);
      const row = await app.services.db.read
        .selectFrom("users")
        .select(["auditor", "shared_runners_minutes_limit"])
        .where("id", "=", body.id)
        .executeTakeFirst();
      assert.deepEqual(row, { auditor: false, shared_runners_minutes_limit: null });
      const list = await app.get(`/users?username=${given.username}`, { token });
      assert.deepEqual(shown(list.body[0], hidden), []);
      assert.deepEqual(shown((await app.get("/user", { token })).body, hidden), []);
      const auditors = await app.get(`/users?auditors=true&username=${given.username}`, { token });
      assert.equal(auditors.body.length, 1, "the filter is ignored");
      const { body: metadata } = await app.get("/metadata", { token });
      assert.equal(metadata.enterprise, false);
    }));

  test("free: identity providers of a higher plan are ignored, and others are accepted", () =>
    withApp({ FAIRLEAD_PLAN: "free" }, async (app, token) => {
      const group = await app.post("/groups", { token, payload: { name: "Fleet", path: `fleet-${randomUUID()}` } });
      const saml = { provider: "group_saml", extern_uid: randomUUID(), group_id_for_saml: group.body.id };
      const stored = async (id: number) => {
        const { db } = app.services;
        const user = await db.read.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
        const rows = await db.read.selectFrom("identities").select("provider").where("user_id", "=", id).execute();
        return [user.provisioned_by_group_id, ...rows.map(({ provider }) => provider)];
      };

      for (const payload of [saml, { ...saml, provider: "scim" }]) {
        const made = await app.post("/users", { token, payload: { ...newUser(), ...payload } });
        assert.equal(made.status, 201);
        assert.equal(made.headers["x-ignored-parameters"], "provider, extern_uid, group_id_for_saml");
        assert.deepEqual([made.body.identities, await stored(made.body.id)], [[], [null]]);
        const changed = await app.put(`/users/${made.body.id}`, { token, payload });
        assert.deepEqual([changed.status, await stored(made.body.id)], [200, [null]]);
        const query = new URLSearchParams({ ...payload, username: made.body.username });
        const found = await app.get(`/users?${query.toString()}`, { token });
        assert.equal(found.body.length, 1, "the filter is ignored");
        assert.equal(found.headers["x-ignored-parameters"], "group_id_for_saml, provider, extern_uid");
      }

      const ldap = { ...newUser(), provider: "ldapmain", extern_uid: randomUUID() };
      const made = await app.post("/users", { token, payload: ldap });
      assert.deepEqual(await stored(made.body.id), [null, "ldapmain"]);
    }));

  test("premium and ultimate: fields of Premium are shown and accepted", async () => {
    for (const plan of ["premium", "ultimate"]) {
      await withApp({ FAIRLEAD_PLAN: plan }, async (app, token) => {
        const given = { ...newUser(), auditor: true, shared_runners_minutes_limit: 7 };
        const { body } = await app.post("/users", { token, payload: given });
        assert.deepEqual(shown(body, PREMIUM_FIELDS), PREMIUM_FIELDS);
        assert.equal(body.is_auditor, true);
        assert.equal(body.shared_runners_minutes_limit, 7);
        assert.equal(body.plan, plan);
      });
    }
  });
});

describe("users in each offering", () => {
  test("scim_identities are shown only on the hosted offering", async () => {
    for (const [offering, expected] of [
      ["hosted", true],
      ["self-managed", false],
      ["dedicated", false],
      ["all", true],
    ] as const) {
      await withApp({ FAIRLEAD_OFFERING: offering }, async (app, token) => {
        const { body } = await app.get("/user", { token });
        assert.equal("scim_identities" in body, expected, offering);
      });
    }
  });

  test("hosted: GET /users shows administrators the same as other users", () =>
    withApp({ FAIRLEAD_OFFERING: "hosted" }, async (app, token) => {
      const user = await app.makeUser({ two_factor_enabled: true });
      const { body } = await app.get(`/users?username=${user.username}`, { token });
      assert.deepEqual(Object.keys(body[0]).toSorted(), [
        ...["avatar_url", "id", "locked", "name", "state", "username", "web_url"],
      ]);
      const filtered = await app.get(`/users?username=${user.username}&two_factor=disabled&admins=true`, { token });
      assert.equal(filtered.body.length, 1, "administrators' filters are ignored");
      const identity = await app.get(`/users?username=${user.username}&provider=x`, { token });
      assert.equal(identity.status, 200, "a parameter of another offering is ignored");
      assert.deepEqual(
        (await app.get(`/users?search=${user.email}`, { token })).body,
        [],
        "private addresses do not match",
      );
      const single = await app.get(`/users/${user.id}`, { token });
      assert.equal(single.body.email, user.email, "one user shows everything to administrators");
    }));
});
