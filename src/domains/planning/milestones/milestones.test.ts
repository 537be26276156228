import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { PLACES } from "#domains/planning/labels/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { day, milestonesOn, pathOf } from "./test-support.ts";

describe("milestones", () => {
  let app: TestApp;
  let on: ReturnType<typeof milestonesOn>;
  before(async () => {
    app = await testApp();
    on = milestonesOn(app);
  });
  after(() => app.close());

  for (const kind of PLACES) {
    test(`a ${kind} creates, shows, changes, closes and deletes one`, async () => {
      const { place } = await on.nested(kind);
      const given = { title: " v1 ", description: "First", start_date: day(1), due_date: day(9) };
      const made = await on.created(place, given);
      const { id, created_at, updated_at, web_url, ...rest } = made;
      assert.deepEqual(rest, {
        ...{ ...given, title: "v1", iid: 1, state: "active", expired: false },
        [`${kind}_id`]: place.id,
      });
      assert.equal(created_at, updated_at);
      assert.match(web_url, kind === "group" ? /\/groups\/[^/]+\/[^/]+\/-\/milestones\/1$/ : /\/-\/milestones\/1$/);
      assert.deepEqual((await on.get(place, id)).body, made);

      const changed = await on.put(place, id, { title: "v1.0", due_date: day(-1), start_date: null, description: "" });
      assert.equal(changed.status, 200, changed.text);
      const { title, due_date, start_date, description, expired } = changed.body;
      assert.deepEqual([title, due_date, start_date, description, expired], ["v1.0", day(-1), null, null, true]);
      assert.equal((await on.put(place, id, { state_event: "close" })).body.state, "closed");
      assert.equal((await on.put(place, id, { state_event: "activate" })).body.state, "active");
      assert.equal((await on.put(place, id, {})).status, 400);

      assert.equal((await on.delete(place, id)).status, 204);
      const gone = await on.get(place, id);
      assert.deepEqual([gone.status, gone.text], [404, '{"message":"404 Milestone Not Found"}']);
      assert.equal((await on.created(place, { title: "v2" })).iid, 2, "numbers are not used again");
    });

    test(`titles are distinct in a ${kind} and the groups above, and case counts`, async () => {
      const { place, above } = await on.nested(kind);
      await on.created(above, { title: "Above" });
      const own = await on.created(place, { title: "Own" });
      for (const title of ["Above", " Own "]) {
        const { status, body } = await on.post(place, { title });
        assert.deepEqual([status, body], [400, { message: { title: ["has already been taken"] } }]);
      }
      await on.created(place, { title: "own" });
      assert.equal((await on.put(place, own.id, { title: "Above" })).status, 400);
      assert.equal((await on.put(place, own.id, { title: "Own" })).status, 200);
    });
  }

  test("refuses what is no milestone", async () => {
    const { place } = await on.nested();
    const status = async (fields: object) => (await on.post(place, fields)).status;
    for (const title of ["", " ", "x".repeat(256), "None", "any", "#Upcoming", "Started"]) {
      assert.equal(await status({ title }), 400, title);
    }
    assert.equal(await status({ title: "a", description: "x".repeat(20_001) }), 400);
    assert.equal(await status({ title: "a", due_date: "tomorrow" }), 400);
    const backwards = await on.post(place, { title: "a", start_date: day(2), due_date: day(1) });
    assert.equal(backwards.status, 400);
    assert.match(backwards.text, /due_date/);
    const { id } = await on.created(place, { start_date: day(2) });
    assert.equal((await on.put(place, id, { due_date: day(1) })).status, 400);
    assert.equal((await on.put(place, id, { state_event: "reopen" })).status, 400);
  });

  test("one of a group above is not one of the project or group itself", async () => {
    for (const kind of PLACES) {
      const { place, above } = await on.nested(kind);
      const { id } = await on.created(above);
      assert.equal((await on.get(place, id)).status, 404);
      assert.equal((await on.put(place, id, { title: "x" })).status, 404);
      assert.equal((await on.delete(place, id)).status, 404);
      assert.equal((await on.get(above, id)).status, 200);
    }
  });

  test("whoever may use the issues reads them, Planners write them", async () => {
    const { place } = await on.nested();
    const { id } = await on.created(place);
    const [planner, guest, stranger] = [
      await on.inRole(place, "planner"),
      await on.inRole(place, "guest"),
      await app.makeUser(),
    ];
    assert.equal((await on.get(place, id, guest)).status, 200);
    assert.equal((await on.put(place, id, { title: "x" }, guest)).status, 403);
    assert.equal((await on.put(place, id, { title: "x" }, planner)).status, 200);
    assert.equal((await on.get(place, id, stranger)).status, 404);
    const db = app.services.db.write;
    const set = (columns: object) => db.updateTable("projects").set(columns).where("id", "=", place.id).execute();
    await set({ visibility: VISIBILITIES.public });
    assert.equal((await on.get(place, id, {})).status, 200);
    await set({ issues_access_level: "private" });
    assert.equal((await on.get(place, id, stranger)).status, 403);
    assert.equal((await on.get(place, id, guest)).status, 200);
    await set({ issues_access_level: "disabled" });
    assert.equal((await on.get(place, id)).status, 403);
    assert.equal((await on.delete(place, id)).status, 403);
    await set({ issues_access_level: "enabled", archived: true });
    assert.equal((await on.get(place, id)).status, 200);
    assert.equal((await on.delete(place, id)).status, 403);
  });

  test("writers at once get numbers without gaps", async () => {
    const { place } = await on.nested();
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => on.post(place, { title: `v${n}` })));
    const iids = replies.map(({ body }) => body.iid).toSorted((a, b) => a - b);
    assert.deepEqual(
      iids,
      Array.from({ length: 12 }, (_, n) => n + 1),
    );
    const same = await Promise.all(Array.from({ length: 4 }, () => on.post(place, { title: "one" })));
    assert.deepEqual(same.map(({ status }) => `${status}`).toSorted(), ["201", "400", "400", "400"]);
  });

  test("are listed by due date, with filters", async () => {
    const { place, owner } = await on.nested();
    await on.created(place, { title: "undated", description: "about 100% anchors" });
    await on.created(place, { title: "later", start_date: day(5), due_date: day(9) });
    const soon = await on.created(place, { title: "soon", start_date: day(-1), due_date: day(2) });
    await on.put(place, soon.id, { state_event: "close" });
    assert.deepEqual(await on.titles(place), ["soon", "later", "undated"]);
    assert.deepEqual(await on.titles(place, "sort=desc"), ["later", "soon", "undated"]);
    assert.deepEqual(await on.titles(place, "state=active"), ["later", "undated"]);
    assert.deepEqual(await on.titles(place, "state=closed"), ["soon"]);
    assert.deepEqual(await on.titles(place, "iids[]=1&iids[]=3"), ["soon", "undated"]);
    assert.deepEqual(await on.titles(place, "title=soon"), ["soon"]);
    assert.deepEqual(await on.titles(place, "title=Soon"), []);
    assert.deepEqual(await on.titles(place, "search=100%25 ANCH"), ["undated"]);
    assert.deepEqual(await on.titles(place, "search=LAT"), ["later"]);
    assert.deepEqual(await on.titles(place, `containing_date=${day(2)}`), ["soon"]);
    assert.deepEqual(await on.titles(place, `containing_date=${day(5)}T23:59:59Z`), ["later"]);
    assert.deepEqual(await on.titles(place, `updated_before=${day(-1)}T00:00:00Z`), []);
    assert.equal((await on.titles(place, `updated_after=${day(-1)}T00:00:00Z`)).length, 3);
    const page = await app.get(`${pathOf(place)}?per_page=1&page=2`, { token: owner.token });
    assert.deepEqual([page.body[0].title, page.headers["x-total"]], ["later", "3"]);
  });

  test("lists take those of the groups above and of what is below on request, as far as they are visible", async () => {
    const { place, above, owner } = await on.nested();
    const subgroup = on.placeAt("group", await on.group(above.id, { visibility: VISIBILITIES.private }), owner);
    const inner = on.placeAt("project", await on.project(subgroup.id), owner);
    for (const [title, at] of Object.entries({ above, place, subgroup, inner })) await on.created(at, { title });
    assert.deepEqual(await on.titles(place), ["place"]);
    for (const word of ["include_ancestors", "include_parent_milestones"]) {
      assert.deepEqual((await on.titles(place, `${word}=true`)).toSorted(), ["above", "place"]);
      assert.deepEqual((await on.titles(place, `${word}=true&iids[]=7`)).toSorted(), ["above", "place"]);
      assert.deepEqual((await on.titles(subgroup, `${word}=true`)).toSorted(), ["above", "subgroup"]);
    }
    assert.deepEqual(await on.titles(above), ["above"]);
    const below = "include_descendants=true";
    assert.deepEqual((await on.titles(above, below)).toSorted(), ["above", "inner", "place", "subgroup"]);
    const guest = await on.inRole(place, "guest");
    assert.deepEqual((await on.titles(above, below, guest)).toSorted(), ["above", "place"]);
    await app.services.db.write
      .updateTable("projects")
      .set({ issues_access_level: "disabled" })
      .where("id", "=", place.id)
      .execute();
    assert.deepEqual((await on.titles(above, below)).toSorted(), ["above", "inner", "subgroup"]);
  });
});
