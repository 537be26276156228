import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { labelsOn, type LabelPlace } from "./test-support.ts";

const PUBLIC = { visibility: VISIBILITIES.public };

describe("lists of labels", () => {
  let app: TestApp;
  let on: ReturnType<typeof labelsOn>;
  before(async () => {
    app = await testApp();
    on = labelsOn(app);
  });
  after(() => app.close());

  const names = async (place: LabelPlace, query = "", user?: { readonly token?: string }) =>
    (await on.listed(place, query, user)).map(({ name }) => name);

  /** A public group with a public project, a private project, and a private subgroup with a project; a label in each. */
  async function tree() {
    const owner = await app.makeUser();
    const top = await on.group(undefined, PUBLIC);
    await on.member(owner, { group_id: top }, "owner");
    const group = await on.group(top, PUBLIC);
    const subgroup = await on.group(group, { visibility: VISIBILITIES.private });
    const places = {
      top: on.placeAt("group", top, owner),
      group: on.placeAt("group", group, owner),
      subgroup: on.placeAt("group", subgroup, owner),
      open: on.placeAt("project", await on.project(group, PUBLIC), owner),
      closed: on.placeAt("project", await on.project(group), owner),
      inner: on.placeAt("project", await on.project(subgroup), owner),
    };
    for (const [name, place] of Object.entries(places)) await on.created(place, { name });
    return { ...places, owner };
  }

  test("a project has its own labels and those of the groups above, by name", async () => {
    const { top, open, inner } = await tree();
    await on.created(top, { name: "zebra" });
    await on.created(top, { name: "Alpha" });
    assert.deepEqual(await names(open), ["Alpha", "group", "open", "top", "zebra"]);
    assert.deepEqual(await names(inner), ["Alpha", "group", "inner", "subgroup", "top", "zebra"]);
    assert.deepEqual(await names(inner, "include_ancestor_groups=false"), ["inner"]);
    assert.deepEqual(await names(open, "sort=desc"), ["zebra", "top", "open", "group", "Alpha"]);
  });

  test("a group has its own and those above; those below and of projects on request", async () => {
    const { group } = await tree();
    assert.deepEqual(await names(group), ["group", "top"]);
    assert.deepEqual(await names(group, "include_ancestor_groups=false"), ["group"]);
    assert.deepEqual(await names(group, "include_descendant_groups=true"), ["group", "subgroup", "top"]);
    assert.deepEqual(await names(group, "only_group_labels=false"), ["closed", "group", "open", "top"]);
    assert.deepEqual(
      await names(group, "only_group_labels=false&include_descendant_groups=true&include_ancestor_groups=false"),
      ["closed", "group", "inner", "open", "subgroup"],
    );
  });

  test("labels of groups and projects that the caller may not see are left out", async () => {
    const { group, subgroup, closed } = await tree();
    const everything = "only_group_labels=false&include_descendant_groups=true";
    const member = async (of: object): Promise<TestUser> => {
      const user = await app.makeUser();
      await on.member(user, of, "guest");
      return user;
    };
    assert.deepEqual(await names(group, everything, {}), ["group", "open", "top"]);
    assert.deepEqual(await names(group, everything, await app.makeUser()), ["group", "open", "top"]);
    const inSubgroup = await member({ group_id: subgroup.id });
    assert.deepEqual(await names(group, everything, inSubgroup), ["group", "inner", "open", "subgroup", "top"]);
    const inProject = await member({ project_id: closed.id });
    assert.deepEqual(await names(group, everything, inProject), ["closed", "group", "open", "top"]);
    const inGroup = await member({ group_id: group.id });
    assert.equal((await names(group, everything, inGroup)).length, 6);
  });

  test("search finds parts of names and descriptions, and takes no patterns", async () => {
    const { place } = await on.nested();
    await on.created(place, { name: "Backend", description: "Servers 100% ours" });
    await on.created(place, { name: "frontend" });
    await on.created(place, { name: "docs", archived: true });
    assert.deepEqual(await names(place, "search=END"), ["Backend", "frontend"]);
    assert.deepEqual(await names(place, "search=0%25%20o"), ["Backend"]);
    for (const none of ["b%25d", "_ocs", "%5C"]) assert.deepEqual(await names(place, `search=${none}`), [], none);
    assert.equal((await names(place, "search=%20")).length, 3);
    assert.deepEqual(await names(place, "archived=true"), ["docs"]);
    assert.deepEqual(await names(place, "archived=false"), ["Backend", "frontend"]);
  });

  test("keyset paging shows every label once, whichever group it is of", async () => {
    const { top, group, inner } = await tree();
    for (const [index, place] of [top, group, inner, top, inner].entries())
      await on.created(place, { name: `page ${index}` });
    const { token } = inner.owner;
    const all = await names(inner, "per_page=100");
    const seen: string[] = [];
    let next: string | undefined = `${inner.labels}?pagination=keyset&per_page=2`;
    while (next) {
      const page: Awaited<ReturnType<TestApp["get"]>> = await app.get(next, { token });
      assert.ok(page.body.length <= 2);
      seen.push(...page.body.map(({ name }: { name: string }) => name));
      next = /<[^>]*(\/api\/v4[^>]*)>; rel="next"/.exec(page.headers["link"] ?? "")?.[1];
    }
    assert.deepEqual(seen, all);
  });

  test("counts are of the issues that the caller may see", async () => {
    const { group, open, closed, owner } = await tree();
    await on.issue(open, { labels: "group,open" });
    await on.issue(open, { labels: "group", confidential: true });
    await on.issue(closed, { labels: "group" });
    const ended = await on.issue(open, { labels: "group" });
    await sql`update issues set state = 'closed', closed_at = now() where id = ${ended.id}`.execute(
      app.services.db.write,
    );
    const counts = async (place: LabelPlace, label: string, user?: { readonly token?: string }) => {
      const found = (await on.listed(place, "with_counts=true", user)).find(({ name }) => name === label);
      return [found?.["open_issues_count"], found?.["closed_issues_count"], found?.["open_merge_requests_count"]];
    };
    assert.deepEqual(await counts(open, "group"), [2, 1, 0], "in the project only");
    assert.deepEqual(await counts(open, "open"), [1, 0, 0]);
    assert.deepEqual(await counts(open, "top"), [0, 0, 0]);
    assert.deepEqual(await counts(open, "group", {}), [1, 1, 0], "a confidential issue is not counted");
    assert.deepEqual(await counts(group, "group"), [3, 1, 0]);
    assert.deepEqual(await counts(group, "group", {}), [1, 1, 0]);
    assert.deepEqual(await counts(group, "group", await app.makeUser()), [1, 1, 0]);
    const outsider = await app.makeUser();
    await on.member(outsider, { project_id: closed.id }, "guest");
    assert.deepEqual(await counts(group, "group", outsider), [2, 1, 0]);

    await sql`update projects set issues_access_level = 'private' where id = ${open.id}`.execute(app.services.db.write);
    assert.deepEqual(await counts(open, "group", {}), [0, 0, 0]);
    assert.deepEqual(await counts(group, "group", {}), [0, 0, 0]);
    assert.deepEqual(await counts(open, "group", owner), [2, 1, 0]);
    await sql`update projects set issues_access_level = 'disabled' where id = ${open.id}`.execute(
      app.services.db.write,
    );
    assert.deepEqual(await counts(open, "group", owner), [0, 0, 0], "whoever asks");
    assert.deepEqual(await counts(group, "group", owner), [1, 0, 0]);
    assert.equal("open_issues_count" in (await on.listed(open))[0]!, false);
  });
});
