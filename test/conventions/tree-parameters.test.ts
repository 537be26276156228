import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type Call, type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { multipart } from "#test/support/wire.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const idsOf = ({ body }: Reply): number[] => body.map((item: { id: number }) => item.id);

describe("parameters of projects, groups and members", () => {
  let app: TestApp;
  let insert: RowInserter;
  let owner: TestUser;
  let group: number;
  let project: number;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    owner = await app.makeUser();
    group = await insert.group();
    project = await insert.project(group);
    await insert.member(owner, { group_id: group }, "owner");
  });
  after(() => app.close());

  const ask = (method: "GET" | "POST" | "PUT" | "DELETE", path: string, call: Call = {}): Promise<Reply> =>
    app.call(method, path, { token: owner.token, ...call });
  async function change(call: Call, query = ""): Promise<any> {
    const { status, body, text } = await ask("PUT", `/projects/${project}${query}`, call);
    assert.equal(status, 200, text);
    return body;
  }

  test("booleans in every spelling that clients use, in JSON, form, query and multipart", async () => {
    const forms: Record<string, (value: string | number | boolean) => [Call, string?]> = {
      JSON: (value) => [{ payload: { emails_enabled: value } }],
      form: (value) => [{ payload: `emails_enabled=${value}`, headers: FORM }],
      query: (value) => [{}, `?emails_enabled=${value}`],
      multipart: (value) => [multipart({ emails_enabled: String(value) })],
    };
    for (const [name, said] of Object.entries(forms)) {
      // Each is followed by its opposite, so that every request changes something.
      for (const [at, value] of [true, false, "true", "false", "True", "False", 1, 0, "1", "0"].entries()) {
        const { emails_enabled } = await change(...said(value));
        assert.equal(emails_enabled, at % 2 === 0, `${name}: ${typeof value} ${value}`);
      }
    }
    for (const odd of ["perhaps", 2, [true], { a: true }]) {
      const { status, body } = await ask("PUT", `/projects/${project}`, { payload: { emails_enabled: odd } });
      assert.equal(status, 400, JSON.stringify(odd));
      assert.deepEqual(body, { error: "emails_enabled is invalid" });
    }
  });

  test("booleans that filter lists", async () => {
    for (const yes of ["true", "True", "1"]) {
      for (const filter of ["membership", "owned"]) {
        assert.deepEqual(idsOf(await ask("GET", `/projects?${filter}=${yes}`)), [project], filter);
      }
      assert.equal((await ask("GET", `/projects?membership=1&simple=${yes}`)).body[0].visibility, undefined);
      assert.deepEqual(idsOf(await ask("GET", `/groups?owned=${yes}&top_level_only=${yes}`)), [group]);
      assert.deepEqual(idsOf(await ask("GET", `/projects?membership=1&archived=${yes}`)), []);
    }
    for (const no of ["false", "False", "0"]) {
      assert.equal((await ask("GET", `/projects?membership=1&simple=${no}`)).body[0].visibility, "private");
      assert.equal("projects" in (await ask("GET", `/groups/${group}?with_projects=${no}`)).body, false);
    }
    assert.deepEqual((await ask("GET", "/projects?owned=perhaps")).body, { error: "owned is invalid" });
  });

  test("lists as JSON, as name[]= and as a comma-separated string", async () => {
    for (const call of [
      { payload: { topics: ["sails", "masts"] } },
      { payload: { topics: "sails,masts" } },
      { payload: "topics[]=sails&topics[]=masts", headers: FORM },
      { payload: "topics=sails%2C%20masts", headers: FORM },
      multipart({ topics: "sails,masts" }),
    ]) {
      await change({ payload: { topics: [] } });
      assert.deepEqual((await change(call)).topics, ["sails", "masts"], JSON.stringify(call.payload));
    }
    assert.deepEqual((await change({}, "?topics[]=oars&topics[]=ropes")).topics, ["oars", "ropes"]);
    for (const none of [
      { payload: { topics: [] } },
      { payload: { topics: "" } },
      { payload: "topics[]=", headers: FORM },
    ]) {
      await change({ payload: { topics: ["oars"] } });
      assert.deepEqual((await change(none)).topics, [], JSON.stringify(none.payload));
    }
    await change({ payload: { topics: ["oars", "ropes"] } });
    for (const query of ["topic=oars,ropes", "topic[]=oars&topic[]=ropes", "topic=ropes"]) {
      assert.deepEqual(idsOf(await ask("GET", `/projects?${query}`)), [project], query);
    }
    assert.deepEqual(idsOf(await ask("GET", "/projects?topic=oars,sails")), []);
  });

  test("name[]= alone is an empty list in a form, whatever its type", async () => {
    const admin = await app.makeUser({ admin: true });
    const levels = async (payload: string | object, headers?: Record<string, string>) =>
      (await app.put("/application/settings", { token: admin.token, payload, ...(headers && { headers }) })).body
        .restricted_visibility_levels;
    assert.deepEqual(await levels({ restricted_visibility_levels: ["internal"] }), ["internal"]);
    assert.deepEqual(await levels("restricted_visibility_levels[]=", FORM), []);
    assert.equal((await ask("GET", "/groups?skip_groups[]=")).status, 200);
  });

  test("tag_list: the same as topics in every response, and accepted instead of topics", async () => {
    const both = async () => {
      const { topics, tag_list } = (await ask("GET", `/projects/${project}`)).body;
      assert.deepEqual(topics, tag_list);
      return topics;
    };
    await change({ payload: { tag_list: ["knots"] } });
    assert.deepEqual(await both(), ["knots"]);
    await change({ payload: { tag_list: "a,b" } });
    assert.deepEqual(await both(), ["a", "b"]);
    await change({ payload: { topics: ["new"], tag_list: ["old"] } });
    assert.deepEqual(await both(), ["new"]);
    for (const list of ["/projects?membership=1", "/projects?membership=1&simple=1", `/groups/${group}/projects`]) {
      const [shown] = (await ask("GET", list)).body;
      assert.deepEqual([shown.topics, shown.tag_list], [["new"], ["new"]], list);
    }
  });

  test("ids as JSON list, name[]= and commas", async () => {
    const others = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser(), app.makeUser()]);
    const [a, b, c, d] = others.map(({ id }) => id) as [number, number, number, number];
    const add = (user_id: unknown) =>
      ask("POST", `/projects/${project}/members`, { payload: { user_id, access_level: 10 } });
    assert.deepEqual((await add(`${a},${b}`)).body, { status: "success" });
    assert.equal((await add(String(c))).body.id, c);
    assert.deepEqual((await add([d])).status, 201);
    for (const query of [`user_ids[]=${a}&user_ids[]=${c}`, `user_ids=${a},${c}`]) {
      const found = idsOf(await ask("GET", `/projects/${project}/members?${query}`));
      assert.deepEqual(new Set(found), new Set([a, c]), query);
    }
    const skipped = await insert.group();
    await insert.member(owner, { group_id: skipped }, "owner");
    for (const query of [`skip_groups[]=${skipped}`, `skip_groups=${skipped},${group + 1_000_000}`]) {
      assert.deepEqual(idsOf(await ask("GET", `/groups?owned=true&${query}`)), [group], query);
    }
    assert.deepEqual((await ask("GET", "/groups?skip_groups=1,two")).body, { error: "skip_groups is invalid" });
  });

  test("numbers as strings are numbers", async () => {
    const made = await ask("POST", "/projects", { payload: `name=Counted&namespace_id=${group}`, headers: FORM });
    assert.equal(made.body.namespace.id, group);
    const below = await ask("POST", "/groups", { payload: { name: "Below", path: "below", parent_id: String(group) } });
    assert.equal(below.body.parent_id, group);
    const other = await app.makeUser();
    const payload = `user_id=${other.id}&access_level=30&expires_at=`;
    const member = await ask("POST", `/groups/${group}/members`, { payload, headers: FORM });
    assert.deepEqual([member.body.access_level, member.body.expires_at], [30, null]);
  });

  test("an array or object for a scalar is 400", async () => {
    for (const payload of [{ name: ["x"] }, { name: { a: 1 } }, { description: [] }, { visibility: ["public"] }]) {
      const { status } = await ask("PUT", `/projects/${project}`, { payload });
      assert.equal(status, 400, JSON.stringify(payload));
    }
    assert.equal((await ask("GET", "/projects?search[]=x")).status, 400);
    assert.equal((await ask("GET", "/groups?order_by[]=name")).status, 400);
  });

  test("one merged set: the path wins, then the body; what is unknown is ignored", async () => {
    const other = await insert.project(group);
    const sent = { id: other, project_id: other, description: "from the body", all: "False", zzz: [1] };
    const changed = await change({ payload: sent }, `?id=${other}&description=from+the+query&name=In+the+query`);
    assert.equal(changed.id, project);
    assert.equal(changed.description, "from the body");
    assert.equal(changed.name, "In the query");
    const untouched = (await ask("GET", `/projects/${other}`)).body;
    assert.notEqual(untouched.description, "from the body");
    const guest = await app.makeUser();
    await insert.member(guest, { project_id: project }, "guest");
    const removed = await ask("DELETE", `/projects/${project}/members/${guest.id}`, { payload: { user_id: owner.id } });
    assert.equal(removed.status, 204);
    assert.equal((await ask("GET", `/projects/${project}/members/${guest.id}`)).status, 404);
  });

  test("camelCase names in a multipart body, as one client sends them", async () => {
    const form = multipart({ name: "StorageLocation by a form", namespaceId: String(group), emailsEnabled: "0" });
    const made = await ask("POST", "/projects", form);
    assert.deepEqual([made.body.namespace.id, made.body.emails_enabled], [group, false]);
    const changed = await ask("PUT", `/projects/${made.body.id}`, multipart({ defaultBranch: "trunk" }));
    assert.equal(changed.body.default_branch, "trunk");
    const below = await ask("POST", "/groups", multipart({ name: "Form", path: "form", parentId: String(group) }));
    assert.equal(below.body.parent_id, group);
    const closed = await ask("PUT", `/groups/${below.body.id}`, multipart({ projectCreationLevel: "noone" }));
    assert.equal(closed.body.project_creation_level, "noone");
  });
});
