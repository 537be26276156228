import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { day, type MilestonePlace, milestonesOn, pathOf } from "./test-support.ts";

describe("milestones of issues", () => {
  let app: TestApp;
  let on: ReturnType<typeof milestonesOn>;
  before(async () => {
    app = await testApp();
    on = milestonesOn(app);
  });
  after(() => app.close());

  const put = ({ id, owner }: MilestonePlace, iid: number, payload: object, { token } = owner) =>
    app.put(`/projects/${id}/issues/${iid}`, { token, payload });

  const titles = async (path: string, { token }: { readonly token?: string }) => {
    const { status, body, text } = await app.get(path, { token });
    assert.equal(status, 200, text);
    return body.map(({ title }: { title: string }) => title);
  };

  test("an issue is created with one, gets another one, and loses it", async () => {
    const { place, above } = await on.nested();
    const own = await on.created(place);
    const inherited = await on.created(above, { title: "above" });
    const made = (await app.post(`/projects/${place.id}/issues`, {
      token: place.owner.token,
      payload: { title: "Leak", milestone_id: own.id },
    })) as { body: { iid: number; milestone: object } };
    assert.deepEqual(made.body.milestone, own);
    const { iid } = made.body;
    assert.deepEqual((await on.issueAt(place, iid)).milestone, own);
    const { body } = await put(place, iid, { milestone_id: inherited.id });
    assert.deepEqual(body.milestone, inherited);
    const again = await put(place, iid, { milestone_id: inherited.id });
    assert.equal(again.body.updated_at, body.updated_at, "nothing changed");
    for (const milestone_id of [0, "", null]) {
      assert.equal((await put(place, iid, { milestone_id: own.id })).body.milestone.id, own.id);
      assert.equal((await put(place, iid, { milestone_id })).body.milestone, null);
    }
    assert.equal((await put(place, iid, { title: "Drip" })).body.milestone, null);
  });

  test("one that the project may not use is ignored, as is one from those who do not plan", async () => {
    const { place } = await on.nested();
    const { place: elsewhere } = await on.nested();
    const [own, other] = [await on.created(place), await on.created(elsewhere)];
    const { iid } = await on.issue(place, { milestone_id: own.id });
    for (const milestone_id of [other.id, 4_503_599_627_370_495]) {
      const reply = await put(place, iid, { milestone_id });
      assert.deepEqual([reply.status, reply.body.milestone.id], [200, own.id]);
      assert.equal(reply.headers["x-ignored-parameters"], "milestone_id");
    }
    const guest = await on.inRole(place, "guest");
    const reply = await app.post(`/projects/${place.id}/issues`, {
      token: guest.token,
      payload: { title: "Leak", milestone_id: own.id },
    });
    assert.deepEqual([reply.status, reply.body.milestone], [201, null]);
    assert.equal(reply.headers["x-ignored-parameters"], "milestone_id");
  });

  test("lists of issues filter and order by them", async () => {
    const { place, above, owner } = await on.nested();
    const past = await on.created(place, { title: "past", start_date: day(-9), due_date: day(-5) });
    const current = await on.created(above, { title: "current", start_date: day(-1), due_date: day(0) });
    const open = await on.created(place, { title: "open", start_date: day(0) });
    const next = await on.created(place, { title: "next", start_date: day(1), due_date: day(3) });
    const closed = await on.created(place, { title: "closed", start_date: day(1), due_date: day(1) });
    const undated = await on.created(place, { title: "undated" });
    await on.put(place, closed.id, { state_event: "close" });
    await on.issue(place, { title: "none" });
    for (const { id, title } of [past, current, open, next, closed, undated])
      await on.issue(place, { title, milestone_id: id });
    const project = `/projects/${place.id}/issues`;
    const found = async (query: string, path = project) => (await titles(`${path}?${query}`, owner)).toSorted();
    const others = (...left: string[]) =>
      ["closed", "current", "next", "none", "open", "past", "undated"].filter((title) => !left.includes(title));
    const cases: [string, string[]][] = [
      ["milestone=next", ["next"]],
      ["milestone=Next", []],
      ["milestone=", others()],
      ["milestone=current", ["current"]],
      ["milestone=None", ["none"]],
      ["milestone=any", others("none")],
      ["milestone=Upcoming", ["next"]],
      ["milestone=%23upcoming", ["next"]],
      ["milestone=Started", ["current", "open"]],
      ["milestone_id=None", ["none"]],
      ["milestone_id=0", ["none"]],
      ["milestone_id=Any", others("none")],
      ["milestone_id=Upcoming", ["next"]],
      ["milestone_id=Started", ["current", "open"]],
      [`milestone_id=${past.id}`, ["past"]],
      ["not[milestone]=next", others("next")],
      ["not[milestone]=None", others("none")],
      ["not[milestone_id]=Started", others("current", "open")],
    ];
    for (const [query, expected] of cases) {
      assert.deepEqual(await found(query), expected, query);
      assert.deepEqual(await found(query, `/groups/${above.id}/issues`), expected, `${query} in the group`);
      assert.deepEqual(await found(`scope=created_by_me&${query}`, "/issues"), expected, `${query} everywhere`);
    }
    assert.equal((await app.get(`${project}?milestone_id=soon`, { token: owner.token })).status, 400);
    const { body } = await app.get(`/projects/${place.id}/issues_statistics?milestone=Any`, { token: owner.token });
    assert.equal(body.statistics.counts.all, 6);
    const order = (sort: string) => titles(`${project}?order_by=milestone_due&sort=${sort}`, owner);
    assert.deepEqual((await order("asc")).slice(0, 4), ["past", "current", "closed", "next"]);
    assert.deepEqual((await order("desc")).slice(0, 4), ["next", "closed", "current", "past"]);
  });

  test("lists of a milestone have the issues that the caller may see", async () => {
    const { place, above, owner } = await on.nested();
    const hidden = on.placeAt("project", await on.project(above.id, { visibility: VISIBILITIES.private }), owner);
    const shared = await on.created(above, { title: "shared" });
    const own = await on.created(place);
    await on.issue(place, { title: "a", milestone_id: shared.id });
    await on.issue(place, { title: "b", milestone_id: shared.id, confidential: true });
    await on.issue(place, { title: "c", milestone_id: own.id });
    await on.issue(place, { title: "d" });
    await on.issue(hidden, { title: "e", milestone_id: shared.id });
    const guest = await on.inRole(place, "guest");
    const ofGroup = `${pathOf(above)}/${shared.id}/issues`;
    assert.deepEqual((await titles(ofGroup, owner)).toSorted(), ["a", "b", "e"]);
    assert.deepEqual(await titles(ofGroup, guest), ["a"]);
    assert.deepEqual(await titles(`${pathOf(place)}/${own.id}/issues`, guest), ["c"]);
    for (const path of [`${pathOf(place)}/${shared.id}/issues`, `${pathOf(above)}/${own.id}/issues`]) {
      assert.equal((await app.get(path, { token: owner.token })).status, 404, "it belongs to the other");
    }
  });

  test("a moved issue keeps that of a group above both, or gets the one of the same title", async () => {
    const { place, above, owner } = await on.nested();
    const sibling = on.placeAt("project", await on.project(above.id), owner);
    const { place: elsewhere, above: otherAbove } = await on.nested();
    await on.member(owner, { group_id: otherAbove.id }, "owner");
    const shared = await on.created(above, { title: "shared" });
    const own = await on.created(place, { title: "own" });
    const namesake = await on.created(sibling, { title: "own" });
    const moved = async (milestone_id: number, to: MilestonePlace) => {
      const { iid } = await on.issue(place, { milestone_id });
      const reply = await app.post(`/projects/${place.id}/issues/${iid}/move`, {
        token: owner.token,
        payload: { to_project_id: to.id },
      });
      assert.equal(reply.status, 201, reply.text);
      assert.equal((await on.issueAt(place, iid)).milestone.id, milestone_id, "the old issue keeps its own");
      return reply.body.milestone?.id;
    };
    assert.equal(await moved(shared.id, sibling), shared.id);
    assert.equal(await moved(own.id, sibling), namesake.id);
    assert.equal(await moved(own.id, elsewhere), undefined);
    const far = await on.created(otherAbove, { title: "shared" });
    assert.equal(await moved(shared.id, elsewhere), far.id);
  });

  test("that of a group that the project has left is no longer shown or found", async () => {
    const { place, above, owner } = await on.nested();
    const { id } = await on.created(above, { title: "left" });
    const { iid } = await on.issue(place, { title: "Leak", milestone_id: id });
    const namespace_id = await on.group();
    await on.member(owner, { project_id: place.id }, "owner");
    await app.services.db.write.updateTable("projects").set({ namespace_id }).where("id", "=", place.id).execute();
    assert.equal((await on.issueAt(place, iid)).milestone, null);
    const path = `/projects/${place.id}/issues`;
    assert.deepEqual(await titles(`${path}?milestone=left`, owner), []);
    assert.deepEqual(await titles(`${path}?milestone=None`, owner), ["Leak"]);
    assert.deepEqual(await titles(`/issues?milestone=left`, owner), []);
  });
});
