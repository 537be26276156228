import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { type IssueProject, type IssuesApp, issuesApp } from "./test-support.ts";

describe("who sees issues", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp(await freshDatabase());
  });
  after(() => on.app.close());

  const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);

  /** The titles that somebody sees, the same by every way of asking. */
  async function seen(at: IssueProject, user: TestUser | undefined): Promise<string[]> {
    const titles = (await on.titles(`${at.issues}?sort=asc`, user)).toSorted();
    const { statistics } = await on.get(`/projects/${at.id}/issues_statistics`, user);
    assert.equal(statistics.counts.all, titles.length);
    assert.deepEqual((await on.titles(`/groups/${at.groupId}/issues`, user)).toSorted(), titles);
    if (!user) return titles;
    const everywhere = await on.get("/issues?scope=all&per_page=100", user);
    const own = everywhere.filter(({ project_id }: { project_id: number }) => project_id === at.id);
    assert.deepEqual(own.map(({ title }: { title: string }) => title).toSorted(), titles);
    return titles;
  }

  test("a confidential issue is for those who manage issues, its author and its assignees", async () => {
    const at = await on.publicProject();
    const [author, assignee, stranger] = [await on.app.makeUser(), await on.app.makeUser(), await on.app.makeUser()];
    await on.create(at, { title: "open" });
    const { iid } = await on.create(at, { title: "secret", confidential: true }, author);
    await on.put(at, iid, { assignee_ids: [assignee.id] }, at.user);
    const reporter = await on.member(at, "reporter");
    const guest = await on.member(at, "guest");
    const admin = await on.app.makeUser({ admin: true });
    for (const user of [at.user, author, assignee, reporter, admin]) {
      assert.deepEqual(await seen(at, user), ["open", "secret"]);
      assert.equal((await on.get(`${at.issues}/${iid}`, user)).title, "secret");
    }
    for (const user of [stranger, guest, undefined]) {
      assert.deepEqual(await seen(at, user), ["open"]);
      for (const below of ["", "/participants"]) {
        const hidden = await on.app.get(`${at.issues}/${iid}${below}`, { token: user?.token });
        const none = await on.app.get(`${at.issues}/${iid + 1000}${below}`, { token: user?.token });
        assert.deepEqual([hidden.status, hidden.text], [404, none.text]);
      }
      if (!user) continue;
      const payload = { title: "x" };
      const hidden = await on.app.put(`${at.issues}/${iid}`, { token: user.token, payload });
      const none = await on.app.put(`${at.issues}/${iid + 1000}`, { token: user.token, payload });
      assert.deepEqual([hidden.status, hidden.text], [404, none.text]);
      const deletion = async (number: number) => on.app.delete(`${at.issues}/${number}`, { token: user.token });
      assert.equal((await deletion(iid)).text, (await deletion(iid + 1000)).text);
    }
  });

  test("issues for members only are hidden from others in every list", async () => {
    const at = await on.publicProject("planner", { issues_access_level: "private" });
    await on.create(at, { title: "ours" });
    const stranger = await on.app.makeUser();
    assert.deepEqual(await seen(at, at.user), ["ours"]);
    assert.deepEqual(await seen(at, await on.member(at, "guest")), ["ours"]);
    for (const path of [at.issues, `${at.issues}/1`, `/projects/${at.id}/issues_statistics`]) {
      assert.equal((await on.app.get(path, { token: stranger.token })).status, 403);
    }
    assert.deepEqual(await on.titles(`/groups/${at.groupId}/issues`, stranger), []);
    assert.equal((await on.post(at, { title: "x" }, stranger)).status, 403);
  });

  test("with the feature off nobody sees or creates issues, administrators included", async () => {
    const at = await on.publicProject();
    const { id } = await on.create(at);
    await on.app.services.db.write
      .updateTable("projects")
      .set({ issues_access_level: "disabled" })
      .where("id", "=", at.id)
      .execute();
    const admin = await on.app.makeUser({ admin: true });
    for (const user of [at.user, admin]) {
      assert.equal((await on.app.get(at.issues, { token: user.token })).status, 403);
      assert.equal((await on.post(at, { title: "x" }, user)).status, 403);
      assert.deepEqual(await on.titles(`/groups/${at.groupId}/issues`, user), []);
      assert.deepEqual(await on.titles("/issues", user), []);
    }
    assert.equal((await on.app.get(`/issues/${id}`, { token: admin.token })).status, 404);
  });

  test("an archived project is read-only, and left out of its group's list unless asked for", async () => {
    const at = await on.project("owner");
    const { iid } = await on.create(at, { title: "old" });
    await on.app.services.db.write.updateTable("projects").set({ archived: true }).where("id", "=", at.id).execute();
    assert.deepEqual(await on.titles(at.issues, at.user), ["old"]);
    assert.deepEqual(await on.titles(`/groups/${at.groupId}/issues`, at.user), []);
    assert.deepEqual(await on.titles(`/groups/${at.groupId}/issues?non_archived=false`, at.user), ["old"]);
    const { token } = at.user;
    assert.equal((await on.post(at, { title: "x" }, at.user)).status, 403);
    assert.equal((await on.put(at, iid, { title: "x" }, at.user)).status, 403);
    assert.equal((await on.app.delete(`${at.issues}/${iid}`, { token })).status, 403);
  });

  test("administrators find an issue by its id, others do not", async () => {
    const at = await on.project();
    const { id } = await on.create(at, { title: "any" });
    const admin = await on.app.makeUser({ admin: true });
    assert.equal((await on.get(`/issues/${id}`, admin)).title, "any");
    assert.equal((await on.app.get(`/issues/${id}`, { token: at.user.token })).status, 403);
  });

  test("participants are the author, the assignees and those who commented, for those who see the comment", async () => {
    const at = await on.publicProject();
    const author = await on.app.makeUser();
    const [assignee, insider] = [await on.member(at, "guest"), await on.member(at, "planner")];
    const guest = await on.app.makeUser();
    const { iid } = await on.create(at, {}, author);
    await on.put(at, iid, { assignee_ids: [assignee.id] }, at.user);
    const comment = ({ token }: TestUser, payload: object) =>
      on.app.post(`${at.issues}/${iid}/notes`, { token, payload: { body: "x", ...payload } });
    assert.equal((await comment(guest, {})).status, 201);
    assert.equal((await comment(insider, { internal: true })).status, 201);
    const people = async (as?: TestUser) => {
      const listed: { id: number }[] = await on.get(`${at.issues}/${iid}/participants`, as);
      return listed.map(({ id }) => id);
    };
    const open = [author.id, assignee.id, guest.id];
    assert.deepEqual(await people(guest), sorted(open));
    assert.deepEqual(await people(insider), sorted([...open, insider.id]));
  });

  test("a project counts the open issues that the caller sees because of their role", async () => {
    const at = await on.publicProject();
    const stranger = await on.app.makeUser();
    for (const payload of [{}, {}, { confidential: true }]) await on.create(at, payload);
    await on.create(at, { confidential: true }, stranger);
    const { iid } = await on.create(at);
    await on.put(at, iid, { state_event: "close" }, at.user);
    const count = async (user?: TestUser) => (await on.get(`/projects/${at.id}`, user)).open_issues_count;
    assert.equal(await count(at.user), 4);
    assert.equal(await count(await on.member(at, "guest")), 2);
    assert.equal(await count(stranger), 2);
    const [listed] = await on.get(`/groups/${at.groupId}/projects`, at.user);
    assert.equal(listed.open_issues_count, 4);
    const hidden = await on.project("planner", { issues_access_level: "disabled" });
    await on.app.services.db.write.insertInto("issues").values({ project_id: hidden.id, iid: 1, title: "x" }).execute();
    assert.equal((await on.get(`/projects/${hidden.id}`, hidden.user)).open_issues_count, 0);
  });
});
