import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { dayFromNow, type RowInserter, rowInserter } from "./test-support.ts";

const STAY = /^403 Forbidden - the last Owner cannot leave, .+; make another active member an Owner .+ first$/;

describe("the last Owner of a group", () => {
  let app: TestApp;
  let insert: RowInserter;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
  });
  after(() => app.close());

  async function groupOf(...owners: TestUser[]) {
    const group_id = await insert.group();
    for (const owner of owners) await insert.member(owner, { group_id }, "owner");
    return { group_id, address: (user: TestUser) => `/groups/${group_id}/members/${user.id}` };
  }

  async function ownersOf(groupId: number): Promise<number[]> {
    const { rows } = await sql<{ user_id: number }>`
      select user_id from members where group_id = ${groupId} and access_level = 50`.execute(app.services.db.write);
    return rows.map(({ user_id }) => user_id);
  }

  async function assertStays(owner: TestUser, address: string, tokens: readonly string[]) {
    for (const token of tokens) {
      const left = await app.delete(address, { token });
      assert.equal(left.status, 403);
      assert.match(left.body.message, STAY);
      const lowered = await app.put(address, { token, payload: { access_level: 40 } });
      assert.match(lowered.body.message, STAY);
      const ending = await app.put(address, { token, payload: { access_level: 50, expires_at: dayFromNow(9) } });
      assert.match(ending.body.message, STAY);
    }
    const same = await app.put(address, { token: owner.token, payload: { access_level: 50 } });
    assert.equal(same.status, 200);
  }

  test("cannot leave, be removed, be demoted or get an expiry date, whoever asks", async () => {
    const [owner, admin] = await Promise.all([app.makeUser(), app.makeUser({ admin: true })]);
    const { address } = await groupOf(owner);
    await assertStays(owner, address(owner), [owner.token, admin.token]);
  });

  test("is the last if all others are blocked or have an expiry date", async () => {
    const [owner, blocked, leaving, gone, maintainer] = await Promise.all([
      app.makeUser(),
      app.makeUser({ state: "blocked" }),
      app.makeUser(),
      app.makeUser(),
      app.makeUser(),
    ]);
    const { group_id, address } = await groupOf(owner, blocked);
    await insert.member(leaving, { group_id }, "owner", 5);
    await insert.member(gone, { group_id }, "owner", 0);
    await insert.member(maintainer, { group_id }, "maintainer");
    await assertStays(owner, address(owner), [owner.token, leaving.token]);
    assert.equal((await app.delete(address(blocked), { token: owner.token })).status, 204);
    assert.equal((await app.delete(address(leaving), { token: leaving.token })).status, 204);
  });

  test("may leave if there is another Owner, here or in a group above", async () => {
    const [above, owner, other] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
    const { group_id: parent } = await groupOf(above);
    const group_id = await insert.group(parent);
    await insert.member(owner, { group_id }, "owner");
    const left = await app.delete(`/groups/${group_id}/members/${owner.id}`, { token: owner.token });
    assert.equal(left.status, 204);
    const two = await groupOf(owner, other);
    assert.equal((await app.delete(two.address(owner), { token: owner.token })).status, 204);
    await assertStays(other, two.address(other), [other.token]);
  });

  for (const [how, change] of [
    ["leave", (address: string, token: string) => app.delete(address, { token })],
    ["step down", (address: string, token: string) => app.put(address, { token, payload: { access_level: 30 } })],
    [
      "set an end",
      (address: string, token: string) =>
        app.put(address, { token, payload: { access_level: 50, expires_at: dayFromNow(9) } }),
    ],
  ] as const) {
    test(`is kept when all ${how} at once`, async () => {
      const owners = await Promise.all(Array.from({ length: 3 }, () => app.makeUser()));
      for (let round = 0; round < 10; round++) {
        const { group_id, address } = await groupOf(...owners);
        const answers = await Promise.all(owners.map((owner) => change(address(owner), owner.token)));
        const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
        assert.equal(statuses.filter((status) => status === 403).length, 1, String(statuses));
        assert.equal(statuses.filter((status) => status < 300).length, 2, String(statuses));
        const left = await ownersOf(group_id);
        assert.equal(left.length, how === "set an end" ? 3 : 1);
      }
    });
  }

  test("is kept when two remove each other at once", async () => {
    const [one, other] = await Promise.all([app.makeUser(), app.makeUser()]);
    for (let round = 0; round < 10; round++) {
      const { group_id, address } = await groupOf(one, other);
      await Promise.all([
        app.delete(address(one), { token: other.token }),
        app.delete(address(other), { token: one.token }),
      ]);
      assert.equal((await ownersOf(group_id)).length, 1);
    }
  });
});
