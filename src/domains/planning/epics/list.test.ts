import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { type EpicGroup, epicsOn } from "./test-support.ts";

describe("lists of epics", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  let top: EpicGroup;
  let group: EpicGroup;
  let planner: TestUser;
  let guest: TestUser;
  const ids: Record<string, number> = {};
  const iids: Record<string, number> = {};

  before(async () => {
    app = await testApp();
    on = epicsOn(app);
    top = await on.epicGroup();
    group = await on.epicGroup(top);
    const below = await on.epicGroup(group);
    const open = await on.epicGroup(group, { visibility: VISIBILITIES.public });
    planner = await on.inRole(group, "planner");
    guest = await on.inRole(group, "guest");
    const make = async (name: string, at: EpicGroup, fields: object = {}, by?: TestUser) => {
      const epic = await on.created(at, { title: name, ...fields }, by);
      ids[name] = epic.id;
      iids[name] = epic.iid;
    };
    await make("above", top, { labels: "red" });
    await make("zeal", group, { description: "All about zebras", created_at: "2001-01-01T00:00:00Z" });
    await make("apple", group, { labels: "red,blue" });
    await make("secret", group, { confidential: true, labels: "red" });
    await make("closed", group, {}, planner);
    await make("inner", below, { labels: "blue", parent_id: ids["apple"] });
    await make("public", open);
    await on.put(group, iids["closed"]!, { state_event: "close" });
    const time = "2002-02-02T02:02:02.000Z";
    await app.services.db.write.updateTable("epics").set({ updated_at: time }).where("id", "=", ids["zeal"]!).execute();
  });
  after(() => app.close());

  const nameOf = ({ id }: { id: number }) => Object.keys(ids).find((name) => ids[name] === id) ?? String(id);
  async function listed(query: string, user: TestUser | undefined = planner): Promise<string[]> {
    const { status, body, text } = await app.get(`${group.epics}?${query}`, { token: user?.token });
    assert.equal(status, 200, text);
    return body.map(nameOf);
  }

  const ALL = ["apple", "closed", "inner", "public", "secret", "zeal"];
  const LISTS: readonly [query: string, expected: readonly string[]][] = [
    ["", ALL],
    ["state=all", ALL],
    ["state=opened", ["apple", "inner", "public", "secret", "zeal"]],
    ["state=closed", ["closed"]],
    ["include_descendant_groups=false", ["apple", "closed", "secret", "zeal"]],
    ["include_descendant_groups=false&include_ancestor_groups=true", ["apple", "closed", "secret", "zeal"]],
    ["labels=red", ["apple", "secret"]],
    ["labels=red,blue", ["apple"]],
    ["labels[]=blue", ["apple", "inner"]],
    ["labels=Any", ["apple", "inner", "secret"]],
    ["labels=none", ["closed", "public", "zeal"]],
    ["labels=unknown", []],
    ["labels=", ALL],
    ["not[labels]=blue", ["closed", "public", "secret", "zeal"]],
    ["not[labels]=blue,red", ["closed", "public", "zeal"]],
    ["labels=red&not[labels]=blue", ["secret"]],
    ["confidential=true", ["secret"]],
    ["confidential=false", ["apple", "closed", "inner", "public", "zeal"]],
    ["search=zebra", ["zeal"]],
    ["search=APPLE", ["apple"]],
    ["search=ZEBRAS%20about", ["zeal"]],
    ["search=%25", []],
    ["created_before=2001-01-01T00:00:00Z", ["zeal"]],
    ["created_after=2001-01-01T00:00:01Z", ["apple", "closed", "inner", "public", "secret"]],
    ["updated_before=2002-02-02T02:02:02Z", ["zeal"]],
    ["updated_after=2002-02-02T02:02:03Z", ["apple", "closed", "inner", "public", "secret"]],
  ];
  for (const [query, expected] of LISTS) {
    test(`?${query}`, async () => {
      assert.deepEqual((await listed(`per_page=100&${query}`)).toSorted(), expected);
    });
  }

  test("by author, parent and number", async () => {
    assert.deepEqual(await listed(`author_id=${planner.id}`), ["closed"]);
    assert.deepEqual(await listed(`author_username=${planner.username.toUpperCase()}`), ["closed"]);
    assert.deepEqual(await listed("author_username=nobody-at-all"), []);
    assert.deepEqual(await listed(`parent_id=${ids["apple"]}`), ["inner"]);
    const two = `iids[]=${iids["apple"]}&iids[]=${iids["zeal"]}&include_descendant_groups=false`;
    assert.deepEqual((await listed(two)).toSorted(), ["apple", "zeal"]);
  });

  test("the groups above are shown to who may see their epics", async () => {
    const query = "include_ancestor_groups=true&labels=red";
    assert.deepEqual((await listed(query, top.owner)).toSorted(), ["above", "apple", "secret"]);
    assert.deepEqual((await listed(query)).toSorted(), ["apple", "secret"]);
    assert.deepEqual((await listed(query, guest)).toSorted(), ["apple"]);
  });

  test("each sees what they may see, and is told how many that are", async () => {
    const { headers } = await app.get(group.epics, { token: guest.token });
    assert.equal(headers["x-total"], "5");
    assert.deepEqual((await listed("per_page=100", guest)).toSorted(), ["apple", "closed", "inner", "public", "zeal"]);
    const outsider = await app.makeUser();
    assert.equal((await app.get(group.epics, { token: outsider.token })).status, 404);
  });

  test("in every order, as one page, with offset and with keyset paging", async () => {
    assert.equal((await listed("")).at(-1), "zeal", "newest first by default");
    for (const order of ["created_at", "updated_at", "title"]) {
      for (const sort of ["asc", "desc"]) {
        const address = `${group.epics}?order_by=${order}&sort=${sort}`;
        const { token } = planner;
        const { body } = await app.get(`${address}&per_page=100`, { token });
        const way = sort === "asc" ? 1 : -1;
        const expected = body.toSorted((a: Record<string, any>, b: Record<string, any>) =>
          a[order] === b[order] ? (a["id"] - b["id"]) * way : a[order] < b[order] ? -way : way,
        );
        assert.deepEqual(body.map(nameOf), expected.map(nameOf), address);
        const byOffset: string[] = [];
        for (const page of [1, 2, 3])
          byOffset.push(...(await app.get(`${address}&per_page=2&page=${page}`, { token })).body.map(nameOf));
        assert.deepEqual(byOffset, body.map(nameOf));
        const byKeyset: string[] = [];
        let next: string | undefined = `${address}&per_page=2&pagination=keyset`;
        while (next) {
          const { body: rows, headers } = await app.get(next, { token });
          byKeyset.push(...rows.map(nameOf));
          next = /<[^>]*\/api\/v4([^>]*)>; rel="next"/.exec(headers["link"] ?? "")?.[1];
        }
        assert.deepEqual(byKeyset, body.map(nameOf));
      }
    }
  });

  test("invalid parameters are refused", async () => {
    for (const query of ["state=open", "order_by=size", "author_id=x", "created_after=x", "parent_id=x", "iids[]=x"])
      assert.equal((await app.get(`${group.epics}?${query}`, { token: planner.token })).status, 400, query);
  });
});
