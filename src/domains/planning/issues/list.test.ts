import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { dayFromNow } from "#domains/organization/members/test-support.ts";
import { MAX_TEXT_BYTES } from "#domains/conversation/items/descriptions.ts";
import type { Reply, TestUser } from "#test/support/app.ts";
import { accepted, type IssueProject, type IssuesApp, issuesApp } from "./test-support.ts";

describe("lists of issues", () => {
  let on: IssuesApp;
  let at: IssueProject;
  let author: TestUser;
  let assignee: TestUser;

  before(async () => {
    on = await issuesApp();
    at = await on.publicProject("owner");
    author = await on.app.makeUser();
    assignee = await on.app.makeUser();
    await on.create(at, { title: "Anchor lost", created_at: "2020-01-01", labels: "bug,urgent", weight: 2 });
    await on.create(at, {
      ...{ title: "Buoy adrift", created_at: "2020-01-02", labels: "bug", description: "near the anchor" },
      ...{ due_date: dayFromNow(-40), issue_type: "incident" },
    });
    await on.create(at, { title: "Chart", created_at: "2020-01-03", assignee_ids: [assignee.id], weight: 0 });
    await on.create(at, { title: "Deck", created_at: "2020-01-04", due_date: dayFromNow(0), confidential: true });
    await on.put(at, 2, { state_event: "close" }, at.user);
    await on.create(at, { title: "Ebb" }, author);
    await sql`update issues set created_at = '2020-01-05', updated_at = '2020-01-05' where project_id = ${at.id} and iid = 5`.execute(
      on.app.services.db.write,
    );
  });
  after(() => on.app.close());

  /** The first letters of the titles that a query finds, oldest first unless it says otherwise. */
  async function found(query: string, user = at.user, path = at.issues): Promise<string> {
    const sort = query.includes("sort=") ? "" : "&sort=asc";
    const titles = await on.titles(`${path}?${query}${sort}`, user);
    return titles.map((title) => title[0]).join("");
  }

  const FILTERS: readonly (readonly [query: string, expected: string])[] = [
    ["", "ABCDE"],
    ["state=all", "ABCDE"],
    ["state=opened", "ACDE"],
    ["state=closed", "B"],
    ["labels=bug", "AB"],
    ["labels=bug,urgent", "A"],
    ["labels[]=bug&labels[]=urgent", "A"],
    ["labels=Bug", ""],
    ["labels=None", "CDE"],
    ["labels=none", "CDE"],
    ["labels=Any", "AB"],
    ["not[labels]=urgent", "BCDE"],
    ["not[labels]=urgent,bug", "CDE"],
    ["milestone=None", "ABCDE"],
    ["milestone=Any", ""],
    ["milestone=v1", ""],
    ["not[milestone]=v1", "ABCDE"],
    ["milestone_id=None", "ABCDE"],
    ["assignee_id=None", "ABDE"],
    ["assignee_id=0", "ABDE"],
    ["assignee_id=Any", "C"],
    ["search=anchor", "AB"],
    ["search=ANCHOR&in=title", "A"],
    ["search=anchor&in=description", "B"],
    ["search=anchor&in=title,description", "AB"],
    ["search=anchor lost", "A"],
    ["search=%25", ""],
    ["due_date=0", "ACE"],
    ["due_date=any", "BD"],
    ["due_date=today", "D"],
    ["due_date=week", "D"],
    ["due_date=month", "D"],
    ["due_date=overdue", ""],
    ["due_date=tomorrow", ""],
    ["due_date=next_month_and_previous_two_weeks", "D"],
    ["created_after=2020-01-03T00:00:00Z", "CDE"],
    ["created_before=2020-01-02T00:00:00Z", "AB"],
    ["updated_before=2020-06-01T00:00:00Z", "E"],
    ["updated_after=2020-06-01T00:00:00Z", "ABCD"],
    ["confidential=true", "D"],
    ["confidential=false", "ABCE"],
    ["issue_type=incident", "B"],
    ["weight=2", "A"],
    ["weight=None", "BDE"],
    ["weight=Any", "AC"],
    ["not[weight]=2", "BCDE"],
    ["iids[]=1&iids[]=3", "AC"],
    ["not[iids]=1,3", "BDE"],
    ["epic_id=None", "ABCDE"],
    ["epic_id=Any", ""],
    ["epic_id=4503599627370495", ""],
    ["scope=created_by_me", "ABCD"],
    ["scope=assigned_to_me", ""],
    ["scope=all", "ABCDE"],
  ];

  for (const [query, expected] of FILTERS) {
    test(`${query || "no filter"} finds ${expected || "nothing"}`, async () => {
      assert.equal(await found(query), expected);
      assert.equal(await found(query, at.user, `/groups/${at.groupId}/issues`), expected, "in the group");
      const everywhere = query.includes("scope") ? query : `scope=all&${query}`;
      const issues = await on.get(`/issues?${everywhere}&sort=asc&per_page=100`, at.user);
      const own = issues.filter(({ project_id }: { project_id: number }) => project_id === at.id);
      assert.equal(own.map(({ title }: { title: string }) => title[0]).join(""), expected, "everywhere");
      if (query.includes("state=") || query.includes("due_date=")) return;
      const { statistics } = await on.get(`/projects/${at.id}/issues_statistics?${query}`, at.user);
      assert.equal(statistics.counts.all, expected.length);
      assert.equal(statistics.counts.opened + statistics.counts.closed, expected.length);
    });
  }

  test("people are named by id or username", async () => {
    assert.equal(await found(`author_id=${author.id}`), "E");
    assert.equal(await found(`author_username=${author.username.toUpperCase()}`), "E");
    assert.equal(await found(`not[author_id]=${author.id}`), "ABCD");
    assert.equal(await found(`not[author_username]=${author.username}`), "ABCD");
    assert.equal(await found(`assignee_id=${assignee.id}`), "C");
    assert.equal(await found(`assignee_username[]=${assignee.username}`), "C");
    assert.equal(await found(`not[assignee_id]=${assignee.id}`), "ABDE");
    assert.equal(await found(`not[assignee_username][]=${assignee.username}`), "ABDE");
    assert.equal(await found("author_username=nobody-of-that-name"), "");
  });

  test("one's own issues", async () => {
    assert.equal(await found("", author, "/issues"), "E");
    assert.equal(await found("scope=created-by-me", author, "/issues"), "E");
    assert.equal(await found("", assignee, "/issues"), "");
    assert.equal(await found("scope=assigned_to_me", assignee, "/issues"), "C");
    assert.equal(await found("scope=assigned-to-me&state=closed", assignee, "/issues"), "");
    const { statistics } = await on.get("/issues_statistics", at.user);
    assert.deepEqual(statistics.counts, { all: 4, opened: 3, closed: 1 });
  });

  const ORDERS: readonly (readonly [order: string, ascending: string, descending: string])[] = [
    ["created_at", "ABCDE", "EDCBA"],
    ["title", "ABCDE", "EDCBA"],
    ["due_date", "BDACE", "DBECA"],
    ["weight", "CABDE", "ACEDB"],
    ["relative_position", "ABCDE", "EDCBA"],
    ["milestone_due", "ABCDE", "EDCBA"],
    ["popularity", "ABCDE", "EDCBA"],
    ["label_priority", "BACDE", "ABEDC"],
    ["priority", "BACDE", "ABEDC"],
  ];

  for (const [by, ascending, descending] of ORDERS) {
    test(`ordered by ${by}, with those without a value at the end`, async () => {
      const ids = new Map(
        (await on.app.services.db.write.selectFrom("labels").selectAll().where("project_id", "=", at.id).execute()).map(
          ({ name, id }) => [name, id],
        ),
      );
      await on.app.services.db.write
        .insertInto("label_priorities")
        .values([
          { project_id: at.id, label_id: ids.get("bug") ?? 0, priority: 2 },
          { project_id: at.id, label_id: ids.get("urgent") ?? 0, priority: 5 },
        ])
        .onConflict((conflict) => conflict.columns(["project_id", "label_id"]).doNothing())
        .execute();
      if (by.endsWith("priority")) {
        // The label `bug` of the first issue would rank it as high as the second.
        await sql`delete from label_links where issue_id in (select id from issues where project_id = ${at.id} and iid = 1)
          and label_id = ${ids.get("bug")}`.execute(on.app.services.db.write);
      }
      for (const path of [at.issues, `/groups/${at.groupId}/issues`]) {
        assert.equal(await found(`order_by=${by}&sort=asc`, at.user, path), ascending);
        assert.equal(await found(`order_by=${by}&sort=desc`, at.user, path), descending);
      }
    });
  }

  test("keyset pages have every issue once", async () => {
    for (const path of [at.issues, `/groups/${at.groupId}/issues`]) {
      for (const order of ["created_at", "updated_at"]) {
        let next: string | undefined = `${path}?pagination=keyset&per_page=2&order_by=${order}`;
        const titles: string[] = [];
        while (next !== undefined) {
          const { body, headers } = await on.app.get(next, { token: at.user.token });
          titles.push(...body.map(({ title }: { title: string }) => title[0]));
          next = /<http:\/\/localhost([^>]+)>; rel="next"/.exec(headers["link"] ?? "")?.[1];
        }
        assert.equal(titles.toSorted().join(""), "ABCDE");
      }
    }
    const refused = await on.app.get(`${at.issues}?pagination=keyset&order_by=weight`, { token: at.user.token });
    assert.equal(refused.status, 405);
  });

  test("references are relative to the project or group of the request", async () => {
    const relative = async (path: string) => {
      const issues = await on.get(path, at.user);
      const [own] = issues.filter(({ project_id, iid }: any) => project_id === at.id && iid === 1);
      return [own.references.relative, own.references.full];
    };
    const [inProject, full] = await relative(`${at.issues}?iids[]=1`);
    const [inGroup] = await relative(`/groups/${at.groupId}/issues?iids[]=1`);
    const [everywhere] = await relative("/issues?iids[]=1");
    assert.equal(inProject, "#1");
    assert.equal(inGroup, full.split("/")[1]);
    assert.equal(everywhere, full);
  });

  test("a group lists the issues of the groups below it", async () => {
    const top = await on.insert.group();
    const below = await on.insert.group(top);
    const project = await on.insert.project(below, { visibility: 20 });
    await on.app.post(`/projects/${project}/issues`, { token: author.token, payload: { title: "Deep" } });
    assert.deepEqual(await on.titles(`/groups/${top}/issues`), ["Deep"]);
  });

  test("more issues than are collected and sorted: only what the caller may see, by every way to find it", async () => {
    const group = await on.insert.group();
    const open = await on.insert.project(group, { visibility: 20 });
    const closed = await on.insert.project(group, { visibility: 0 });
    const { write } = on.app.services.db;
    const fill = (projectId: number, title: string, count: number) =>
      sql`insert into issues (project_id, iid, title, created_at, confidential)
        select ${projectId}, k, ${title} || k, '2020-01-01'::timestamptz + k * interval '1 minute', k % 500 = 7
        from generate_series(1, ${count}::int) k`.execute(write);
    await fill(open, "Open ", 10_500);
    await fill(closed, "Secret ", 10_500);
    const token = author.token;
    for (const project of [open, closed]) {
      await sql`with l as (insert into labels (project_id, name, color) values (${project}, 'rare', '#000000') returning id)
        insert into label_links (label_id, issue_id) select l.id, i.id from l, issues i
        where i.project_id = ${project} and i.iid in (7, 9)`.execute(write);
    }
    const path = `/groups/${group}/issues?per_page=3`;
    const titles = async (query: string) => (await on.titles(`${path}&${query}`, author)).join(", ");
    const { headers } = await on.app.get(`${path}&page=2`, { token });
    assert.equal(headers["x-total"], undefined);
    assert.equal(await titles("sort=asc"), "Open 1, Open 2, Open 3");
    assert.equal(await titles("sort=asc&page=3"), "Open 8, Open 9, Open 10");
    assert.equal(await titles("pagination=keyset&order_by=created_at&sort=desc"), "Open 10500, Open 10499, Open 10498");
    assert.equal(await titles("labels=rare"), "Open 9");
    assert.equal(await titles("search=open&sort=asc"), "Open 1, Open 2, Open 3");
    assert.equal(await titles("search=secret"), "");
    assert.equal(await titles("created_before=2020-01-01T00:08:00Z"), "Open 8, Open 6, Open 5");
    assert.equal(await titles("confidential=true"), "");
    assert.equal(await titles("labels=None&state=opened&sort=asc"), "Open 1, Open 2, Open 3");
    const inProject = `/projects/${open}/issues?per_page=3`;
    assert.deepEqual(await on.titles(`${inProject}&labels=rare`, author), ["Open 9"]);
    assert.deepEqual(await on.titles(`${inProject}&sort=asc&not[labels]=rare&page=3`, author), [
      "Open 8",
      "Open 10",
      "Open 11",
    ]);
  });

  test("descriptions that are too much for one answer are cut, in every list", async () => {
    const project = await on.insert.project(await on.insert.group(), { visibility: 20 });
    await sql`insert into issues (project_id, iid, title, description)
      select ${project}, k, 'Long', repeat('x', 1048576) from generate_series(1, 9) k`.execute(
      on.app.services.db.write,
    );
    const share = Math.floor(MAX_TEXT_BYTES / 9);
    const lengths = ({ body }: Reply) => body.map(({ description }: { description: string }) => description.length);
    const all = await on.app.get(`/projects/${project}/issues`);
    assert.deepEqual([all.status, all.headers["x-truncated"]], [200, "true"]);
    assert.deepEqual(
      lengths(all),
      Array.from({ length: 9 }, () => share),
    );
    const few = await on.app.get(`/projects/${project}/issues?per_page=4`);
    assert.equal(few.headers["x-truncated"], undefined);
    assert.deepEqual(
      lengths(few),
      Array.from({ length: 4 }, () => 2 ** 20),
    );
    assert.equal((await on.get(`/projects/${project}/issues/1`)).description.length, 2 ** 20);
  });

  test("a text of long characters is cut to its share of bytes too", async () => {
    const project = await on.insert.project(await on.insert.group(), { visibility: 20 });
    await sql`insert into issues (project_id, iid, title, description)
      select ${project}, k, 'Long', repeat('€', 349525) from generate_series(1, 9) k`.execute(on.app.services.db.write);
    const { text, headers } = await on.app.get(`/projects/${project}/issues`);
    assert.equal(headers["x-truncated"], "true");
    const bytes = Buffer.byteLength(text);
    assert.ok(bytes <= MAX_TEXT_BYTES + 64 * 1024 && bytes > MAX_TEXT_BYTES / 2, `${bytes} bytes`);
  });

  test("refused filters", async () => {
    for (const query of ["state=merged", "scope=mine", "assignee_id=x", "due_date=later", "in=labels", "weight=-1"]) {
      assert.equal((await on.app.get(`${at.issues}?${query}`)).status, 400, query);
    }
  });

  test("labels of a group that the project has left stay on its issues, but its list does not find them", async () => {
    const at = await on.project("owner");
    const { write } = on.app.services.db;
    const label = { group_id: at.groupId, name: "former", color: "#123456" };
    await write.insertInto("labels").values(label).execute();
    const { iid } = await on.create(at, { title: "Wanderer", labels: "former" });
    const find = () => on.titles(`${at.issues}?labels=former`, at.user);
    assert.deepEqual(await find(), ["Wanderer"]);
    const away = await on.insert.group();
    await on.insert.member(at.user, { group_id: away }, "owner");
    await write.updateTable("projects").set({ namespace_id: away }).where("id", "=", at.id).execute();
    assert.deepEqual((await on.get(`${at.issues}/${iid}`, at.user)).labels, ["former"]);
    assert.deepEqual(await find(), []);
    assert.deepEqual(await on.titles(`${at.issues}?not[labels]=former`, at.user), ["Wanderer"]);
    assert.deepEqual(await on.titles(`/groups/${away}/issues?labels=former`, at.user), ["Wanderer"]);
    await write.updateTable("namespaces").set({ visibility: 0 }).where("id", "=", at.groupId).execute();
    await write.updateTable("labels").set({ name: "renamed in secret" }).where("group_id", "=", at.groupId).execute();
    assert.deepEqual((await on.get(`${at.issues}/${iid}`, at.user)).labels, [], "the group is hidden now");
    const details = await on.get(`${at.issues}?with_labels_details=true`, at.user);
    assert.deepEqual(details[0].labels, []);
    await on.insert.member(at.user, { group_id: at.groupId }, "guest");
    assert.deepEqual((await on.get(`${at.issues}/${iid}`, at.user)).labels, ["renamed in secret"]);
    await write.updateTable("labels").set({ name: "former" }).where("group_id", "=", at.groupId).execute();
    const { labels } = accepted(await on.put(at, iid, { remove_labels: "former" }, at.user), 200);
    assert.deepEqual(labels, []);
  });
});
