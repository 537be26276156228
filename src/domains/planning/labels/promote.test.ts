import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { mergeLabels } from "./jobs.ts";
import { COLOR, labelsOn, type LabelPlace } from "./test-support.ts";

describe("promoting a label", () => {
  let app: TestApp;
  let on: ReturnType<typeof labelsOn>;
  before(async () => {
    app = await testApp();
    on = labelsOn(app);
  });
  after(() => app.close());

  const promote = ({ labels, owner }: LabelPlace, label: string | number, { token } = owner) =>
    app.put(`${labels}/${label}/promote`, { token });

  const linksAndEvents = async (issueId: number) => {
    const { rows } = await sql<{ links: number[]; events: [number, string][] }>`
      select array(select label_id from label_links where issue_id = ${issueId} order by label_id) as links,
        coalesce((select json_agg(json_build_array(label_id, action) order by id)
          from label_events where issue_id = ${issueId}), '[]') as events`.execute(app.services.db.write);
    return rows[0]!;
  };

  const isGone = (labelId: number) => async () => {
    const found = await app.services.db.write
      .selectFrom("labels")
      .select("id")
      .where("id", "=", labelId)
      .executeTakeFirst();
    return found === undefined;
  };

  test("makes it one of the group, with its links, events and priority", async () => {
    const { place, above } = await on.nested();
    const made = await on.created(place, { priority: 4 });
    const issue = await on.issue(place, { labels: "bug" });
    const { status, body } = await promote(place, "bug");
    assert.deepEqual([status, body], [200, { ...made, is_project_label: false }]);
    assert.deepEqual(
      (await on.listed(above)).map(({ id }) => id),
      [made.id],
    );
    assert.deepEqual(await linksAndEvents(issue.id), { links: [made.id], events: [[made.id, "add"]] });
    assert.equal((await promote(place, "bug")).status, 404, "it is no label of the project any more");
  });

  test("merges those of the same name in the projects of the group and below it", async () => {
    const { place, above, owner } = await on.nested();
    const sibling = on.placeAt("project", await on.project(above.id), owner);
    const below = on.placeAt("project", await on.project(await on.group(above.id)), owner);
    const { place: elsewhere } = await on.nested();
    const labels = [];
    for (const each of [place, sibling, below, elsewhere]) labels.push(await on.created(each));
    const [label, second, third, other] = labels;
    await on.put(sibling, "bug", { priority: 2 });
    const kept = await on.created(sibling, { name: "kept" });
    const issues = [];
    for (const each of [sibling, sibling, below]) issues.push(await on.issue(each, { labels: "bug,kept" }));

    assert.equal((await promote(place, label.id)).status, 200);
    await on.work([mergeLabels([ISSUE])], "both are merged", isGone(third.id));
    await on.work([mergeLabels([ISSUE])], "both are merged", isGone(second.id));
    const { links, events } = await linksAndEvents(issues[0]!.id);
    const both = [label.id, kept.id].toSorted((a, b) => a - b);
    assert.deepEqual(links, both);
    assert.deepEqual(
      events.toSorted(([a], [b]) => a - b),
      both.map((id) => [id, "add"]),
    );
    for (const { id } of issues) assert.ok((await linksAndEvents(id)).links.includes(label.id));
    assert.equal((await on.get(sibling, "bug")).body.id, label.id);
    assert.equal((await on.get(sibling, "bug")).body.priority, 2);
    assert.equal((await on.get(elsewhere, "bug")).body.id, other.id, "another group's are not touched");
  });

  test("joins the label of this name that the group has", async () => {
    const { place, above } = await on.nested();
    const own = await on.created(place);
    const ofGroup = await on.created(above, { color: "#336699" });
    const issue = await on.issue(place, { labels: "bug" });
    const { status, body } = await promote(place, "bug");
    assert.deepEqual([status, body.id, body.color], [200, ofGroup.id, "#336699"]);
    await on.work([mergeLabels([ISSUE])], "the project's is merged", isGone(own.id));
    assert.deepEqual((await linksAndEvents(issue.id)).links, [ofGroup.id]);
  });

  test("keeps the label on an issue that had both and lost one, in its events too", async () => {
    const { place, above } = await on.nested();
    const ofGroup = await on.created(above);
    const issue = await on.issue(place, { labels: "bug" });
    await sql`insert into labels (project_id, name, color) values (${place.id}, 'bug', ${COLOR})`.execute(
      app.services.db.write,
    );
    const own = (await on.get(place, "bug")).body;
    await sql`insert into label_events (issue_id, label_id, action)
      values (${issue.id}, ${own.id}, 'add'), (${issue.id}, ${own.id}, 'remove')`.execute(app.services.db.write);
    assert.equal((await promote(place, own.id)).status, 200);
    await on.work([mergeLabels([ISSUE])], "the project's is merged", isGone(own.id));
    const { links, events } = await linksAndEvents(issue.id);
    assert.deepEqual(links, [ofGroup.id]);
    assert.deepEqual(events.at(-1), [ofGroup.id, "add"], "replayed, the events give the labels");
  });

  test("takes the role in the group, and a group", async () => {
    const { place } = await on.nested();
    await on.created(place);
    const planner = await on.inRole(place, "maintainer");
    const refused = await promote(place, "bug", planner);
    assert.deepEqual(
      [refused.status, refused.body.message],
      [403, "403 Forbidden - Requires at least the Planner role in the group"],
    );
    assert.equal((await promote(place, "missing", planner)).status, 404);
    const owner = await app.makeUser();
    const { body } = await app.post("/projects", { token: owner.token, payload: { name: "Personal" } });
    const personal = on.placeAt("project", body.id, owner);
    await on.created(personal);
    const nowhere = await promote(personal, "bug");
    assert.deepEqual([nowhere.status, nowhere.body.message], [400, "400 Bad request - The project is in no group"]);
  });

  test("of one label by several requests works once", async () => {
    const { place, above } = await on.nested();
    const { id } = await on.created(place);
    const replies = await Promise.all(Array.from({ length: 10 }, () => promote(place, id)));
    const statuses = replies.map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join());
    assert.ok(
      statuses.every((status) => status === 200 || status === 404),
      statuses.join(),
    );
    assert.deepEqual(
      (await on.listed(above)).map((label) => label.id),
      [id],
    );
  });
});
