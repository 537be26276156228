import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { makeGroup } from "#domains/organization/groups/test-support.ts";
import { jobs } from "#domains/index.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { type Made, makeAccount, makeAccountToken, type MadeToken } from "./test-support.ts";

describe("service accounts of a deleted group", () => {
  let app: TestApp;
  let other: TestApp;
  let owner: TestUser;
  let group: { id: number; full_path: string };
  let account: Made;
  let made: MadeToken;
  before(async () => {
    const databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
    other = await testApp({ databaseUrl });
    owner = await app.makeUser();
    group = await makeGroup(app, owner);
    account = await makeAccount(app, owner, group.id);
    made = await makeAccountToken(app, owner, group.id, account.id);
  });
  after(async () => {
    await other.close();
    await app.close();
  });

  const status = async () => (await other.get("/user", { token: made.token })).status;

  test("are refused by every process while the group is marked, and work again once it is restored", async () => {
    for (let round = 0; round < 3; round++) {
      assert.equal(await status(), 200);
      assert.equal((await app.delete(`/groups/${group.id}`, { token: owner.token })).status, 202);
      for (const process of [app, other]) {
        for (const path of ["/user", "/projects", "/personal_access_tokens/self"]) {
          const { status, body } = await process.get(path, { token: made.token });
          assert.equal(status, 401, path);
          assert.equal(body.error, "invalid_token");
        }
      }
      assert.equal((await app.post(`/groups/${group.id}/restore`, { token: owner.token })).status, 201);
      assert.equal(await status(), 200);
    }
  });

  test("a token used on a rotate path meanwhile revokes nothing", async () => {
    const self = await app.post("/personal_access_tokens/self/rotate", { token: made.token });
    made = self.body;
    await app.delete(`/groups/${group.id}`, { token: owner.token });
    assert.equal((await app.post("/personal_access_tokens/self/rotate", { token: made.token })).status, 401);
    await app.post(`/groups/${group.id}/restore`, { token: owner.token });
    assert.equal(await status(), 200);
  });

  test("belong to the new top-level group after a move, and are deleted with it", async () => {
    const above = await makeGroup(app, owner);
    const moving = await makeGroup(app, owner);
    const { id } = await makeAccount(app, owner, moving.id);
    const { token } = await makeAccountToken(app, owner, moving.id, id);
    const below = await makeGroup(app, owner, { parent_id: above.id });
    const moved = await app.post(`/groups/${moving.id}/transfer`, {
      token: owner.token,
      payload: { group_id: below.id },
    });
    assert.equal(moved.status, 201);
    const { body } = await app.get(`/groups/${above.id}/service_accounts`, { token: owner.token });
    assert.deepEqual(
      body.map((found: Made) => found.id),
      [id],
    );
    assert.equal((await other.get("/user", { token })).status, 200);
    await app.delete(`/groups/${above.id}`, { token: owner.token });
    assert.equal((await other.get("/user", { token })).status, 401);
  });

  test("people whom the group provisioned keep their access", async () => {
    const person = await app.makeUser({ provisioned_by_group_id: group.id });
    await app.delete(`/groups/${group.id}`, { token: owner.token });
    assert.equal((await other.get("/user", { token: person.token })).status, 200);
    await app.post(`/groups/${group.id}/restore`, { token: owner.token });
  });

  test("no account is created in a marked group", async () => {
    await app.delete(`/groups/${group.id}`, { token: owner.token });
    const refused = await app.post(`/groups/${group.id}/service_accounts`, { token: owner.token });
    assert.equal(refused.status, 403);
    await app.post(`/groups/${group.id}/restore`, { token: owner.token });
  });

  test("are deleted with the group", async () => {
    await app.delete(`/groups/${group.id}`, { token: owner.token });
    const path = encodeURIComponent(group.full_path);
    const now = await app.delete(`/groups/${group.id}?permanently_remove=true&full_path=${path}`, {
      token: owner.token,
    });
    assert.equal(now.status, 202);
    const worker = await runWorker(app.services, jobs, { queues: ["bulk"] });
    try {
      await until("the account is gone", async () => {
        assert.equal(await status(), 401);
        const { rows } = await sql`select from users where id = ${account.id}`.execute(app.services.db.write);
        return rows.length === 0;
      });
    } finally {
      await worker.stop();
    }
    const { rows } = await sql`select from users where user_type = 'service_account' and state = 'active'
      and provisioned_by_group_id is null`.execute(app.services.db.write);
    assert.deepEqual(rows, [], "no account of a group becomes one of the instance");
  });
});
