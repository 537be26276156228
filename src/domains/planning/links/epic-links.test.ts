import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { testApp, type TestUser } from "#test/support/app.ts";
import { type Item, linkApp, type LinkApp } from "./test-support.ts";

const EPIC_FIELDS = [
  ...["id", "iid", "color", "text_color", "group_id", "parent_id", "parent_iid", "title", "description"],
  ...["confidential", "author", "start_date", "end_date", "due_date", "state", "web_url", "references", "created_at"],
  ...["updated_at", "closed_at", "labels", "upvotes", "downvotes", "_links"],
];
const LINK_FIELDS = ["related_epic_link_id", "link_type", "link_created_at", "link_updated_at"];

describe("links between epics", () => {
  let links: LinkApp;
  let user: TestUser;
  let group: number;
  before(async () => {
    links = await linkApp();
    user = await links.app.makeUser();
    group = await links.group(user);
  });
  after(() => links.app.close());

  const get = (path: string, { token }: { token?: string } = user) => links.app.get(path, { token });
  const list = async (item: Item) => (await get(`${item.path}/related_epics`)).body;
  const pair = async () => [await links.epic(group), await links.epic(group)] as const;

  test("a Guest links epics, and the link reads from the epic in the path", async () => {
    const [a, b] = await pair();
    const made = await links.linked(user, a, b, "is_blocked_by");
    assert.deepEqual([made.source_epic.id, made.target_epic.id, made.link_type], [a.id, b.id, "is_blocked_by"]);
    assert.deepEqual(Object.keys(made).toSorted(), [
      ...["created_at", "id", "link_type", "source_epic", "target_epic", "updated_at"],
    ]);
    const [seen] = await list(b);
    assert.deepEqual([seen.id, seen.related_epic_link_id, seen.link_type], [a.id, made.id, "blocks"]);
    const [stored] = (await get(`/groups/${group}/related_epic_links`)).body;
    assert.deepEqual([stored.source_epic.id, stored.target_epic.id, stored.link_type], [b.id, a.id, "blocks"]);
    const gone = await links.app.delete(`${b.path}/related_epics/${made.id}`, { token: user.token });
    assert.deepEqual([gone.status, gone.body.source_epic.id, gone.body.link_type], [200, b.id, "blocks"]);
    assert.deepEqual(await list(a), []);
  });

  test("many at once that name no group are all refused", async () => {
    const epic = await links.epic(group);
    const payload = { target_group_id: "9".repeat(19), target_epic_iid: 1 };
    const send = () => links.app.post(`${epic.path}/related_epics`, { token: user.token, payload });
    // More than there are connections.
    const replies = await Promise.all(Array.from({ length: 24 }, send));
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [404]);
  });

  test("the records have the documented fields", async () => {
    const [a, b] = await pair();
    const made = await links.linked(user, a, b);
    assert.equal(made.link_type, "relates_to", "the default type");
    const [listed] = await list(a);
    const lacks = (record: object, names: readonly string[]) => names.filter((name) => !(name in record));
    assert.deepEqual(lacks(listed, [...EPIC_FIELDS, ...LINK_FIELDS]), []);
    const [stored] = (await get(`/groups/${group}/related_epic_links?created_after=${made.created_at}`)).body;
    for (const epic of [made.source_epic, made.target_epic, stored.source_epic, stored.target_epic]) {
      assert.deepEqual(lacks(epic, EPIC_FIELDS), []);
      assert.deepEqual(lacks(epic.references, ["short", "relative", "full"]), []);
      assert.deepEqual(lacks(epic["_links"], ["self", "epic_issues", "group", "parent"]), []);
    }
  });

  test("the epics of one are listed by the age of their links", async () => {
    const item = await links.epic(group);
    const [a, b, c] = [await links.epic(group), await links.epic(group), await links.epic(group)];
    await links.linked(user, item, c);
    await links.linked(user, a, item, "blocks");
    await links.linked(user, item, b);
    assert.deepEqual(
      (await list(item)).map(({ id }: { id: number }) => id),
      [c.id, a.id, b.id],
    );
  });

  test("an epic has at most 100 links", async () => {
    const [item, one] = await pair();
    await sql`
      with made as (
        insert into epics (group_id, iid, title) select ${group}, 1000000 + n, 'x' from generate_series(1, 100) n returning id
      )
      insert into epic_links (source_id, target_id, link_type) select id, ${item.id}, 'relates_to' from made`.execute(
      links.app.services.db.write,
    );
    const { status, body } = await links.link(user, one, item);
    assert.deepEqual([status, body.message], [422, "An epic has at most 100 links"]);
  });

  test("refusals are those of issue links", async () => {
    const [a, b] = await pair();
    await links.linked(user, a, b);
    const again = await links.link(user, b, a, "blocks");
    assert.deepEqual([again.status, again.body.message], [409, "Epic(s) already assigned"]);
    const itself = await links.link(user, a, a);
    assert.deepEqual(
      [itself.status, itself.body.message],
      [422, `&${a.iid} cannot be added: cannot be related to itself`],
    );
  });

  test("parameters may stand in the query", async () => {
    const [a, b] = await pair();
    const path = `${a.path}/related_epics?target_group_id=${group}&target_epic_iid=${b.iid}&link_type=blocks`;
    assert.equal((await links.app.post(path, { token: user.token, payload: {} })).body.link_type, "blocks");
  });

  test("the group of the target is named by its id or full path; null and a blank name that in the path", async () => {
    const { full_path } = (await get(`/groups/${group}`)).body;
    for (const target_group_id of [String(group), full_path, null, ""]) {
      const [a, b] = await pair();
      const payload = { target_group_id, target_epic_iid: String(b.iid) };
      const { status, body } = await links.app.post(`${a.path}/related_epics`, { token: user.token, payload });
      assert.deepEqual([status, body.target_epic?.id], [201, b.id]);
    }
    for (const target_group_id of [0, "0"]) {
      const [a, b] = await pair();
      const payload = { target_group_id, target_epic_iid: b.iid };
      const { status, body } = await links.app.post(`${a.path}/related_epics`, { token: user.token, payload });
      assert.deepEqual([status, body], [404, { message: "404 Group Not Found" }]);
    }
    const [a] = await pair();
    const refused = await links.app.post(`${a.path}/related_epics`, { token: user.token });
    assert.deepEqual(
      [refused.status, refused.body],
      [400, { error: "target_group_id is missing, target_epic_iid is missing" }],
    );
  });

  test("what is archived gets and loses no links, at either end", async () => {
    const other = await links.group(user, "owner");
    const [a, b, c] = [await links.epic(group), await links.epic(other), await links.epic(other)];
    const { id } = await links.linked(user, a, b);
    const { write } = links.app.services.db;
    await write.updateTable("namespaces").set({ archived: true }).where("id", "=", other).execute();
    assert.equal((await links.link(user, a, c)).status, 403);
    assert.equal((await links.link(user, c, a)).status, 403);
    for (const { path } of [a, b])
      assert.equal((await links.app.delete(`${path}/related_epics/${id}`, { token: user.token })).status, 403);
    assert.equal((await list(b)).length, 1);
  });

  test("a parent is not linked to its child", async () => {
    const parent = await links.epic(group);
    const child = await links.epic(group, { parent_id: parent.id });
    for (const [one, other] of [
      [parent, child],
      [child, parent],
    ] as const)
      assert.equal((await links.link(user, one, other)).status, 422);
  });

  test("both groups must know the caller as Guest", async () => {
    const open = await links.insert.group(undefined, { visibility: 20 });
    const [theirs, own] = [await links.epic(open), await links.epic(group)];
    const refused = await links.link(user, own, theirs);
    const message = "403 Forbidden - Requires at least the Guest role in the group of the other epic";
    assert.deepEqual([refused.status, refused.body], [403, { message }]);
    assert.equal((await links.link(user, theirs, own)).status, 403);
    await links.insert.member(user, { group_id: open }, "guest");
    const { id } = await links.linked(user, theirs, own);
    await links.app.services.db.write
      .deleteFrom("members")
      .where("group_id", "=", open)
      .where("user_id", "=", user.id)
      .execute();
    for (const { path } of [own, theirs])
      assert.equal((await links.app.delete(`${path}/related_epics/${id}`, { token: user.token })).status, 403);
    assert.equal((await list(own)).length, 1, "who sees both groups still sees the link");
  });

  test("everyone reads the links of a public group", async () => {
    const open = await links.group(user, "owner", { visibility: 20 });
    const [a, b] = [await links.epic(open), await links.epic(open)];
    await links.linked(user, a, b);
    assert.equal((await get(`${a.path}/related_epics`, {})).body.length, 1);
    assert.equal((await get(`/groups/${open}/related_epic_links`, {})).body.length, 1);
    assert.equal((await get(`/groups/${group}/related_epic_links`, {})).status, 404);
    assert.equal((await links.app.post(`${a.path}/related_epics`)).status, 401);
  });

  test("the list of a group has the links of its subgroups, by age, within inclusive times", async () => {
    const top = await links.group(user);
    const sub = await links.insert.group(top, { visibility: 0 });
    const [a, b, c] = [await links.epic(sub), await links.epic(top), await links.epic(group)];
    const first = await links.linked(user, a, b);
    const second = await links.linked(user, c, a);
    const ids = async (query = "", of = top): Promise<number[]> =>
      (await get(`/groups/${of}/related_epic_links?${query}`)).body.map(({ id }: { id: number }) => id);
    assert.deepEqual(await ids(), [first.id, second.id]);
    assert.deepEqual(await ids("", sub), [first.id, second.id]);
    assert.deepEqual(await ids("per_page=1&page=2"), [second.id]);
    assert.deepEqual(await ids(`created_after=${first.created_at}&created_before=${first.created_at}`), [first.id]);
    assert.deepEqual(await ids(`updated_after=${second.updated_at}&updated_before=${second.updated_at}`), [second.id]);
    assert.deepEqual(await ids("created_before=2000-01-01T00:00:00Z"), []);
    assert.equal((await get(`/groups/${top}/related_epic_links?created_after=soon`)).status, 400);
    // A plus sign in a query is a space.
    assert.equal((await get(`/groups/${top}/related_epic_links?created_after=2030-01-01T00:00:00+01:00`)).status, 400);
  });

  test("all of them are deprecated and need the plan Ultimate", async () => {
    const [a] = await pair();
    assert.match((await get(`${a.path}/related_epics`)).headers["deprecation"] ?? "", /^@\d+$/);
    const premium = await testApp({ env: { FAIRLEAD_PLAN: "premium" } });
    try {
      const { token } = await premium.makeUser();
      for (const [method, path] of [
        ["GET", "/groups/1/related_epic_links"],
        ["GET", "/groups/1/epics/1/related_epics"],
        ["POST", "/groups/1/epics/1/related_epics"],
        ["DELETE", "/groups/1/epics/1/related_epics/1"],
      ] as const)
        assert.equal((await premium.call(method, path, { token })).status, 403, path);
    } finally {
      await premium.close();
    }
  });
});
