import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { startPost } from "#domains/foundation/mails/test-support.ts";
import { testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { type Newsroom, newsroom } from "./test-support.ts";

describe("mail about issues and epics", () => {
  let news: Newsroom;
  before(async () => {
    news = await newsroom();
  });
  after(() => news.close());

  test("whoever is assigned or mentioned gets one mail, also for both reasons, and the author none", async () => {
    const { issues, epics, member } = await news.place();
    const [anna, bert, carl] = [await member(), await member(), await member()];
    const description = `For @${anna.username}, @${bert.username} and @${news.owner.username}`;
    const issue = await news.create(issues, { description, assignee_ids: [anna.id, news.owner.id] });
    const [first, second, ...more] = await news.mails(anna, bert, carl, news.owner);
    assert.deepEqual(more, []);
    const mail = [first, second].find((each) => each?.to.includes(anna.email));
    assert.match(mail?.headers.get("subject") ?? "", /\| Leak \(#1\)$/);
    assert.match(mail?.text ?? "", /created the issue, assigned the issue to you, and mentioned you\./);
    assert.ok(mail?.text.includes(description) && mail.text.includes(issue.web_url.replace(/^.*?\/\/[^/]+/, "")));
    await news.create(epics, { description });
    assert.deepEqual(await news.counts(anna, bert, carl, news.owner), [1, 1, 0, 0]);
    await news.change(`${issues}/${issue.iid}`, { assignee_ids: [anna.id, carl.id], description: `@${carl.username}` });
    assert.deepEqual(await news.counts(anna, bert, carl, news.owner), [1, 0, 1, 0]);
  });

  test("whoever takes part hears of comments, closing and reopening, but not of their own", async () => {
    for (const kind of ["issues", "epics"] as const) {
      const { [kind]: path, member } = await news.place();
      const [anna, bert, carl] = [await member("planner"), await member("planner"), await member("planner")];
      const people = [anna, bert, carl, news.owner];
      const { iid } = await news.create(path, {}, anna);
      await news.create(`${path}/${iid}/notes`, { body: "I saw it too" }, bert);
      assert.deepEqual(await news.counts(...people), [1, 0, 0, 0]);
      await news.create(`${path}/${iid}/discussions`, { body: "Since <Monday>\n\nat least" }, news.owner);
      const [mail, ...more] = await news.mails(...people);
      assert.deepEqual([more.length, mail?.text.includes("Since <Monday>\r\n\r\nat least")], [1, true]);
      assert.ok(mail?.html.includes("Since &lt;Monday&gt;"));
      await news.change(`${path}/${iid}`, { state_event: "close" }, bert);
      assert.deepEqual(await news.counts(...people), [1, 0, 0, 1]);
      await news.change(`${path}/${iid}`, { state_event: "reopen", title: "Larger leak" }, anna);
      assert.deepEqual(await news.counts(...people), [0, 1, 0, 1]);
      await news.change(`${path}/${iid}`, { title: "Small leak" }, anna);
      assert.deepEqual(await news.counts(...people), [0, 0, 0, 0]);
    }
  });

  test("the mails about one item are one thread", async () => {
    const { issues, member } = await news.place();
    const anna = await member();
    const { iid, id } = await news.create(issues, { assignee_ids: [anna.id] });
    await news.create(`${issues}/${iid}/notes`, { body: "Now" });
    const mails = await news.mails(anna);
    const ids = mails.map(({ headers }) => headers.get("message-id"));
    assert.equal(new Set(ids).size, 2);
    for (const { headers } of mails) {
      assert.match(headers.get("in-reply-to") ?? "", new RegExp(`^<issue-${id}@`));
      assert.equal(headers.get("references"), headers.get("in-reply-to"));
    }
  });

  test("each level says what is mailed, and the nearest one counts", async () => {
    const { group, project, issues, epics, member } = await news.place();
    const people = [await member(), await member(), await member(), await member(), await member()];
    const [none, mention, part, watch, nobody] = people;
    await news.level("disabled", none!);
    await news.level("mention", mention!);
    await news.level("watch", watch!);
    const all = people.map(({ id }) => id);
    const description = people.map(({ username }) => `@${username}`).join(" ");
    await news.create(issues, { assignee_ids: all.slice(0, 4) });
    assert.deepEqual(await news.counts(...people), [0, 0, 1, 1, 0]);
    await news.create(epics, { description });
    assert.deepEqual(await news.counts(...people), [0, 1, 1, 1, 1]);
    await news.create(issues);
    await news.create(epics);
    assert.deepEqual(await news.counts(...people), [0, 0, 0, 2, 0]);
    // A group says otherwise for what is in it, and a project for itself.
    await news.level("watch", nobody!, `/groups/${group}`);
    await news.level("disabled", watch!, `/groups/${group}`);
    await news.level("watch", part!, `/projects/${project}`);
    await news.create(issues);
    assert.deepEqual(await news.counts(...people), [0, 0, 1, 0, 1]);
    await news.level("disabled", nobody!, `/projects/${project}`);
    await news.level("participating", watch!, `/projects/${project}`);
    await news.create(issues, { assignee_ids: [watch!.id, nobody!.id] });
    assert.deepEqual(await news.counts(...people), [0, 0, 1, 1, 0]);
  });

  test("watching everything is watching what one belongs to, by a share as well", async () => {
    const { group, issues } = await news.place({ visibility: VISIBILITIES.public });
    const [stranger, invited, ended] = [
      await news.app.makeUser(),
      await news.app.makeUser(),
      await news.app.makeUser(),
    ];
    for (const user of [stranger, invited, ended]) await news.level("watch", user);
    const other = await news.insert.group();
    await news.insert.member(invited, { group_id: other }, "developer");
    await news.insert.member(ended, { group_id: group }, "developer", 0);
    await news.insert.share({ group_id: group }, other, "developer");
    await news.create(issues);
    assert.deepEqual(await news.counts(stranger, invited, ended), [0, 1, 0]);
  });

  test("a subscription counts for somebody who takes no part, and its end for everybody", async () => {
    for (const kind of ["issues", "epics"] as const) {
      const { [kind]: path, member } = await news.place();
      const [anna, bert, carl] = [await member(), await member(), await member()];
      const description = `@${bert.username}`;
      const { iid } = await news.create(path, {}, news.owner);
      await news.app.post(`${path}/${iid}/subscribe`, { token: anna.token });
      await news.level("watch", carl);
      assert.equal((await news.app.post(`${path}/${iid}/subscribe`, { token: bert.token })).status, 201);
      assert.equal((await news.app.post(`${path}/${iid}/unsubscribe`, { token: bert.token })).status, 201);
      await news.app.post(`${path}/${iid}/subscribe`, { token: carl.token });
      assert.equal((await news.app.post(`${path}/${iid}/unsubscribe`, { token: carl.token })).status, 201);
      await news.change(`${path}/${iid}`, { description, state_event: "close" });
      assert.deepEqual(await news.counts(anna, bert, carl), [1, 0, 0]);
    }
  });

  test("mail goes to the chosen address, and to people with a confirmed one who may sign in", async () => {
    const { issues, member } = await news.place();
    const { write } = news.app.services.db;
    const [anna, unconfirmed, blocked, bot] = [
      await member(),
      await member("developer", { confirmed_at: null }),
      await member("developer", { state: "deactivated" }),
      await member("developer", { user_type: "service_account" }),
    ];
    const email = `other-${anna.email}`;
    await write
      .insertInto("emails")
      .values({ user_id: anna.id, email, confirmed_at: new Date().toISOString() })
      .execute();
    await news.app.put("/notification_settings", { token: anna.token, payload: { notification_email: email } });
    const people = [anna, unconfirmed, blocked, bot];
    const description = people.map(({ username }) => `@${username}`).join(" ");
    await news.create(issues, { description });
    assert.deepEqual(await news.counts({ ...anna, email }, ...people), [1, 0, 0, 0, 0]);
    await sql`update emails set confirmed_at = null where user_id = ${anna.id}`.execute(write);
    await news.create(issues, { description });
    assert.deepEqual(await news.counts({ ...anna, email }, ...people), [0, 1, 0, 0, 0]);
  });

  test("any number of people is told, each once, in batches", async () => {
    const { project, issues } = await news.place();
    const people = await Promise.all(
      Array.from({ length: 230 }, async () => {
        const user = await news.app.makeUser();
        await news.insert.member(user, { project_id: project }, "guest");
        return user;
      }),
    );
    const watching = people.map(({ id }) => ({ user_id: id, project_id: project, level: "watch" as const }));
    await news.app.services.db.write.insertInto("notification_settings").values(watching).execute();
    await news.create(issues);
    assert.deepEqual(new Set(await news.counts(...people)), new Set([1]));
  });

  test("what one person writes causes a limited number of mails an hour; the to-dos stay", async () => {
    const few = await newsroom(await startPost({ FAIRLEAD_MAIL_PER_AUTHOR: "3" }));
    try {
      const { issues, member } = await few.place();
      const people = await Promise.all(Array.from({ length: 5 }, () => member()));
      const mentions = people.map(({ username }) => `@${username}`).join(" ");
      const { iid } = await few.create(issues, { description: mentions });
      const total = async () => (await few.counts(...people)).reduce((sum, count) => sum + count, 0);
      assert.equal(await total(), 3);
      await few.create(`${issues}/${iid}/notes`, { body: mentions });
      assert.equal(await total(), 0);
      for (const { token } of people) assert.equal((await few.app.get("/todos", { token })).body.length, 1);
      const [anna] = people;
      await few.create(`${issues}/${iid}/notes`, { body: `@${few.owner.username}` }, anna);
      assert.deepEqual(await few.counts(few.owner), [1], "others have their own");
      const { write } = few.app.services.db;
      await write.updateTable("mail_counts").set({ hour: "2020-01-01T00:00:00Z" }).execute();
      await few.create(`${issues}/${iid}/notes`, { body: mentions });
      assert.equal(await total(), 3, "the next hour has its own");
      const queues = await sql<{ name: string }>`
        select distinct name from jobs.job where data ->> 'job' = 'notifications.send'`.execute(write);
      assert.deepEqual(queues.rows, [], "all are sent");
    } finally {
      await few.close();
    }
  });

  test("without a mail server nothing is queued", async () => {
    const app = await testApp({ databaseUrl: await freshDatabase() });
    try {
      const [owner, anna] = [await app.makeUser(), await app.makeUser()];
      const project = await app.post("/projects", {
        token: owner.token,
        payload: { name: "Quiet", visibility: "public" },
      });
      const payload = { title: "Leak", description: `@${anna.username}` };
      const { body, status } = await app.post(`/projects/${project.body.id}/issues`, { token: owner.token, payload });
      assert.equal(status, 201);
      const notes = `/projects/${project.body.id}/issues/${body.iid}/notes`;
      assert.equal((await app.post(notes, { token: anna.token, payload: { body: "Hm" } })).status, 201);
      const { rows } = await sql`
        select from jobs.job where data ->> 'job' like 'notifications.%'`.execute(app.services.db.read);
      assert.equal(rows.length, 0);
    } finally {
      await app.close();
    }
  });
});
