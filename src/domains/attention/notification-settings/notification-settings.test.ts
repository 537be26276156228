import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { type LinkApp, linkApp } from "#domains/planning/links/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

describe("notification settings", () => {
  let links: LinkApp;
  before(async () => {
    links = await linkApp();
  });
  after(() => links.app.close());

  const read = async ({ token }: TestUser, path = "") => {
    const { status, body, text } = await links.app.get(`${path}/notification_settings`, { token });
    assert.equal(status, 200, text);
    return body;
  };
  const set = ({ token }: TestUser, payload: object, path = "") =>
    links.app.put(`${path}/notification_settings`, { token, payload });

  test("are participating at the primary address, until somebody chooses", async () => {
    const user = await links.app.makeUser();
    assert.deepEqual(await read(user), { level: "participating", notification_email: user.email });
    for (const level of ["disabled", "mention", "watch", "participating"]) {
      const { status, body } = await set(user, { level });
      assert.deepEqual([status, body], [200, { level, notification_email: user.email }]);
      assert.deepEqual(await read(user), body);
    }
    assert.equal((await links.app.get("/notification_settings")).status, 401);
  });

  test("name a confirmed address of one's own, and go back to the primary one when it is gone", async () => {
    const [user, other] = [await links.app.makeUser(), await links.app.makeUser()];
    const { write } = links.app.services.db;
    const add = (email: string, confirmed_at: string | null) =>
      write.insertInto("emails").values({ user_id: user.id, email, confirmed_at }).execute();
    const second = `Second-${user.email}`;
    await add(second, new Date().toISOString());
    await add(`unconfirmed-${user.email}`, null);
    for (const notification_email of [`unconfirmed-${user.email}`, other.email, "nobody@example.com"]) {
      const { status, body } = await set(user, { notification_email });
      assert.deepEqual([status, body], [400, { message: { notification_email: ["is not an email you own"] } }]);
    }
    await set(user, { level: "watch" });
    const { body } = await set(user, { notification_email: second.toUpperCase() });
    assert.deepEqual(body, { level: "watch", notification_email: second });
    assert.equal((await set(user, { notification_email: user.email })).body.notification_email, user.email);
    await set(user, { notification_email: second });
    assert.equal((await set(user, { notification_email: "" })).body.notification_email, user.email);
    await set(user, { notification_email: second });
    await write.deleteFrom("emails").where("user_id", "=", user.id).execute();
    assert.deepEqual(await read(user), { level: "watch", notification_email: user.email });
  });

  test("of a group and a project are one's own, and global until they are set", async () => {
    const [user, other] = [await links.app.makeUser(), await links.app.makeUser()];
    const group = await links.group(user, "guest");
    const project = await links.insert.project(group, { visibility: VISIBILITIES.private });
    await links.insert.member(other, { group_id: group }, "guest");
    for (const path of [`/groups/${group}`, `/projects/${project}`]) {
      assert.deepEqual(await read(user, path), { level: "global" });
      const { status, body } = await set(user, { level: "watch" }, path);
      assert.deepEqual([status, body], [200, { level: "watch" }]);
      assert.deepEqual((await set(user, {}, path)).body, { level: "watch" });
      assert.deepEqual(await read(other, path), { level: "global" });
      await set(user, { level: "mention" }, path);
      assert.deepEqual(await read(user, path), { level: "mention" });
      assert.deepEqual((await set(user, { level: "global" }, path)).body, { level: "global" });
    }
    assert.deepEqual((await read(user)).level, "participating");
  });

  test("know no level of single events, and none above everywhere", async () => {
    const user = await links.app.makeUser();
    const group = await links.group(user, "guest");
    for (const [level, path] of [
      ["custom", ""],
      ["global", ""],
      ["custom", `/groups/${group}`],
      ["loud", `/groups/${group}`],
    ] as const) {
      const { status, body } = await set(user, { level }, path);
      assert.deepEqual([status, body], [400, { error: "level does not have a valid value" }], level);
    }
    const { headers, status } = await set(user, { level: "watch", new_note: true });
    assert.deepEqual([status, headers["x-ignored-parameters"]], [200, "new_note"]);
  });

  test("set by many at once are those of one of them", async () => {
    const user = await links.app.makeUser();
    const path = `/groups/${await links.group(user, "guest")}`;
    const replies = await Promise.all(
      ["watch", "global", "mention", "disabled", "watch", "global"].flatMap((level) => [
        set(user, { level }, path),
        set(user, { level: level === "global" ? "watch" : level }),
      ]),
    );
    assert.deepEqual(
      replies.filter(({ status }) => status !== 200).map(({ text }) => text),
      [],
    );
  });
});
