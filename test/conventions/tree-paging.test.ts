import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const idsOf = ({ body }: Reply): number[] => body.map((item: { id: number }) => item.id);
const nextOf = ({ headers }: Reply) => /^<([^<>,]+)>; rel="next"$/.exec(headers["link"] ?? "")?.[1];
const pagingHeaders = ({ headers }: Reply) =>
  Object.keys(headers).filter((name) => /^x-(page|per-page|next-page|prev-page|total)/.test(name));

const ORDERS = ["id", "name", "path", "created_at", "updated_at", "last_activity_at", "star_count"];

describe("paging of projects, groups and audit events", () => {
  let app: TestApp;
  let insert: RowInserter;
  let member: TestUser;
  let admin: TestUser;
  let group: number;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    insert = rowInserter(app);
    member = await app.makeUser();
    admin = await app.makeUser({ admin: true });
    group = await insert.group(undefined, { visibility: VISIBILITIES.public });
    // Pairs of equal values, so that the id decides.
    for (const [n, visibility] of [20, 20, 20, 0, 0, 10, 20].entries()) {
      const at = `2026-01-0${1 + Math.floor(n / 2)}T00:00:00.000Z`;
      const moments = { created_at: at, updated_at: at, last_activity_at: at };
      const half = Math.floor(n / 2);
      await insert.project(group, { visibility, name: `Same ${half}`, star_count: half, ...moments });
    }
    await insert.member(member, { group_id: group }, "guest");
    for (let n = 0; n < 5; n++) await insert.group(group, { visibility: VISIBILITIES.public, name: `Group ${n >> 1}` });
  });
  after(() => app.close());

  const callers = () => ({ anonymous: undefined, member: member.token, administrator: admin.token });

  /** Follows the next links to the end and returns the pages; there can be no more pages than rows. */
  async function walk(path: string, token: string | undefined): Promise<number[][]> {
    const pages: number[][] = [];
    for (let target: string | undefined = path; target !== undefined && pages.length < 50;) {
      const reply: Reply = await app.get(target, { token });
      assert.equal(reply.status, 200, `${target}: ${reply.text}`);
      assert.deepEqual(pagingHeaders(reply), []);
      pages.push(idsOf(reply));
      const next = nextOf(reply);
      target = next && next.replace("http://localhost", "");
    }
    return pages;
  }

  for (const order of ORDERS) {
    test(`keyset on projects by ${order}: every row once, in the order of offset paging`, async () => {
      for (const [name, token] of Object.entries(callers())) {
        for (const list of ["/projects", `/groups/${group}/projects`]) {
          for (const sort of ["asc", "desc"]) {
            const query = `order_by=${order}&sort=${sort}`;
            const all = idsOf(await app.get(`${list}?${query}&per_page=100`, { token }));
            assert.equal(all.length, name === "anonymous" ? 4 : 7);
            const pages = await walk(`${list}?${query}&pagination=keyset&per_page=2`, token);
            assert.deepEqual(pages.flat(), all, `${name} ${list} ${query}`);
            assert.deepEqual(pages.at(-1), [], "the page behind the last has no link");
          }
        }
      }
    });
  }

  test("keyset on projects: order_by is optional, links repeat the filters, an order_by without keyset paging is 405", async () => {
    const reply = await app.get("/projects?pagination=keyset&per_page=2&visibility=public&topic=&simple=true", {
      token: admin.token,
    });
    const { cursor, ...rest } = Object.fromEntries(new URL(nextOf(reply) ?? "").searchParams);
    assert.match(cursor ?? "", /^[\w-]+$/);
    assert.deepEqual(rest, { pagination: "keyset", per_page: "2", visibility: "public", topic: "", simple: "true" });
    const { status, body } = await app.get("/projects?pagination=keyset&order_by=similarity");
    assert.equal(status, 405);
    assert.deepEqual(body, { error: "Keyset pagination is not yet available for this type of request" });
    assert.equal((await app.get("/projects?order_by=similarity")).status, 200);
    assert.equal((await app.get("/projects?pagination=keyset&order_by=shoe_size")).status, 400);
    assert.equal((await app.get("/projects?pagination=keyset&cursor=nonsense")).status, 400);
  });

  test("keyset paging with a filter and a search returns the same rows as offset paging", async () => {
    for (const filter of ["visibility=public", "search=same", "membership=true", "archived=false", "id_after=1"]) {
      const all = idsOf(await app.get(`/projects?${filter}&order_by=id&per_page=100`, { token: member.token }));
      assert.ok(all.length >= 4, filter);
      const pages = await walk(`/projects?${filter}&order_by=id&pagination=keyset&per_page=3`, member.token);
      assert.deepEqual(pages.flat(), all, filter);
    }
  });

  test("keyset on groups by name, for an anonymous caller", async () => {
    const all = idsOf(await app.get("/groups?per_page=100"));
    assert.equal(all.length, 6);
    const pages = await walk("/groups?pagination=keyset&order_by=name&per_page=2", undefined);
    assert.deepEqual(pages.flat(), all);
    assert.deepEqual(
      (await walk(`/groups/${group}/subgroups?pagination=keyset&per_page=2`, undefined)).flat().length,
      5,
    );
    const backwards = await walk("/groups?pagination=keyset&order_by=name&sort=desc&per_page=2", undefined);
    assert.deepEqual(backwards.flat(), all.toReversed());
  });

  test("keyset on audit events, of the instance, a group and a project", async () => {
    const made = await app.post("/projects", { token: admin.token, payload: { name: "Audited", namespace_id: group } });
    for (let n = 0; n < 4; n++) {
      for (const place of [`/projects/${made.body.id}`, `/groups/${group}`]) {
        const { status } = await app.put(place, { token: admin.token, payload: { description: `version ${n}` } });
        assert.equal(status, 200);
      }
    }
    for (const list of ["", `/projects/${made.body.id}`, `/groups/${group}`]) {
      const all = idsOf(await app.get(`${list}/audit_events?per_page=100`, { token: admin.token }));
      assert.ok(all.length >= 4, list);
      assert.deepEqual(
        all,
        all.toSorted((a, b) => b - a),
        "the newest come first",
      );
      const pages = await walk(`${list}/audit_events?pagination=keyset&per_page=2`, admin.token);
      assert.deepEqual(pages.flat(), all, list);
    }
  });

  test("a list without keyset paging uses offset paging", async () => {
    const reply = await app.get("/namespaces?pagination=keyset", { token: member.token });
    assert.equal(reply.headers["x-page"], "1");
  });

  test("offset paging works while page * per_page is within a limit, then 405 with a hint at keyset paging", async () => {
    for (const [path, type] of [
      ["/projects", "Project"],
      [`/groups/${group}/projects`, "Project"],
      [`/users/${member.id}/projects`, "Project"],
      ["/groups", "Group"],
      [`/groups/${group}/subgroups`, "Group"],
      [`/groups/${group}/members`, "Member"],
      [`/groups/${group}/members/all`, "Member"],
      ["/audit_events", "AuditEvent"],
    ] as const) {
      const ask = (query: string) => app.get(`${path}?${query}`, { token: admin.token });
      const far = await ask("page=100000&per_page=100");
      assert.equal(far.status, 405, path);
      const most = Number(/offset of (\d+) /.exec(far.body.error)?.[1]);
      assert.deepEqual(far.body, {
        error:
          `Offset pagination has a maximum allowed offset of ${most} for requests that return objects of type ${type}. ` +
          "Remaining records can be retrieved using keyset pagination.",
      });
      assert.deepEqual((await ask(`page=${most / 100}&per_page=100`)).body, [], path);
      assert.equal((await ask(`page=${most / 100 + 1}&per_page=100`)).status, 405, path);
      assert.equal((await ask("page=100000&per_page=100&pagination=keyset")).status, 200, path);
    }
  });

  test("every list below a project or group has the headers of offset paging", async () => {
    for (const path of ["projects", "subgroups", "descendant_groups", "members", "members/all", "audit_events"]) {
      const reply = await app.get(`/groups/${group}/${path}?per_page=2`, { token: admin.token });
      assert.deepEqual([reply.status, reply.headers["x-page"], reply.headers["x-per-page"]], [200, "1", "2"], path);
      assert.ok(Number(reply.headers["x-total"]) >= reply.body.length, path);
      const links = reply.headers["link"] ?? "";
      const first = `<http://localhost/api/v4/groups/${group}/${path}?page=1&per_page=2>; rel="first"`;
      assert.ok(links.includes(first), links);
    }
  });

  test("links of a list by full path keep the path as written", async () => {
    const { full_path } = (await app.get(`/groups/${group}`)).body;
    await insert.group(group, { path: "in.here", visibility: VISIBILITIES.public });
    const path = `/groups/${full_path.toUpperCase()}%2Fin%2Ehere/projects`;
    const { status, headers } = await app.get(`${path}?per_page=5`);
    assert.equal(status, 200);
    assert.match(headers["link"] ?? "", new RegExp(`^<http://localhost/api/v4${path}\\?`));
  });

  test("GET /projects?repository_storage= for administrators, and of no effect for others", async () => {
    const elsewhere = await insert.project(group, { visibility: VISIBILITIES.public, repository_storage: "second" });
    const ask = (storage: string, token?: string) => app.get(`/projects?repository_storage=${storage}`, { token });
    const mine = await ask("second", admin.token);
    assert.deepEqual(idsOf(mine), [elsewhere]);
    assert.equal(mine.body[0].repository_storage, "second");
    assert.deepEqual(idsOf(await ask("nowhere", admin.token)), []);
    assert.equal(idsOf(await ask("default", admin.token)).includes(elsewhere), false);
    for (const token of [member.token, undefined]) {
      const reply = await ask("nowhere", token);
      assert.equal(idsOf(reply).includes(elsewhere), true);
      assert.equal(reply.text.includes("repository_storage"), false);
    }
  });
});
