import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { makeGroup } from "#domains/organization/groups/test-support.ts";
import { makeAccount, makeAccountToken } from "./test-support.ts";

const LIMIT = 3;

describe("limits of a group's service accounts", () => {
  let app: TestApp;
  let admin: TestUser;
  let owner: TestUser;
  before(async () => {
    app = await testApp({
      databaseUrl: await freshDatabase(),
      env: { FAIRLEAD_RATE_LIMITS: "on", FAIRLEAD_RATE_LIMIT_USER: "100" },
    });
    admin = await app.makeUser({ admin: true });
    owner = await app.makeUser();
    const payload = { group_service_accounts_limit: LIMIT };
    const { status, text } = await app.put("/application/settings", { token: admin.token, payload });
    assert.equal(status, 200, text);
  });
  after(() => app.close());

  const create = (groupId: number, by: TestUser) =>
    app.post(`/groups/${groupId}/service_accounts`, { token: by.token, payload: {} });

  test("Owners cannot exceed the limit, not even concurrently; administrators can", async () => {
    const { id } = await makeGroup(app, owner);
    const answers = await Promise.all(Array.from({ length: LIMIT + 3 }, () => create(id, owner)));
    const refused = answers.filter(({ status }) => status !== 201);
    assert.equal(answers.length - refused.length, LIMIT);
    for (const { status, body } of refused) {
      assert.equal(status, 403);
      const reason = "The group has 3 service accounts, the most that it may have; ask an administrator for more";
      assert.deepEqual(body, { message: `403 Forbidden - ${reason}` });
    }
    assert.equal((await create(id, admin)).status, 201);
    const gone = answers.find(({ status }) => status === 201)?.body.id;
    for (const account of [gone, answers.findLast(({ status }) => status === 201)?.body.id])
      await app.delete(`/groups/${id}/service_accounts/${account}`, { token: owner.token });
    assert.equal((await create(id, owner)).status, 201, "one that is removed no longer counts");
  });

  test("the accounts of one group share one rate limit; another group has its own", async () => {
    const tokenIn = async (groupId: number) => {
      const account = await makeAccount(app, owner, groupId);
      return (await makeAccountToken(app, owner, groupId, account.id)).token;
    };
    const [group, other] = [await makeGroup(app, owner), await makeGroup(app, owner)];
    const [first, second, elsewhere] = [await tokenIn(group.id), await tokenIn(group.id), await tokenIn(other.id)];
    const remaining = await until("four answers within one minute", async () => {
      const answers = [];
      for (const token of [first, second, first, elsewhere]) answers.push(await app.get("/version", { token }));
      const minutes = new Set(answers.map(({ headers }) => headers["ratelimit-reset"]));
      return minutes.size === 1 && answers.map(({ headers }) => Number(headers["ratelimit-remaining"]));
    });
    const [most = 0] = remaining;
    assert.deepEqual(remaining.slice(0, 3), [most, most - 1, most - 2]);
    assert.ok((remaining[3] ?? 0) > most - 2, "another group's account draws on another budget");
  });
});
