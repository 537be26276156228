import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type NotesApp, notesApp } from "#domains/conversation/notes/test-support.ts";
import { accepted } from "#domains/planning/issues/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

const HEADERS = ["etag", "link", "x-total", "x-total-pages", "x-next-page"];

describe("what is hidden", () => {
  let on: NotesApp;
  before(async () => {
    on = await notesApp();
  });
  after(() => on.app.close());

  test("S-47: changes neither body, totals, links nor ETag of any answer to others", async () => {
    const at = await on.publicProject("owner", { name: "Hull" });
    const { user } = at;
    await on.insert.member(user, { group_id: at.groupId }, "owner");
    await on.app.services.db.write
      .updateTable("namespaces")
      .set({ visibility: 20 })
      .where("id", "=", at.groupId)
      .execute();
    const send = async (path: string, payload: object = {}) =>
      accepted(await on.app.post(path, { token: user.token, payload }), 201);
    const [group, project] = [`/groups/${at.groupId}`, `/projects/${at.id}`];
    const milestone = await send(`${project}/milestones`, { title: "v1" });
    const open = await send(at.issues, { title: "Open", labels: "wet", milestone_id: milestone.id });
    const goal = await send(`${group}/epics`, { title: "Goal" });
    await send(`${group}/epics/${goal.iid}/issues/${open.id}`);

    const [issue, epic] = [`${at.issues}/${open.iid}`, `${group}/epics/${goal.iid}`];
    const paths = [
      ...[at.issues, `${group}/issues`, `${project}/issues_statistics`, `${group}/issues_statistics`, issue],
      ...[`${issue}/notes`, `${issue}/discussions`, `${issue}/links`, `${issue}/links/graph?depth=5`],
      ...[`${issue}/resource_label_events`, `${issue}/award_emoji`, `${issue}/participants`],
      ...[`${project}/labels?with_counts=true`, `${project}/milestones/${milestone.id}/issues`],
      ...[`${group}/epics`, epic, `${epic}/epics`, `${epic}/issues`, `${epic}/related_epics`],
      ...[`${group}/related_epic_links`, `${group}/epics/${goal.id}/notes`, `${group}/epics/${goal.id}/discussions`],
    ];
    const answers = async (by: TestUser | undefined) =>
      Promise.all(
        paths.map(async (path) => {
          const { status, text, headers } = await on.app.get(path, { token: by?.token });
          return { path, status, text, headers: HEADERS.map((name) => headers[name]) };
        }),
      );
    const [stranger, nobody] = [await on.app.makeUser(), undefined];
    const [before, anonymous] = [await answers(stranger), await answers(nobody)];
    assert.ok(before.every(({ status }) => status === 200));
    const own = await answers(user);

    const hidden = { confidential: true, labels: "wet", milestone_id: milestone.id, due_date: "2031-01-01" };
    const secret = await send(at.issues, { title: "Secret", ...hidden });
    const far = await send(`${group}/epics`, { title: "Far", confidential: true, parent_id: goal.id });
    await send(`${epic}/issues/${secret.id}`);
    await send(`${issue}/links`, { target_project_id: at.id, target_issue_iid: secret.iid, link_type: "blocks" });
    const other = await send(`${group}/epics`, { title: "Other", confidential: true });
    await send(`${epic}/related_epics`, { target_group_id: at.groupId, target_epic_iid: other.iid });
    await send(`${issue}/notes`, { body: "Quietly", internal: true });
    await send(`${issue}/discussions`, { body: "Quietly", internal: true });
    await send(`${group}/epics/${goal.id}/notes`, { body: "Quietly", internal: true });
    await send(`${group}/epics/${far.iid}/todo`);

    assert.deepEqual(await answers(stranger), before);
    assert.deepEqual(await answers(nobody), anonymous);
    const seen = (await answers(user)).filter(({ text }, index) => text !== own[index]?.text).map(({ path }) => path);
    const same = paths.filter((path) => !seen.includes(path));
    assert.deepEqual(same, [`${issue}/resource_label_events`, `${issue}/award_emoji`, `${issue}/participants`]);
  });
});
