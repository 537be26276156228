import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { COLOR, labelsOn, PLACES } from "./test-support.ts";

const FIELDS = [
  ...["id", "name", "description", "description_html", "text_color", "color", "archived", "subscribed", "priority"],
  "is_project_label",
];
const MISSING = { message: "404 Label Not Found" };
const TAKEN = { message: "Label already exists" };
const NOTHING = "are missing, at least one parameter must be provided";

for (const kind of PLACES)
  describe(`the labels of a ${kind}`, () => {
    let app: TestApp;
    let on: ReturnType<typeof labelsOn>;
    before(async () => {
      app = await testApp();
      on = labelsOn(app);
    });
    after(() => app.close());

    test("have every field, and are the same wherever they are returned", async () => {
      const { place } = await on.nested(kind);
      const made = await on.created(place, { name: " To do ", color: "Teal", description: "Later", archived: true });
      assert.deepEqual(Object.keys(made), FIELDS);
      assert.deepEqual(made, {
        ...{ id: made.id, name: "To do", description: "Later", description_html: "Later", color: "#008080" },
        ...{ text_color: "#FFFFFF", archived: true, subscribed: false, priority: null },
        is_project_label: kind === "project",
      });
      for (const named of [made.id, "To do"]) assert.deepEqual((await on.get(place, named)).body, made);
      assert.deepEqual(await on.listed(place), [made]);
    });

    test("are found by id, else by name, which may look like an id", async () => {
      const { place } = await on.nested(kind);
      const first = await on.created(place, { name: "first" });
      const second = await on.created(place, { name: String(first.id) });
      const slashed = await on.created(place, { name: "a/b c.json" });
      const numeric = await on.created(place, { name: "99999999999999999999" });
      assert.equal((await on.get(place, first.id)).body.name, "first");
      assert.equal((await on.get(place, slashed.name)).body.id, slashed.id);
      assert.equal((await on.get(place, numeric.name)).body.id, numeric.id);
      const { token } = place.owner;
      const byName = { token, payload: { name: second.name, color: "#fff" } };
      assert.equal((await app.put(place.labels, byName)).body.id, second.id, "`name` is no id");
      const byId = { token, payload: { label_id: second.name, color: "#fff" } };
      assert.equal((await app.put(place.labels, byId)).body.id, first.id);
    });

    test("both forms of PUT change them", async () => {
      const { place } = await on.nested(kind);
      const { token } = place.owner;
      const made = await on.created(place, { description: "Old" });
      const changed = await on.put(place, "bug", { new_name: "Bug", color: "#ABC", description: null, archived: true });
      assert.equal(changed.status, 200, changed.text);
      assert.deepEqual(changed.body, {
        ...{ ...made, name: "Bug", color: "#aabbcc", description: null, description_html: "", archived: true },
        text_color: "#1F1E24",
      });
      const named = await app.put(place.labels, { token, payload: { name: "Bug", new_name: "Flaw" } });
      assert.deepEqual([named.status, named.body.name, named.body.color], [200, "Flaw", "#aabbcc"]);
      const query = await app.put(`${place.labels}?label_id=${made.id}&description=New`, { token });
      assert.deepEqual([query.status, query.body.description], [200, "New"]);
      const same = await on.put(place, made.id, { new_name: "Flaw" });
      assert.equal(same.status, 200, "its own name is not taken");
    });

    test("both forms of DELETE remove them", async () => {
      const { place } = await on.nested(kind);
      const { token } = place.owner;
      for (const name of ["one", "two", "three"]) await on.created(place, { name });
      assert.equal((await on.delete(place, "one")).status, 204);
      assert.equal((await app.delete(`${place.labels}?name=two`, { token })).status, 204);
      const three = await on.get(place, "three");
      assert.equal((await app.delete(place.labels, { token, payload: { label_id: three.body.id } })).status, 204);
      assert.deepEqual(await on.listed(place), []);
      assert.deepEqual((await on.delete(place, "one")).body, MISSING);
    });

    test("a DELETE may be conditional", async () => {
      const { place } = await on.nested(kind);
      const { id } = await on.created(place);
      const headers = { "if-unmodified-since": "Mon, 01 Jan 2024 00:00:00 GMT" };
      const { status } = await app.delete(`${place.labels}/${id}`, { token: place.owner.token, headers });
      assert.equal(status, 412);
      assert.equal((await on.get(place, id)).status, 200);
    });

    test("a change needs a label and something to change", async () => {
      const { place } = await on.nested(kind);
      const { token } = place.owner;
      await on.created(place);
      const changes = `new_name, color, description, archived${kind === "project" ? ", priority" : ""}`;
      assert.deepEqual((await on.put(place, "bug", {})).body, { error: `${changes} ${NOTHING}` });
      const nothing = await app.put(place.labels, { token, payload: {} });
      assert.deepEqual(nothing.body, { error: `label_id, name ${NOTHING}, ${changes} ${NOTHING}` });
      const both = await app.put(place.labels, { token, payload: { name: "bug", label_id: "bug", color: "red" } });
      assert.deepEqual(both.body, { error: "label_id, name are mutually exclusive" });
      assert.deepEqual((await app.delete(place.labels, { token })).body, { error: `label_id, name ${NOTHING}` });
    });

    test("a name is used once, in the groups above too", async () => {
      const { place, above } = await on.nested(kind);
      await on.created(place);
      await on.created(place, { name: "other" });
      await on.created(above, { name: "above" });
      for (const name of ["bug", " bug ", "above"]) {
        const again = await on.post(place, { name });
        assert.deepEqual([again.status, again.body], [409, TAKEN], name);
        const renamed = await on.put(place, "other", { new_name: name });
        assert.deepEqual([renamed.status, renamed.body], [409, TAKEN], name);
      }
      assert.equal((await on.post(place, { name: "Bug" })).status, 201, "capitals make another name");
      assert.equal((await on.post(above, { name: "bug" })).status, 201, "those below do not count");
      assert.equal((await on.get(place, "bug")).body.is_project_label, kind === "project", "the nearest is found");
    });

    test("those of the groups above can be read but not changed", async () => {
      const { place, above } = await on.nested(kind);
      const { id } = await on.created(above, { name: "above" });
      for (const named of [id, "above"]) {
        assert.deepEqual((await on.get(place, named)).body.id, id);
        const refused = [
          await on.put(place, named, { color: "red" }),
          await on.delete(place, named),
          await app.get(`${place.labels}/${named}?include_ancestor_groups=false`, { token: place.owner.token }),
        ];
        for (const { status, body } of refused) assert.deepEqual([status, body], [404, MISSING]);
      }
    });

    test("markup in a description is text", async () => {
      const { place } = await on.nested(kind);
      const { description, description_html } = await on.created(place, { description: '<img src=x onerror="a">' });
      assert.equal(description, '<img src=x onerror="a">');
      assert.equal(description_html, "&lt;img src=x onerror=&quot;a&quot;&gt;");
    });

    test("nothing but a colour is accepted as one, and is not returned", async () => {
      const { place } = await on.nested(kind);
      const { id } = await on.created(place);
      const invalid = { message: { color: ["must be a valid color code"] } };
      for (const color of ['#fff"><script>', "red;}", "#12345", "url(//x)", "rgb(1,2,3)", "none"]) {
        for (const { status, body } of [await on.post(place, { name: "x", color }), await on.put(place, id, { color })])
          assert.deepEqual([status, body], [400, invalid], color);
      }
      for (const [color, error] of [
        [`#${"f".repeat(1_000_000)}`, "color is too long (maximum is 32 characters)"],
        [" ".repeat(30), "color is empty"],
      ])
        assert.deepEqual((await on.post(place, { name: "x", color })).body, { error });
      assert.equal((await on.get(place, id)).body.color, COLOR);
    });

    test("a description is escaped for HTML", async () => {
      const { place } = await on.nested(kind);
      const description = `<img src=x onerror='alert(1)'> & "q" [a](javascript:alert(1))`;
      const { description_html, ...made } = await on.created(place, { description });
      assert.equal(made.description, description);
      assert.equal(
        description_html,
        "&lt;img src=x onerror=&#39;alert(1)&#39;&gt; &amp; &quot;q&quot; [a](javascript:alert(1))",
      );
      const blank = await on.put(place, made.id, { description: "" });
      assert.deepEqual([blank.body.description, blank.body.description_html], [null, ""]);
    });

    test("names and descriptions have limits, and a comma is refused with its reason", async () => {
      const { place } = await on.nested(kind);
      const { id } = await on.created(place);
      const comma = { name: ["must not contain a comma, which separates the names in a list of labels"] };
      for (const name of ["a,b", ",", "a,"]) {
        const replies = [await on.post(place, { name }), await on.put(place, id, { new_name: name })];
        for (const { status, body } of replies) assert.deepEqual([status, body], [400, { message: comma }], name);
      }
      for (const [fields, error] of [
        [{ name: "x".repeat(256) }, "name is too long (maximum is 255 characters)"],
        [{ name: " " }, "name is empty"],
        [{ name: "x", description: "x".repeat(2001) }, "description is too long (maximum is 2000 characters)"],
        [{ name: "x", color: null }, "color is missing"],
        [{ name: null }, "name is missing"],
      ] as const)
        assert.deepEqual((await on.post(place, fields)).body, { error });
      assert.equal((await on.post(place, { name: "é".repeat(255) })).status, 201);
    });

    test("of the roles, Planner and above write", async () => {
      const { place } = await on.nested(kind);
      const [guest, planner, reporter] = await Promise.all([
        on.inRole(place, "guest"),
        on.inRole(place, "planner"),
        on.inRole(place, "reporter"),
      ]);
      await on.created(place);
      const refused = [
        await on.post(place, { name: "x" }, guest),
        await on.put(place, "bug", { color: "red" }, guest),
        await on.delete(place, "bug", guest),
      ];
      for (const { status, body } of refused)
        assert.deepEqual(
          [status, body.message],
          [403, `403 Forbidden - Requires at least the Planner role in the ${kind}`],
        );
      assert.equal((await on.get(place, "bug", guest)).status, 200);
      assert.equal((await on.put(place, "bug", { color: "red" }, planner)).status, 200);
      assert.equal((await on.post(place, { name: "x" }, reporter)).status, 201);
      assert.equal((await on.delete(place, "bug", planner)).status, 204);
    });

    test("are hidden with it, and those of another place are missing", async () => {
      const { place } = await on.nested(kind);
      const { place: other } = await on.nested(kind);
      const { id } = await on.created(other);
      const outsider = await app.makeUser();
      const hidden = { message: `404 ${kind === "group" ? "Group" : "Project"} Not Found` };
      for (const reply of [await on.get(other, id, outsider), await app.get(other.labels, { token: outsider.token })])
        assert.deepEqual([reply.status, reply.body], [404, hidden]);
      for (const reply of [
        await on.get(place, id),
        await on.get(place, 0),
        await on.put(place, id, { color: "red" }),
        await on.delete(place, id),
      ])
        assert.deepEqual([reply.status, reply.body], [404, MISSING]);
    });

    test("100 requests for one name create one", async () => {
      const { place } = await on.nested(kind);
      const replies = await Promise.all(Array.from({ length: 100 }, () => on.post(place, { name: "only" })));
      const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
      assert.deepEqual(statuses, [201, ...Array.from({ length: 99 }, () => 409)]);
      assert.deepEqual(new Set(replies.flatMap(({ body }) => body.message ?? [])), new Set([TAKEN.message]));
      assert.equal((await on.listed(place)).length, 1);
    });
  });

describe("the priority of a label", () => {
  let app: TestApp;
  let on: ReturnType<typeof labelsOn>;
  before(async () => {
    app = await testApp();
    on = labelsOn(app);
  });
  after(() => app.close());

  test("is set and removed in a project", async () => {
    const { place } = await on.nested();
    const made = await on.created(place, { priority: 0 });
    assert.equal(made.priority, 0);
    assert.equal((await on.put(place, "bug", { priority: 7 })).body.priority, 7);
    assert.equal((await on.put(place, "bug", { color: "red" })).body.priority, 7, "what is left out stays");
    assert.equal((await on.listed(place))[0]?.["priority"], 7);
    assert.equal((await on.put(place, "bug", { priority: null })).body.priority, null);
    for (const [priority, error] of [
      [-1, "priority does not have a valid value"],
      [2_147_483_648, "priority does not have a valid value"],
      ["high", "priority is invalid"],
    ])
      assert.deepEqual((await on.put(place, "bug", { priority })).body, { error });
  });

  test("is none in a group", async () => {
    const { above } = await on.nested();
    const { status, body, headers } = await on.post(above, { priority: 3 });
    assert.deepEqual([status, body.priority, headers["x-ignored-parameters"]], [201, null, "priority"]);
  });
});
