import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { join, makeGroup } from "#domains/organization/groups/test-support.ts";
import { type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { makeAccount, makeAccountToken } from "./test-support.ts";

type Ask = (token: string | undefined) => Promise<Reply>;

describe("access to the service accounts of a group", () => {
  let app: TestApp;
  let databaseUrl: string;
  let admin: TestUser;
  let owner: TestUser;
  let group: { id: number };
  before(async () => {
    databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
    admin = await app.makeUser({ admin: true });
    owner = await app.makeUser();
    group = await makeGroup(app, owner);
    await app.services.db.write.updateTable("settings").set({ group_service_accounts_limit: 0 }).execute();
  });
  after(() => app.close());

  /** Every request there is, each with an account and a token of its own. */
  async function everyRequest(of: TestApp, groupId = group.id): Promise<Map<string, Ask>> {
    const path = `/groups/${groupId}/service_accounts`;
    const own = async () => {
      const account = await makeAccount(app, owner, group.id);
      const { id } = await makeAccountToken(app, owner, group.id, account.id);
      return { account: `${path}/${account.id}`, tokens: `${path}/${account.id}/personal_access_tokens`, id };
    };
    const [read, changed, removed, listed, made, aliased, revoked, rotated] = await Promise.all(
      Array.from({ length: 8 }, own),
    );
    const payload = { name: "n", scopes: ["api"] };
    return new Map<string, Ask>([
      [`list ${read?.id}`, (token) => of.get(path, { token })],
      ["create", (token) => of.post(path, { token })],
      ["change", (token) => of.call("PATCH", changed?.account ?? "", { token, payload: { name: "New" } })],
      ["remove", (token) => of.delete(removed?.account ?? "", { token })],
      ["list tokens", (token) => of.get(listed?.tokens ?? "", { token })],
      ["create a token", (token) => of.post(made?.tokens ?? "", { token, payload })],
      ["create a token by the short path", (token) => of.post(aliased?.account ?? "", { token, payload })],
      ["revoke a token", (token) => of.delete(`${revoked?.tokens}/${revoked?.id}`, { token })],
      ["rotate a token", (token) => of.post(`${rotated?.tokens}/${rotated?.id}/rotate`, { token })],
    ]);
  }

  async function expect(asks: Map<string, Ask>, token: string | undefined, expected: number | "success") {
    for (const [what, ask] of asks) {
      const { status, text } = await ask(token);
      if (expected === "success") assert.ok(status < 300, `${what}: ${status} ${text}`);
      else assert.equal(status, expected, `${what}: ${text}`);
    }
  }

  test("only Owners and administrators have access; a hidden group is 404", async () => {
    const asks = await everyRequest(app);
    const stranger = await app.makeUser();
    await expect(asks, undefined, 401);
    await expect(asks, stranger.token, 404);
    for (const level of [10, 30, 40]) {
      const member = await app.makeUser();
      await join(app, group.id, member, level);
      await expect(asks, member.token, 403);
    }
    const reader = await app.makeToken(owner.id, { scopes: ["read_api", "read_user", "self_rotate"] });
    for (const [what, ask] of asks) {
      if (!what.startsWith("list")) assert.equal((await ask(reader.token)).status, 403, what);
    }
    const account = await makeAccount(app, owner, group.id);
    const { token } = await makeAccountToken(app, owner, group.id, account.id);
    await expect(asks, token, 404);
    await expect(asks, owner.token, "success");
    await expect(await everyRequest(app), admin.token, "success");
  });

  test("in a public group other callers get 403", async () => {
    const open = await makeGroup(app, owner, { visibility: "public" });
    const asks = await everyRequest(app, open.id);
    await expect(asks, (await app.makeUser()).token, 403);
    await expect(asks, undefined, 401);
  });

  test("a subgroup has none: 400 to its Owners, 403 to others", async () => {
    const below = await makeGroup(app, owner, { parent_id: group.id });
    const asks = await everyRequest(app, below.id);
    await expect(asks, owner.token, 400);
    await expect(asks, admin.token, 400);
    const member = await app.makeUser();
    await join(app, below.id, member, 40);
    await expect(asks, member.token, 403);
  });

  describe("Owners by offering and setting", () => {
    const setting = (service_accounts_by_owners: boolean | null) =>
      app.services.db.write.updateTable("settings").set({ service_accounts_by_owners }).execute();
    for (const [offering, by, expected] of [
      ["all", null, "success"],
      ["all", false, 403],
      ["self-managed", null, 403],
      ["self-managed", true, "success"],
      ["dedicated", null, 403],
      ["dedicated", true, "success"],
      ["hosted", null, "success"],
      ["hosted", false, "success"],
    ] as const) {
      test(`${offering}, setting ${by}`, async () => {
        const there = await testApp({ databaseUrl, env: { FAIRLEAD_OFFERING: offering } });
        try {
          const [asks, others] = [await everyRequest(there), await everyRequest(there)];
          await setting(by);
          await expect(asks, owner.token, expected);
          await expect(others, admin.token, "success");
          const instance = await there.get("/service_accounts", { token: admin.token });
          assert.equal(instance.status, offering === "hosted" ? 404 : 200);
        } finally {
          await setting(null);
          await there.close();
        }
      });
    }
  });

  test("the plan Free has those of groups, and not those of the instance", async () => {
    const free = await testApp({ databaseUrl, env: { FAIRLEAD_PLAN: "free" } });
    try {
      const asks = await everyRequest(free);
      await expect(asks, undefined, 401);
      await expect(asks, (await app.makeUser()).token, 404);
      await expect(asks, admin.token, "success");
      assert.equal((await free.get("/service_accounts", { token: admin.token })).status, 403);
    } finally {
      await free.close();
    }
  });

  test("only administrators manage accounts of the instance", async () => {
    const account = await makeAccount(app, owner, group.id);
    for (const [token, expected] of [
      [undefined, 401],
      [owner.token, 403],
    ] as const) {
      assert.equal((await app.get("/service_accounts", { token })).status, expected);
      assert.equal((await app.post("/service_accounts", { token })).status, expected);
      assert.equal((await app.call("PATCH", `/service_accounts/${account.id}`, { token })).status, expected);
    }
  });

  describe("accounts and tokens of others", () => {
    const name = { name: "n", scopes: ["api"] };
    const tokensOf = (id: number | string) => `/groups/${group.id}/service_accounts/${id}/personal_access_tokens`;

    test("an account of another group or of the instance is 404, a human 400", async () => {
      const elsewhere = await makeGroup(app, owner);
      const foreign = await makeAccount(app, owner, elsewhere.id);
      const instance = (await app.post("/service_accounts", { token: admin.token })).body as { id: number };
      for (const [id, status, message] of [
        [foreign.id, 404, "404 User Not Found"],
        [instance.id, 404, "404 User Not Found"],
        [999_999_999, 404, "404 User Not Found"],
        [owner.id, 400, "400 Bad request - User is not of type Service Account"],
      ] as const) {
        const path = `/groups/${group.id}/service_accounts/${id}`;
        for (const answer of [
          await app.call("PATCH", path, { token: owner.token, payload: { name: "x" } }),
          await app.delete(path, { token: owner.token }),
          await app.get(tokensOf(id), { token: owner.token }),
          await app.post(tokensOf(id), { token: owner.token, payload: name }),
          await app.post(path, { token: owner.token, payload: name }),
          await app.delete(`${tokensOf(id)}/1`, { token: owner.token }),
          await app.post(`${tokensOf(id)}/1/rotate`, { token: owner.token }),
        ]) {
          assert.equal(answer.status, status, answer.text);
          assert.deepEqual(answer.body, { message });
        }
      }
      const odd = await app.get(tokensOf("abc"), { token: owner.token });
      assert.deepEqual(odd.body, { error: "user_id is invalid" });
    });

    test("a token of another account, or of a human, is 404", async () => {
      const account = await makeAccount(app, owner, group.id);
      const other = await makeAccount(app, owner, group.id);
      const foreign = await makeAccountToken(app, owner, group.id, other.id);
      const hidden = await app.makeToken(account.id, { impersonation: true });
      for (const id of [foreign.id, owner.tokenId, admin.tokenId, hidden.id, 999_999_999]) {
        for (const { status, body } of [
          await app.delete(`${tokensOf(account.id)}/${id}`, { token: owner.token }),
          await app.post(`${tokensOf(account.id)}/${id}/rotate`, { token: owner.token }),
        ]) {
          assert.equal(status, 404);
          assert.deepEqual(body, { message: "404 Personal Access Token Not Found" });
        }
      }
      for (const { token } of [foreign, owner, admin, hidden]) {
        assert.equal((await app.get("/user", { token })).status, 200);
      }
    });
  });

  describe("nobody gains rights through an account", () => {
    test("an account has at most the rights of its creator, and that of an external Owner is external", async () => {
      const outsider = await app.makeUser({ external: true, can_create_group: false, projects_limit: 0 });
      await join(app, group.id, outsider, 50);
      const account = await makeAccount(app, outsider, group.id);
      const { body } = await app.get(`/users/${account.id}`, { token: admin.token });
      assert.deepEqual([body.external, body.can_create_group, body.projects_limit], [true, false, 0]);
      const narrow = await app.makeUser({ can_create_group: false, projects_limit: 3 });
      await join(app, group.id, narrow, 50);
      const own = await makeAccount(app, narrow, group.id);
      const seen = (await app.get(`/users/${own.id}`, { token: admin.token })).body;
      assert.deepEqual([seen.external, seen.can_create_group, seen.projects_limit], [false, false, 3]);
    });

    test("no token of it has an administrator's scopes, and unknown or many scopes are refused", async () => {
      const account = await makeAccount(app, owner, group.id);
      const create = (scopes: unknown, token: string) =>
        app.post(`/groups/${group.id}/service_accounts/${account.id}/personal_access_tokens`, {
          token,
          payload: { name: "n", scopes },
        });
      for (const token of [owner.token, admin.token]) {
        for (const scopes of [["sudo"], ["api", "admin_mode"], "api,sudo"]) {
          assert.equal((await create(scopes, token)).status, 400, String(scopes));
        }
      }
      assert.deepEqual((await create(["all"], owner.token)).body, { error: "scopes does not have a valid value" });
      assert.equal(
        (
          await create(
            Array.from({ length: 21 }, () => "api"),
            owner.token,
          )
        ).status,
        400,
      );
    });

    test("Owners cannot manage an account that became an administrator or auditor", async () => {
      for (const office of [{ admin: true }, { auditor: true }]) {
        const account = await makeAccount(app, owner, group.id);
        const made = await makeAccountToken(app, owner, group.id, account.id);
        await app.services.db.write.updateTable("users").set(office).where("id", "=", account.id).execute();
        const path = `/groups/${group.id}/service_accounts/${account.id}`;
        const payload = { name: "n", scopes: ["api"] };
        const asks: [string, Ask][] = [
          ["create", (token) => app.post(`${path}/personal_access_tokens`, { token, payload })],
          ["alias", (token) => app.post(path, { token, payload })],
          ["change", (token) => app.call("PATCH", path, { token, payload: { name: "x" } })],
          ["rotate", (token) => app.post(`${path}/personal_access_tokens/${made.id}/rotate`, { token })],
          ["remove", (token) => app.delete(path, { token })],
        ];
        await expect(new Map(asks), owner.token, 403);
        assert.equal((await app.get("/user", { token: made.token })).status, 200);
        await expect(new Map(asks), admin.token, "success");
      }
    });
  });
});
