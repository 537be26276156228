import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Value from "typebox/value";
import { noreplyDomain } from "#lib/noreply.ts";
import { confirmAddress } from "#domains/identity/accounts/actions.ts";
import { makeGroup, word } from "#domains/organization/groups/test-support.ts";
import type { Link } from "#domains/foundation/mails/links.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { ServiceAccount, ServiceAccountSummary } from "./entity.ts";
import {
  mailsFor,
  type Made,
  makeAccount,
  makeAccountToken,
} from "#domains/organization/group-service-accounts/test-support.ts";

describe("service accounts", () => {
  let app: TestApp;
  let admin: TestUser;
  let owner: TestUser;
  let group: { id: number; path: string };
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
    owner = await app.makeUser();
    group = await makeGroup(app, owner);
  });
  after(() => app.close());

  const confirmation = (email_confirmation: "off" | "hard") =>
    app.call("PUT", "/application/settings", { token: admin.token, payload: { email_confirmation } });
  const rowOf = (id: number) =>
    app.services.db.write.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirst();
  const patch = (path: string, payload: object, as = admin) => app.call("PATCH", path, { token: as.token, payload });

  /** Both kinds, with the paths that create and change them, and the caller. */
  const kinds = [
    { what: "of the instance", by: () => admin, path: () => "/service_accounts", prefix: () => "service_account_" },
    {
      ...{ what: "of a group", by: () => owner, path: () => `/groups/${group.id}/service_accounts` },
      prefix: () => `service_account_group_${group.id}_`,
    },
  ];

  for (const { what, by, path, prefix } of kinds) {
    describe(what, () => {
      const create = (payload?: object) => app.post(path(), { token: by().token, ...(payload && { payload }) });
      const made = async (payload?: object): Promise<Made> => {
        const { status, body, text } = await create(payload);
        assert.equal(status, 201, text);
        assert.deepEqual([...Value.Errors(ServiceAccount, body)], []);
        return body;
      };

      test("are created with defaults if no field is sent", async () => {
        const { id, username, name, email } = await made();
        assert.equal(name, "Service account user");
        assert.match(username, new RegExp(`^${prefix()}[0-9a-f]{32}$`));
        assert.equal(email, `${username}@${noreplyDomain(undefined)}`);
        const row = await rowOf(id);
        assert.equal(row?.user_type, "service_account");
        assert.equal(row?.password_digest, null);
        assert.equal(row?.private_profile, false);
        assert.equal(row?.state, "active");
        assert.equal(row?.created_by_id, by().id);
        assert.notEqual(row?.confirmed_at, null);
        assert.equal(row?.provisioned_by_group_id, what === "of a group" ? group.id : null);
        const { body } = await app.get(`/users/${id}`, { token: admin.token });
        assert.equal(body.bot, true);
        assert.equal(body.is_admin, false);
        const members = await app.services.db.read
          .selectFrom("members")
          .select("id")
          .where("user_id", "=", id)
          .execute();
        assert.deepEqual(members, [], "a member of nothing");
      });

      test("blank values count as absent; the address is made from the generated name", async () => {
        const blank = await made({ name: " ", username: "", email: "" });
        assert.equal(blank.name, "Service account user");
        const username = word("robot");
        const named = await made({ name: "Robot", username });
        assert.equal(named.name, "Robot");
        assert.equal(named.username, username);
        assert.match(named.email, new RegExp(`^${prefix()}[0-9a-f]{32}@noreply\\.`));
      });

      test("a taken username or address is 400", async () => {
        const { username, email } = await app.makeUser();
        const text = "400 Bad request - ";
        for (const [payload, message] of [
          [{ username: username.toUpperCase() }, `${text}Username has already been taken`],
          [{ email: email.toUpperCase() }, `${text}Email has already been taken`],
          [{ username, email }, `${text}Username has already been taken and Email has already been taken`],
          [{ username: group.path }, `${text}Username has already been taken`],
        ] as const) {
          const { status, body } = await create(payload);
          assert.equal(status, 400);
          assert.deepEqual(body, { message });
        }
        const own = await made();
        const changed = await patch(`${path()}/${own.id}`, { username }, by());
        assert.equal(changed.status, 400);
        assert.deepEqual(changed.body, { message: "Username has already been taken" });
        const moved = await patch(`${path()}/${own.id}`, { email }, by());
        assert.deepEqual(moved.body, { message: "Email has already been taken" });
        const claimed = `${word("claimed")}@example.com`;
        await app.services.db.write.insertInto("emails").values({ user_id: admin.id, email: claimed }).execute();
        for (const answer of [
          await create({ email: claimed }),
          await patch(`${path()}/${own.id}`, { email: claimed }, by()),
        ]) {
          assert.equal(answer.status, 400);
          assert.deepEqual(answer.body, { message: { email: ["has already been taken"] } });
        }
      });

      test("an invalid username or address is reported by field", async () => {
        assert.ok("username" in (await create({ username: "no spaces" })).body.message);
        assert.deepEqual((await create({ email: "nowhere" })).body, { message: { email: ["is invalid"] } });
        const reserved = await create({ email: `mine@${noreplyDomain(undefined)}` });
        assert.equal(reserved.status, 400);
        assert.ok("email" in reserved.body.message, "addresses that the server assigns cannot be chosen");
      });

      test("a chosen address must be confirmed, unless an administrator sets it and the instance requires no confirmation", async () => {
        const chosen = `${word("free")}@example.com`;
        const free = await made({ email: chosen });
        const isTrusted = by() === admin;
        assert.equal((await rowOf(free.id))?.confirmed_at !== null, isTrusted);
        assert.deepEqual(
          await mailsFor(app, free.id),
          isTrusted ? [] : [{ kind: "confirm_email", email: chosen }],
          "an Owner has not proved that the address is theirs",
        );
        await confirmation("hard");
        try {
          await until(
            "the setting counts",
            async () => (await app.services.settings.current()).email_confirmation === "hard",
          );
          const generated = await made();
          assert.notEqual((await rowOf(generated.id))?.confirmed_at, null);
          const email = `${word("wait")}@example.com`;
          const waiting = await made({ email });
          assert.equal(waiting.email, email);
          assert.equal(waiting.unconfirmed_email, email);
          assert.equal((await rowOf(waiting.id))?.confirmed_at, null);
          assert.deepEqual(await mailsFor(app, waiting.id), [{ kind: "confirm_email", email }]);
          const { token } = await app.makeToken(waiting.id);
          assert.equal((await app.get("/user", { token })).status, 403);

          const other = `${word("later")}@example.com`;
          const { status, body } = await patch(`${path()}/${generated.id}`, { email: other }, by());
          assert.equal(status, 200);
          assert.equal(body.email, generated.email);
          assert.equal(body.unconfirmed_email, other);
          assert.deepEqual(await mailsFor(app, generated.id), [{ kind: "confirm_email", email: other }]);
          await app.services.db.transaction((tx) =>
            confirmAddress(tx, { user_id: generated.id, email: other } as Link),
          );
          const { body: confirmed } = await patch(`${path()}/${generated.id}`, {}, by());
          assert.deepEqual(confirmed, { ...generated, email: other });
        } finally {
          await confirmation("off");
          await until(
            "the setting counts",
            async () => (await app.services.settings.current()).email_confirmation === "off",
          );
        }
        const at = `${word("now")}@example.com`;
        const { body } = await patch(`${path()}/${free.id}`, { email: at }, by());
        assert.deepEqual(body, isTrusted ? { ...free, email: at } : { ...free, unconfirmed_email: at });
      });

      test("name and username can be changed; unknown, blank and missing fields are ignored", async () => {
        const account = await made();
        for (const payload of [{}, { name: "", username: " ", email: "" }]) {
          const { status, body } = await patch(`${path()}/${account.id}`, payload, by());
          assert.equal(status, 200);
          assert.deepEqual(body, account);
        }
        const username = word("renamed");
        const { body } = await patch(
          `${path()}/${account.id}`,
          { name: "New", username, admin: true, state: "x" },
          by(),
        );
        assert.deepEqual(body, { ...account, name: "New", username });
        const row = await rowOf(account.id);
        assert.equal(row?.admin, false);
        const space = await app.services.db.read
          .selectFrom("namespaces")
          .select("path")
          .where("id", "=", row?.namespace_id ?? 0)
          .executeTakeFirst();
        assert.equal(space?.path, username);
      });

      test("are listed by id or username, with offset or keyset paging", async () => {
        for (let count = 0; count < 3; count++) await made();
        const list = async (query: string) =>
          (await app.get(`${path()}?${query}`, { token: by().token })).body as Made[];
        const all = await list("per_page=100");
        assert.ok(all.length >= 3);
        const schema = what === "of a group" ? ServiceAccount : ServiceAccountSummary;
        for (const item of all) assert.deepEqual([...Value.Errors(schema, item)], []);
        const sorted = (items: Made[], key: "id" | "username") =>
          items.toSorted((one, other) => (one[key] < other[key] ? -1 : 1));
        assert.deepEqual(all, sorted(all, "id").toReversed());
        assert.deepEqual(await list("per_page=100&sort=asc"), sorted(all, "id"));
        const names = (items: Made[]) => items.map(({ username }) => username);
        const byName = await list("per_page=100&order_by=username&sort=asc");
        assert.deepEqual(new Set(names(byName)), new Set(names(all)));
        const first = await app.get(`${path()}?pagination=keyset&order_by=username&sort=asc&per_page=2`, {
          token: by().token,
        });
        assert.deepEqual(first.body, byName.slice(0, 2));
        const next = /<http:\/\/localhost([^>]+)>; rel="next"/.exec(first.headers["link"] ?? "")?.[1] ?? "";
        assert.deepEqual((await app.get(next, { token: by().token })).body, byName.slice(2, 4));
        for (const query of ["order_by=name", "sort=up"]) {
          assert.equal((await app.get(`${path()}?${query}`, { token: by().token })).status, 400);
        }
      });
    });
  }

  test("the list of the instance includes accounts of groups, without addresses", async () => {
    const account = await makeAccount(app, owner, group.id);
    const { body } = await app.get("/service_accounts?per_page=1", { token: admin.token });
    assert.deepEqual(body, [{ id: account.id, username: account.username, name: account.name }]);
  });

  test("PATCH /service_accounts/:id is 404 for an unknown user and 400 for one of another type", async () => {
    const missing = await patch("/service_accounts/999999999", {});
    assert.equal(missing.status, 404);
    assert.deepEqual(missing.body, { message: "404 Not found" });
    const human = await patch(`/service_accounts/${owner.id}`, { name: "x" });
    assert.equal(human.status, 400);
    assert.deepEqual(human.body, { message: "User is not a service account" });
    assert.equal((await patch("/service_accounts/abc", {})).status, 400);
    const account = await makeAccount(app, owner, group.id);
    assert.equal((await patch(`/service_accounts/${account.id}`, { name: "Any" })).body.name, "Any");
  });

  test("an address in a domain that the group has verified needs no confirmation", async () => {
    await app.services.db.write
      .insertInto("verified_domains")
      .values(
        [
          ...[
            { group_id: group.id, domain: "ours.example", verified_at: new Date().toISOString(), verified_by: "dns" },
          ],
          { group_id: group.id, domain: "asked.example", verified_at: null, verified_by: null },
        ].map((domain) => ({ ...domain, verification_code: "x" }) as never),
      )
      .execute();
    await confirmation("hard");
    try {
      await until(
        "the setting counts",
        async () => (await app.services.settings.current()).email_confirmation === "hard",
      );
      const account = await makeAccount(app, owner, group.id, { email: `${word("a")}@Ours.Example` });
      assert.notEqual((await rowOf(account.id))?.confirmed_at, null);
      const asked = await makeAccount(app, owner, group.id, { email: `${word("b")}@asked.example` });
      assert.equal((await rowOf(asked.id))?.confirmed_at, null);
      const email = `${word("c")}@ours.example`;
      const moved = await patch(`/groups/${group.id}/service_accounts/${asked.id}`, { email }, owner);
      const { unconfirmed_email: _, ...confirmed } = asked;
      assert.deepEqual(moved.body, { ...confirmed, email });
      const elsewhere = await makeGroup(app, owner);
      const other = await makeAccount(app, owner, elsewhere.id, { email: `${word("d")}@ours.example` });
      assert.equal((await rowOf(other.id))?.confirmed_at, null, "another group's domain proves nothing");
    } finally {
      await confirmation("off");
      await until(
        "the setting counts",
        async () => (await app.services.settings.current()).email_confirmation === "off",
      );
    }
  });

  test("nobody can sign in as a service account, even with a password", async () => {
    const { id, username } = await makeAccount(app, owner, group.id);
    const password = "Nine-Knots-And-A-Splice";
    const digest = await app.services.passwords.hash(password);
    await app.services.db.write.updateTable("users").set({ password_digest: digest }).where("id", "=", id).execute();
    assert.equal((await app.post("/session", { payload: { login: username, password } })).status, 401);
  });

  test("deleting one revokes its tokens at once and hides it", async () => {
    const account = await makeAccount(app, owner, group.id);
    const { token } = await makeAccountToken(app, owner, group.id, account.id);
    const path = `/groups/${group.id}/service_accounts/${account.id}`;
    assert.equal((await app.delete(path, { token: owner.token })).status, 204);
    assert.equal((await app.get("/user", { token })).status, 401);
    assert.equal((await app.delete(path, { token: owner.token })).status, 404);
    assert.equal((await patch(path, { name: "x" }, owner)).status, 404);
    assert.equal((await app.get(`/users/${account.id}`, { token: admin.token })).status, 404);
    const { body } = await app.get(`/groups/${group.id}/service_accounts?per_page=100`, { token: owner.token });
    assert.ok(!body.some(({ id }: Made) => id === account.id));
  });

  test("a sole Owner of a group is deleted only with hard_delete", async () => {
    const account = await makeAccount(app, owner, group.id);
    const { token } = await makeAccountToken(app, owner, group.id, account.id);
    const made = await app.post("/groups", { token, payload: { name: "its own", path: word() } });
    assert.equal(made.status, 201);
    const path = `/groups/${group.id}/service_accounts/${account.id}`;
    const refused = await app.delete(path, { token: owner.token });
    assert.equal(refused.status, 409);
    assert.deepEqual(refused.body, { message: "User cannot be removed while is the sole-owner of a group" });
    assert.equal((await app.get("/user", { token })).status, 200);
    assert.equal((await app.delete(`${path}?hard_delete=true`, { token: owner.token })).status, 204);
  });

  test("changes are in the audit log of the group, without secrets", async () => {
    const account = await makeAccount(app, owner, group.id);
    const { token } = await makeAccountToken(app, owner, group.id, account.id);
    const { body, text } = await app.get(`/groups/${group.id}/audit_events`, { token: owner.token });
    const events = body.slice(0, 2).map(({ event_name }: { event_name: string }) => event_name);
    assert.deepEqual(events, ["personal_access_token_created", "service_account_created"]);
    assert.ok(!text.includes(token));
  });
});
