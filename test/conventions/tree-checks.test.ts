import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { resources } from "#domains/index.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const NOWHERE = 4_503_599_627_370_495;

/** Everything that distinguishes one response from another. */
const bytes = ({ status, text, headers }: Reply) => {
  const { "x-request-id": _id, date: _date, ...rest } = headers;
  return { status, text, headers: rest };
};

/** Every endpoint below a project or group, with values for the further ids in its path. */
const nested = Object.values(resources)
  .flatMap((operations) => Object.values(operations))
  .filter(({ path, mount }) => mount !== "root" && /^\/(projects|groups)\/:id/.test(path))
  .map(({ method, path, access }) => ({
    method,
    path,
    signedIn: !access.admits.anonymous,
    at: (id: number | string, child = NOWHERE) => path.replace(":id", String(id)).replaceAll(/:\w+/g, String(child)),
  }));

describe("order of checks below a project or group", () => {
  let app: TestApp;
  let insert: RowInserter;
  let owner: TestUser;
  let guest: TestUser;
  let stranger: TestUser;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    [owner, guest, stranger] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
  });
  after(() => app.close());

  async function place(kind: "group" | "project", visibility: keyof typeof VISIBILITIES = "private") {
    const group = await insert.group(undefined, { visibility: VISIBILITIES[visibility] });
    const id = kind === "group" ? group : await insert.project(group, { visibility: VISIBILITIES[visibility] });
    await insert.member(owner, { [`${kind}_id`]: id }, "owner");
    await insert.member(guest, { [`${kind}_id`]: id }, "guest");
    return `/${kind}s/${id}`;
  }

  for (const kind of ["group", "project"] as const) {
    test(`a ${kind}'s member: 401, 404 of the parent, 403, 400, 404 of the child, then validation`, async () => {
      const at = await place(kind);
      const put = async (id: number, token: string | undefined, payload: object) => {
        const { status, body } = await app.put(`${at}/members/${id}`, { token, payload });
        return [status, body.message ?? body.error];
      };
      const bad = { access_level: 7, expires_at: "soon" };
      const good = { access_level: 30 };
      const parent = `404 ${kind === "group" ? "Group" : "Project"} Not Found`;
      assert.deepEqual(await put(NOWHERE, undefined, bad), [401, "401 Unauthorized"]);
      assert.deepEqual(await put(NOWHERE, stranger.token, bad), [404, parent]);
      const role = kind === "group" ? "Owner" : "Maintainer";
      const reason = `Requires at least the ${role} role in the ${kind}`;
      assert.deepEqual(await put(NOWHERE, guest.token, bad), [403, `403 Forbidden - ${reason}`]);
      assert.deepEqual(await put(NOWHERE, owner.token, bad), [
        400,
        "access_level does not have a valid value, expires_at is invalid",
      ]);
      assert.deepEqual(await put(NOWHERE, owner.token, good), [404, "404 Not found"]);
      assert.deepEqual(await put(guest.id, owner.token, good), [200, undefined]);
      const again = await app.post(`${at}/members`, { token: owner.token, payload: { user_id: guest.id, ...good } });
      assert.deepEqual([again.status, again.body], [409, { message: "Member already exists" }]);
    });
  }

  test("every endpoint that needs sign-in: an anonymous caller gets 401 for every id", async () => {
    const [group, project] = [await place("group"), await place("project")];
    const forUsers = nested.filter(({ signedIn }) => signedIn);
    assert.ok(forUsers.length >= 30, String(forUsers.length));
    for (const { method, path, at } of forUsers) {
      const id = (path.startsWith("/groups") ? group : project).split("/")[2] ?? "";
      const answers = [id, NOWHERE, "nobody%2Fnothing"].map(async (one) => bytes(await app.call(method, at(one))));
      const [there, absent, unknown] = await Promise.all(answers);
      assert.equal(there?.status, 401, `${method} ${path}`);
      assert.deepEqual(there, absent, `${method} ${path}`);
      assert.deepEqual(there, unknown, `${method} ${path}`);
    }
  });

  test("every endpoint: hidden is 404, byte for byte as if absent, with valid, invalid and no parameters", async () => {
    const [group, project] = [await place("group"), await place("project")];
    const bad = { access_level: "x", group_access: [], name: {}, visibility: "loud", page: "two", expires_at: 3 };
    assert.ok(nested.length >= 40, String(nested.length));
    for (const { method, path, at, signedIn } of nested) {
      const id = (path.startsWith("/groups") ? group : project).split("/")[2] ?? "";
      for (const token of signedIn ? [stranger.token] : [stranger.token, undefined]) {
        const hidden = bytes(await app.call(method, at(id), { token }));
        assert.equal(hidden.status, 404, `${method} ${path}: ${hidden.text}`);
        assert.deepEqual(hidden, bytes(await app.call(method, at(NOWHERE), { token })), `${method} ${path}`);
        const badly = bytes(await app.call(method, `${at(id)}?per_page=none`, { token, payload: bad }));
        assert.deepEqual(badly, hidden, `${method} ${path} badly asked`);
      }
    }
  });

  test("every write: visible but not allowed is 403 before parameters and children are checked", async () => {
    const [group, project] = [await place("group", "public"), await place("project", "public")];
    // Everybody who sees an item may write about it; what else they may do depends on the item.
    const forAnyone = [
      /\/notification_settings$/,
      /\/(star|unstar)$/,
      /^\/projects\/:id\/(issues(\/|$)|merge_requests\/|snippets\/)/,
      /\/epics\/:epic_i?id\/(notes|discussions|award_emoji|todo|(un)?subscribe)(\/|$)/,
    ];
    let tried = 0;
    for (const { method, path, at } of nested) {
      if (method === "GET" || forAnyone.some((some) => some.test(path))) continue;
      const id = (path.startsWith("/groups") ? group : project).split("/")[2] ?? "";
      const reason = path.includes("/repository/")
        ? /^403 Forbidden - You are not allowed to push code to this project$/
        : /^403 Forbidden - Requires (an administrator|at least the (Guest|Planner|Reporter|Developer|Maintainer|Owner) role in the (group|project))$/;
      for (const payload of [{}, { access_level: "x", name: {}, group_id: "y" }]) {
        const { status, body } = await app.call(method, at(id), { token: stranger.token, payload });
        assert.equal(status, 403, `${method} ${path}`);
        assert.match(body.message, reason, `${method} ${path}`);
        tried += 1;
      }
    }
    assert.ok(tried >= 30, String(tried));
  });

  test("a child of another parent is 404, byte for byte as if absent, and stays unchanged", async () => {
    const [one, other] = [await place("group"), await place("group")];
    const theirs = await app.makeUser();
    await insert.member(theirs, { group_id: Number(other.split("/")[2]) }, "guest");
    const shared = await insert.group(undefined, { visibility: VISIBILITIES.public });
    await insert.share({ group_id: Number(other.split("/")[2]) }, shared, "guest");
    await app.put(other, { token: owner.token, payload: { description: "Written, so that there is an event" } });
    const [event] = (await app.get(`${other}/audit_events`, { token: owner.token })).body;
    const before = (await app.get(`${other}/members`, { token: owner.token })).text;

    for (const [method, path, child] of [
      ["GET", "members", theirs.id],
      ["GET", "members/all", theirs.id],
      ["PUT", "members", theirs.id],
      ["DELETE", "members", theirs.id],
      ["DELETE", "share", shared],
      ["GET", "audit_events", event.id],
    ] as const) {
      const ask = async (id: number) =>
        bytes(await app.call(method, `${one}/${path}/${id}`, { token: owner.token, payload: { access_level: 50 } }));
      const foreign = await ask(child);
      assert.equal(foreign.status, 404, `${method} ${path}`);
      assert.deepEqual(foreign, await ask(NOWHERE), `${method} ${path}`);
    }
    assert.equal((await app.get(`${other}/members`, { token: owner.token })).text, before);
    assert.equal((await app.get(other, { token: owner.token })).body.shared_with_groups.length, 1);
  });

  test("what is named in a parameter and hidden is as if it did not exist", async () => {
    const [mine, hidden] = [await place("group"), await insert.group(undefined, { visibility: VISIBILITIES.private })];
    const project = await insert.project(Number(mine.split("/")[2]));
    for (const [method, path, payload] of [
      ["POST", `${mine}/share`, (group_id: number) => ({ group_id, group_access: 10 })],
      ["POST", `${mine}/transfer`, (group_id: number) => ({ group_id })],
      ["POST", "/groups", (parent_id: number) => ({ name: "Below", path: "below", parent_id })],
      ["POST", "/projects", (namespace_id: number) => ({ name: "In there", namespace_id })],
      ["PUT", `/projects/${project}/transfer`, (namespace: number) => ({ namespace })],
      ["POST", `/projects/${project}/share`, (group_id: number) => ({ group_id, group_access: 10 })],
    ] as const) {
      const ask = async (id: number) =>
        bytes(await app.call(method, path, { token: owner.token, payload: payload(id) }));
      const refused = await ask(hidden);
      assert.equal(refused.status, 404, `${method} ${path}: ${refused.text}`);
      assert.deepEqual(refused, await ask(NOWHERE), `${method} ${path}`);
    }
  });
});
