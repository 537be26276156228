import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startPost } from "#domains/foundation/mails/test-support.ts";
import { answer, startSmtp } from "#test/support/smtp.ts";
import { until } from "#test/support/until.ts";
import { type Newsroom, newsroom } from "./test-support.ts";

describe("mail about hidden things", () => {
  let news: Newsroom;
  /** Whether the mail server is busy, and how many mails it has sent away. */
  let isBusy = false;
  let turnedAway = 0;
  before(async () => {
    const smtp = await startSmtp({
      onRcptTo(_address, _session, done) {
        if (isBusy) turnedAway += 1;
        done(isBusy ? answer(451, "Busy") : undefined);
      },
    });
    news = await newsroom(await startPost({}, smtp), { isHeldUp: true });
  });
  after(() => news.close());

  test("is for those who may see a confidential item, whatever they take part in or watch", async () => {
    for (const kind of ["issues", "epics"] as const) {
      const { [kind]: path, member } = await news.place();
      const [guest, watcher, planner] = [await member("guest"), await member("guest"), await member("planner")];
      const { iid } = await news.create(path);
      for (const { token } of [guest, planner]) await news.app.post(`${path}/${iid}/subscribe`, { token });
      await news.level("watch", watcher);
      await news.create(`${path}/${iid}/notes`, { body: "Open" });
      assert.deepEqual(await news.counts(guest, watcher, planner), [1, 1, 1]);
      await news.create(`${path}/${iid}/notes`, { body: `Internal, @${guest.username}`, internal: true });
      assert.deepEqual(await news.counts(guest, watcher, planner), [0, 0, 1]);
      await news.change(`${path}/${iid}`, { confidential: true, state_event: "close" });
      await news.create(`${path}/${iid}/notes`, { body: `Secret, @${guest.username}` });
      assert.deepEqual(await news.counts(guest, watcher, planner), [0, 0, 2]);
      await news.create(path, { confidential: true, description: `@${guest.username} @${planner.username}` });
      assert.deepEqual(await news.counts(guest, watcher, planner), [0, 0, 1]);
    }
  });

  test("is not for people who have left, or where issues are switched off", async () => {
    const { group, project, issues, member } = await news.place();
    const [anna, bert] = [await member(), await member()];
    const { iid } = await news.create(issues, { assignee_ids: [anna.id, bert.id] });
    assert.deepEqual(await news.counts(anna, bert), [1, 1]);
    const { write } = news.app.services.db;
    await write.deleteFrom("members").where("user_id", "=", anna.id).where("group_id", "=", group).execute();
    await news.create(`${issues}/${iid}/notes`, { body: "Now" });
    assert.deepEqual(await news.counts(anna, bert), [0, 1]);
    isBusy = true;
    turnedAway = 0;
    await news.create(`${issues}/${iid}/notes`, { body: "Later" });
    await until("a try", async () => turnedAway > 0);
    await write.updateTable("projects").set({ issues_access_level: "disabled" }).where("id", "=", project).execute();
    isBusy = false;
    assert.deepEqual(await news.counts(anna, bert), [0, 0]);
  });

  test("that waits is decided on again when it is sent", async () => {
    const { issues, member } = await news.place();
    const people = [await member("guest"), await member("planner"), await member("planner"), await member("planner")];
    const [guest, planner, disabled, blocked] = people;
    const description = people.map(({ username }) => `@${username}`).join(" ");
    isBusy = true;
    turnedAway = 0;
    const { iid } = await news.create(issues, { description });
    const note = await news.create(`${issues}/${iid}/notes`, { body: `Gone, ${description}` });
    await until("tries", async () => turnedAway >= 8);
    await news.change(`${issues}/${iid}`, { confidential: true });
    await news.level("disabled", disabled!);
    const { write } = news.app.services.db;
    await write.updateTable("users").set({ state: "blocked" }).where("id", "=", blocked!.id).execute();
    await news.app.delete(`${issues}/${iid}/notes/${note.id}`, { token: news.owner.token });
    isBusy = false;
    assert.deepEqual(await news.counts(guest!, planner!, disabled!, blocked!), [0, 1, 0, 0]);
  });

  test("that the server took in part is sent again to nobody else", async () => {
    const { issues, member } = await news.place();
    const [anna, bert] = [await member(), await member()];
    await news.create(issues, { assignee_ids: [anna.id] });
    assert.deepEqual(await news.counts(anna), [1]);
    isBusy = true;
    turnedAway = 0;
    await news.create(issues, { assignee_ids: [bert.id] });
    await until("tries", async () => turnedAway >= 2);
    isBusy = false;
    assert.deepEqual(await news.counts(anna, bert), [0, 1]);
  });
});
