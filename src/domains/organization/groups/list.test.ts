import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import Type from "typebox";
import { recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { Group } from "./entity.ts";
import { join, makeGroup, makeProject, shaped } from "./test-support.ts";

const Groups = Type.Array(Group);

describe("lists of groups", () => {
  let app: TestApp;
  let admin: TestUser;
  let owner: TestUser;
  let member: TestUser;
  let outsider: TestUser;
  let external: TestUser;
  const ids = new Map<string, number>();

  /** A tree that every test here reads; nothing else is in this database. */
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
    owner = await app.makeUser();
    member = await app.makeUser();
    outsider = await app.makeUser();
    external = await app.makeUser({ external: true });
    const add = async (name: string, visibility: string, parent?: string) => {
      const parent_id = parent === undefined ? undefined : ids.get(parent);
      const path = name.toLowerCase().replaceAll(" ", "-");
      ids.set(name, (await makeGroup(app, owner, { name, path, visibility, ...(parent_id && { parent_id }) })).id);
    };
    await add("Open Harbour", "public");
    await add("Inner Court", "internal");
    await add("Hidden Cellar", "private");
    await add("Open Deck", "public", "Open Harbour");
    await add("Closed Deck", "private", "Open Harbour");
    await add("Lower Deck", "private", "Closed Deck");
    await add("Vault", "private", "Hidden Cellar");
    await join(app, idOf("Closed Deck"), member, 30);
  });
  after(() => app.close());

  const idOf = (name: string) => ids.get(name) ?? 0;
  const names = async (path: string, user?: TestUser) =>
    (shaped(await app.get(path, { token: user?.token }), 200, Groups) as { name: string }[]).map(({ name }) => name);

  const PUBLIC = ["Open Deck", "Open Harbour"];
  const INTERNAL = ["Inner Court", ...PUBLIC];

  test("show the groups that each caller may see", async () => {
    assert.deepEqual(await names("/groups"), PUBLIC);
    assert.deepEqual(await names("/groups?all_available=true", external), PUBLIC);
    assert.deepEqual(await names("/groups?all_available=true", outsider), INTERNAL);
    assert.deepEqual(await names("/groups?all_available=true", member), [
      "Closed Deck",
      "Inner Court",
      "Lower Deck",
      ...PUBLIC,
    ]);
    assert.deepEqual(await names("/groups", admin), [...ids.keys()].toSorted());
    assert.deepEqual(await names("/groups", owner), [...ids.keys()].toSorted());
  });

  test("show users their own groups, unless all are requested", async () => {
    assert.deepEqual(await names("/groups", outsider), []);
    assert.deepEqual(await names("/groups", member), ["Closed Deck", "Lower Deck"]);
    assert.deepEqual(await names("/groups?all_available=false", admin), []);
    const minimal = await app.makeUser();
    await join(app, idOf("Hidden Cellar"), minimal, 5);
    assert.deepEqual(await names("/groups", minimal), ["Hidden Cellar"], "minimal access is to the group alone");
  });

  test("can be filtered by the caller's level", async () => {
    assert.deepEqual(await names("/groups?owned=true", member), []);
    assert.deepEqual(await names("/groups?owned=true", owner), [...ids.keys()].toSorted());
    assert.deepEqual(await names("/groups?min_access_level=30", member), ["Closed Deck", "Lower Deck"]);
    assert.deepEqual(await names("/groups?min_access_level=40", member), []);
    assert.deepEqual(await names("/groups?owned=true"), [], "who is not signed in owns nothing");
    assert.deepEqual(await names("/groups?owned=true", admin), []);
    assert.equal((await app.get("/groups?min_access_level=7")).status, 400);
  });

  test("can be filtered by parent, visibility, archived state and id", async () => {
    assert.deepEqual(await names("/groups?top_level_only=true", admin), [
      "Hidden Cellar",
      "Inner Court",
      "Open Harbour",
    ]);
    assert.deepEqual(await names("/groups?visibility=internal", admin), ["Inner Court"]);
    assert.deepEqual(await names("/groups?visibility=private"), []);
    assert.deepEqual(await names(`/groups?skip_groups[]=${idOf("Open Deck")}`), ["Open Harbour"]);
    assert.deepEqual(await names(`/groups?skip_groups=${idOf("Open Deck")},${idOf("Open Harbour")}`), []);
    await app.post(`/groups/${idOf("Closed Deck")}/archive`, { token: owner.token });
    assert.deepEqual(await names("/groups?archived=true", admin), ["Closed Deck", "Lower Deck"]);
    assert.deepEqual(await names("/groups?archived=true", member), ["Closed Deck", "Lower Deck"]);
    assert.deepEqual(await names("/groups?archived=true"), []);
    assert.deepEqual(await names("/groups?archived=false", member), []);
    assert.deepEqual(await names("/groups?archived=false"), PUBLIC);
    await app.post(`/groups/${idOf("Closed Deck")}/unarchive`, { token: owner.token });
  });

  test("are searched by name and path among visible ones only", async () => {
    assert.deepEqual(await names("/groups?search=DECK", admin), ["Closed Deck", "Lower Deck", "Open Deck"]);
    assert.deepEqual(await names("/groups?search=deck"), ["Open Deck"]);
    assert.deepEqual(await names("/groups?search=deck&all_available=true", outsider), ["Open Deck"]);
    assert.deepEqual(await names("/groups?search=deck", member), ["Closed Deck", "Lower Deck"]);
    assert.deepEqual(await names("/groups?search=lower+deck", admin), ["Lower Deck"]);
    assert.deepEqual(await names("/groups?search=lower-deck", admin), ["Lower Deck"]);
    assert.deepEqual(await names("/groups?search=%25", admin), [], "signs of patterns are plain");
    assert.deepEqual(await names("/groups?search=de", admin), [], "two letters must be all of a name");
    const short = await makeGroup(app, owner, { name: "De", path: "dd" });
    assert.deepEqual(await names("/groups?search=de", owner), ["De"]);
    assert.deepEqual(await names("/groups?search=DD", admin), ["De"]);
    await sql`delete from namespaces where id = ${short.id}`.execute(app.services.db.write);
  });

  test("are returned in the requested order", async () => {
    assert.deepEqual(await names("/groups?sort=desc"), PUBLIC.toReversed());
    assert.deepEqual(await names("/groups?order_by=id"), ["Open Harbour", "Open Deck"]);
    assert.deepEqual(await names("/groups?order_by=path&sort=desc"), ["Open Harbour", "Open Deck"]);
    assert.deepEqual(await names("/groups?order_by=similarity"), PUBLIC, "without a search by name");
    assert.deepEqual(await names("/groups?search=open&order_by=similarity"), PUBLIC);
    assert.deepEqual(await names("/groups?search=deck&order_by=similarity&sort=desc", admin), [
      "Open Deck",
      "Lower Deck",
      "Closed Deck",
    ]);
    assert.deepEqual((await names("/groups?search=lower-deck&order_by=similarity", admin))[0], "Lower Deck");
    assert.equal((await app.get("/groups?order_by=size")).status, 400);
    assert.equal((await app.get("/groups?order_by=similarity&pagination=keyset")).status, 405);
  });

  test("order by similarity puts the best match first", async () => {
    const made = [];
    for (const name of ["A mast", "Mast", "Mast top", "Main mast"]) made.push(await makeGroup(app, owner, { name }));
    assert.deepEqual(await names("/groups?search=mast&order_by=similarity", owner), [
      "Mast",
      "Mast top",
      "A mast",
      "Main mast",
    ]);
    for (const { id } of made) await sql`delete from namespaces where id = ${id}`.execute(app.services.db.write);
  });

  for (const order of ["name", "path", "id"]) {
    test(`support offset and keyset paging ordered by ${order}`, async () => {
      const all = await names(`/groups?order_by=${order}`, admin);
      const byNumber: string[] = [];
      for (let page = 1; page <= all.length; page++) {
        const got = await app.get(`/groups?order_by=${order}&per_page=1&page=${page}`, { token: admin.token });
        assert.equal(got.headers["x-total"], String(all.length));
        byNumber.push(...got.body.map(({ name }: { name: string }) => name));
      }
      assert.deepEqual(byNumber, all);
      const byPosition: string[] = [];
      let next: string | undefined = `/groups?order_by=${order}&per_page=2&pagination=keyset`;
      for (let page = 0; next !== undefined && page < 10; page++) {
        const got: Awaited<ReturnType<typeof app.get>> = await app.get(next, { token: admin.token });
        byPosition.push(...got.body.map(({ name }: { name: string }) => name));
        const link: string | undefined = /<http:\/\/localhost([^>]+)>; rel="next"/.exec(got.headers["link"] ?? "")?.[1];
        next = link;
      }
      assert.deepEqual(byPosition, all);
    });
  }

  test("of one group show its subgroups or all descendants that the caller may see", async () => {
    const harbour = idOf("Open Harbour");
    const children = (user?: TestUser, query = "") => names(`/groups/${harbour}/subgroups${query}`, user);
    const all = (user?: TestUser, query = "") => names(`/groups/${harbour}/descendant_groups${query}`, user);
    assert.deepEqual(await children(), ["Open Deck"]);
    assert.deepEqual(await children(outsider), ["Open Deck"]);
    assert.deepEqual(await children(member), ["Closed Deck", "Open Deck"]);
    assert.deepEqual(await all(member), ["Closed Deck", "Lower Deck", "Open Deck"]);
    assert.deepEqual(await all(admin), ["Closed Deck", "Lower Deck", "Open Deck"]);
    assert.deepEqual(await all(), ["Open Deck"]);
    assert.deepEqual(await all(member, "?search=lower"), ["Lower Deck"]);
    assert.deepEqual(await all(member, "?min_access_level=30"), ["Closed Deck", "Lower Deck"]);
    assert.deepEqual(await all(admin, "?order_by=id&sort=desc&per_page=2"), ["Lower Deck", "Closed Deck"]);
    assert.deepEqual(await names(`/groups/${idOf("Inner Court")}/subgroups`, admin), []);
  });

  test("show members the groups above, also members of a project", async () => {
    const guest = await app.makeUser();
    const project = await makeProject(app, idOf("Vault"));
    await app.services.db.write
      .insertInto("members")
      .values({ project_id: project.id, user_id: guest.id, access_level: 10 })
      .execute();
    assert.deepEqual(await names("/groups?all_available=true&visibility=private", guest), ["Hidden Cellar", "Vault"]);
    assert.equal((await app.get(`/groups/${idOf("Vault")}`, { token: guest.token })).status, 200);
    assert.equal((await app.get(`/groups/${idOf("Vault")}`, { token: outsider.token })).status, 404);
  });

  test("need the same number of statements for many groups as for one", async () => {
    const counted = async (perPage: number) => {
      const statements = await recordStatements(async () => {
        const { body } = await app.get(`/groups?per_page=${perPage}&page=1`, { token: admin.token });
        assert.equal(body.length > 1, perPage > 1);
      });
      return statements.length;
    };
    const one = await counted(1);
    assert.ok(one > 0);
    // The whole list fits into one page, which then needs no count.
    assert.equal(await counted(100), one - 1);
  });
});
