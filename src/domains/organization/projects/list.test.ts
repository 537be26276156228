import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

type Caller = "anonymous" | "me" | "stranger" | "external" | "admin";

describe("lists of projects", () => {
  let app: TestApp;
  let insert: RowInserter;
  const callers: Partial<Record<Caller, TestUser>> = {};
  const groups: Record<string, number> = {};
  const ids: Record<string, number> = {};

  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    insert = rowInserter(app);
    callers.me = await app.makeUser({ username: "me" });
    callers.stranger = await app.makeUser({ username: "stranger" });
    callers.external = await app.makeUser({ username: "external", external: true });
    callers.admin = await app.makeUser({ username: "boss", admin: true });
    const { private: hidden, internal, public: everyone } = VISIBILITIES;
    const group = async (name: string, parent?: string, columns: object = {}) => {
      groups[name] = await insert.group(parent === undefined ? undefined : groups[parent], {
        name,
        path: name,
        visibility: everyone,
        ...columns,
      });
    };
    const project = async (name: string, place: string | number, visibility: number, columns: object = {}) => {
      const namespace = typeof place === "string" ? groups[place]! : place;
      ids[name] = await insert.project(namespace, { name, path: `p-${name}`, visibility, ...columns });
    };
    await group("open");
    await group("home");
    await group("nook", "home", { visibility: hidden });
    await group("old", "home", { archived: true });
    await group("guests");
    await group("away", undefined, { visibility: hidden });
    const own = async ({ username }: TestUser) =>
      (await app.get(`/namespaces/${username}`, { token: callers.admin!.token })).body.id as number;

    await project("public", "open", everyone, { topics: ["red", "blue"], star_count: 7 });
    await project("internal", "open", internal, { description: "All about zebras", topics: ["red"] });
    await project("private", "open", hidden, { name: "private zebra" });
    await project("homely", "home", hidden, { issues_access_level: "disabled" });
    await project("nested", "nook", hidden, { merge_requests_access_level: "disabled" });
    await project("dusty", "old", everyone);
    await project("archived", "home", everyone, { archived: true, last_activity_at: "2001-02-03T04:05:06.789Z" });
    await project("shared", "away", hidden, { repository_storage: "elsewhere" });
    await project("direct", "away", hidden);
    await project("mine", await own(callers.me), hidden, { created_at: "2001-01-01T00:00:00.000Z" });
    await project("theirs", await own(callers.stranger), everyone);

    await insert.member(callers.me, { group_id: groups["home"]! }, "developer");
    await insert.member(callers.me, { group_id: groups["guests"]! }, "maintainer");
    await insert.member(callers.me, { project_id: ids["direct"]! }, "guest");
    await insert.member(callers.me, { project_id: ids["mine"]! }, "owner");
    await insert.member(callers.external, { project_id: ids["internal"]! }, "reporter");
    await insert.share({ project_id: ids["shared"]! }, groups["guests"]!, "reporter");
    for (const name of ["public", "direct", "internal"]) {
      const row = { project_id: ids[name]!, user_id: callers.me.id };
      await app.services.db.write.insertInto("stars").values(row).execute();
    }
    // Once starred, no longer seen.
    const row = { project_id: ids["private"]!, user_id: callers.me.id };
    await app.services.db.write.insertInto("stars").values(row).execute();
  });
  after(() => app.close());

  const nameOf = ({ id }: { id: number }) => Object.keys(ids).find((name) => ids[name] === id) ?? String(id);

  async function listed(caller: Caller, address: string): Promise<string[]> {
    const { status, body, text } = await app.get(address, { token: callers[caller]?.token });
    assert.equal(status, 200, `${address} ${text}`);
    return body.map(nameOf);
  }

  const OPEN = ["archived", "dusty", "public", "theirs"];
  const MINE = ["archived", "direct", "dusty", "homely", "mine", "nested", "shared"];
  const ALL = [...MINE, "internal", "private", "public", "theirs"].toSorted();
  const SEEN = [...MINE, "internal", "public", "theirs"].toSorted();
  const without = (names: readonly string[], ...left: string[]) => names.filter((name) => !left.includes(name));

  const LISTS: readonly [caller: Caller, query: string, expected: readonly string[]][] = [
    ["anonymous", "", OPEN],
    ["stranger", "", ["archived", "dusty", "internal", "public", "theirs"]],
    ["external", "", ["archived", "dusty", "internal", "public", "theirs"]],
    ["me", "", SEEN],
    ["admin", "", ALL],

    ["me", "membership=true", MINE],
    ["me", "membership=false", SEEN],
    ["external", "membership=true", ["internal"]],
    ["admin", "membership=true", []],
    ["anonymous", "membership=true", []],
    ["me", "owned=true", ["mine"]],
    ["anonymous", "owned=true", []],
    ["me", "min_access_level=10", MINE],
    ["me", "min_access_level=20", without(MINE, "direct")],
    ["me", "min_access_level=30", without(MINE, "direct", "shared")],
    ["me", "min_access_level=40", ["mine"]],
    ["me", "min_access_level=40&owned=true", ["mine"]],
    ["me", "starred=true", ["direct", "internal", "public"]],
    ["me", "starred=true&membership=true", ["direct"]],
    ["me", "starred=true&search=zebra", ["internal"]],
    ["anonymous", "starred=true", []],

    ["me", "visibility=public", OPEN],
    ["me", "visibility=internal", ["internal"]],
    ["me", "visibility=private", ["direct", "homely", "mine", "nested", "shared"]],
    ["me", "visibility=private&membership=true", ["direct", "homely", "mine", "nested", "shared"]],
    ["anonymous", "visibility=private", []],
    ["admin", "visibility=private", ["direct", "homely", "mine", "nested", "private", "shared"]],

    ["me", "archived=true", ["archived", "dusty"]],
    ["me", "archived=false", without(SEEN, "archived", "dusty")],
    ["me", "archived=false&membership=true", without(MINE, "archived", "dusty")],
    ["me", "topic=red", ["internal", "public"]],
    ["me", "topic=red,blue", ["public"]],
    ["me", "topic=", SEEN],
    ["me", "topic=Red", []],
    ["me", "with_issues_enabled=true", without(SEEN, "homely")],
    ["me", "with_merge_requests_enabled=true", without(SEEN, "nested")],
    ["me", "last_activity_before=2001-02-03T04:05:06.789Z", ["archived"]],
    ["me", "last_activity_after=2001-02-03T04:05:06.790Z", without(SEEN, "archived")],
    ["admin", "repository_storage=elsewhere", ["shared"]],
    ["admin", "repository_storage=nowhere", []],
    ["me", "repository_storage=elsewhere", SEEN],

    ["anonymous", "search=zebra", []],
    ["stranger", "search=zebra", ["internal"]],
    ["me", "search=zebra", ["internal"]],
    ["me", "search=ZEBRA%20about", ["internal"]],
    ["admin", "search=zebra", ["internal", "private"]],
    ["admin", "search=zebra&visibility=private", ["private"]],
    ["me", "search=p-nest", ["nested"]],
    ["me", "search=p-nest&membership=true", ["nested"]],
    ["stranger", "search=p-nest", []],
    ["me", "search=%25", []],
    ["me", "search=", SEEN],
    ["me", "search=%20", SEEN],
  ];

  for (const [caller, query, expected] of LISTS) {
    test(`/projects?${query} as ${caller}`, async () => {
      assert.deepEqual((await listed(caller, `/projects?per_page=100&${query}`)).toSorted(), expected.toSorted());
    });
  }

  test("by ids", async () => {
    const between = `id_after=${ids["public"]}&id_before=${ids["homely"]}`;
    assert.deepEqual(await listed("me", `/projects?${between}`), ["internal"]);
    assert.deepEqual(await listed("admin", `/projects?${between}&sort=asc`), ["internal", "private"]);
  });

  test("a word of two letters must be the whole name or path", async () => {
    ids["xy"] = await insert.project(groups["open"]!, {
      name: "xy",
      path: "xyz-path",
      visibility: VISIBILITIES.public,
    });
    ids["yx"] = await insert.project(groups["open"]!, { name: "other", path: "yx", visibility: VISIBILITIES.public });
    assert.deepEqual(await listed("anonymous", "/projects?search=XY"), ["xy"]);
    assert.deepEqual(await listed("anonymous", "/projects?search=yx"), ["yx"]);
    assert.deepEqual(await listed("anonymous", "/projects?search=x"), []);
    await app.services.db.write.deleteFrom("projects").where("id", "in", [ids["xy"], ids["yx"]]).execute();
  });

  test("invalid parameters are refused", async () => {
    for (const query of [
      "visibility=secret",
      "min_access_level=5",
      "order_by=size",
      "sort=up",
      "id_after=x",
      "archived=maybe",
    ]) {
      assert.equal((await app.get(`/projects?${query}`)).status, 400, query);
    }
    assert.equal((await app.get("/projects?page=501&per_page=100")).status, 405);
    assert.equal((await app.get("/projects?pagination=keyset&order_by=similarity")).status, 405);
  });

  test("users without a direct membership can be listed", async () => {
    const { body } = await app.get("/users?without_projects=true", { token: callers.admin!.token });
    assert.deepEqual(body.map(({ username }: TestUser) => username).toSorted(), ["boss", "stranger"]);
  });

  describe("of a place", () => {
    const inGroup = (caller: Caller, name: string, query = "") =>
      listed(caller, `/groups/${groups[name]}/projects?per_page=100&${query}`).then((names) => names.toSorted());

    test("a group's own, and those below it if asked for", async () => {
      assert.deepEqual(await inGroup("me", "home"), ["archived", "homely"]);
      assert.deepEqual(await inGroup("me", "home", "include_subgroups=true"), [
        "archived",
        "dusty",
        "homely",
        "nested",
      ]);
      assert.deepEqual(await inGroup("stranger", "home", "include_subgroups=true"), ["archived", "dusty"]);
      assert.deepEqual(await inGroup("anonymous", "open"), ["public"]);
      assert.deepEqual(await inGroup("stranger", "open"), ["internal", "public"]);
      assert.deepEqual(await inGroup("admin", "open"), ["internal", "private", "public"]);
      assert.equal((await app.get(`/groups/${groups["away"]}/projects`)).status, 404);
    });

    test("projects shared with it, unless excluded", async () => {
      assert.deepEqual(await inGroup("me", "guests"), ["shared"]);
      assert.deepEqual(await inGroup("me", "guests", "with_shared=false"), []);
      assert.deepEqual(await inGroup("stranger", "guests"), [], "only to who may see it");
      assert.deepEqual(await inGroup("me", "guests", "search=p-shared"), ["shared"]);
      assert.deepEqual(await inGroup("me", "away"), ["direct", "shared"], "as far as one may see");
    });

    test("with the filters of every list", async () => {
      const all = "include_subgroups=true";
      assert.deepEqual(await inGroup("me", "home", `${all}&archived=false`), ["homely", "nested"]);
      assert.deepEqual(await inGroup("me", "home", `${all}&visibility=public`), ["archived", "dusty"]);
      assert.deepEqual(await inGroup("me", "home", `${all}&search=p-nest`), ["nested"]);
      assert.deepEqual(await inGroup("me", "home", `${all}&min_access_level=40`), []);
      assert.deepEqual(await inGroup("me", "home", `${all}&min_access_level=30`), [
        "archived",
        "dusty",
        "homely",
        "nested",
      ]);
      assert.deepEqual(await inGroup("stranger", "home", `${all}&membership=true`), []);
      assert.deepEqual(await inGroup("anonymous", "home", `${all}&owned=true`), []);
      assert.deepEqual(await inGroup("me", "open", "starred=true"), ["internal", "public"]);
      assert.deepEqual(await inGroup("me", "open", "topic=blue"), ["public"]);
    });

    test("the personal namespace of a user, by id or name", async () => {
      assert.deepEqual(await listed("me", "/users/ME/projects"), ["mine"]);
      assert.deepEqual(await listed("stranger", `/users/${callers.me!.id}/projects`), []);
      assert.deepEqual(await listed("anonymous", "/users/stranger/projects"), ["theirs"]);
      assert.deepEqual(await listed("admin", "/users/me/projects?search=mine"), ["mine"]);
      assert.deepEqual(await listed("admin", "/users/me/projects?owned=true"), []);
      const { status, body } = await app.get("/users/nobody-here/projects");
      assert.equal(status, 404);
      assert.deepEqual(body, { message: "404 User Not Found" });
      assert.equal((await app.get("/users/999999999/starred_projects")).status, 404);
    });

    test("the starred projects of a user that the caller may see", async () => {
      const starred = async (caller: Caller, query = "") =>
        (await listed(caller, `/users/me/starred_projects?${query}`)).toSorted();
      assert.deepEqual(await starred("me"), ["direct", "internal", "public"]);
      assert.deepEqual(await starred("anonymous"), ["public"]);
      assert.deepEqual(await starred("admin"), ["direct", "internal", "private", "public"]);
      assert.deepEqual(await starred("stranger", "search=zebra"), ["internal"]);
    });
  });

  describe("in order", () => {
    const ORDERS = ["created_at", "id", "name", "path", "updated_at", "last_activity_at", "star_count"] as const;
    const PLACES = [
      "/projects?",
      "/projects?membership=true&",
      "/projects?archived=false&",
      "/groups/GROUP/projects?include_subgroups=true&",
    ];

    test("are the newest first by default", async () => {
      const names = await listed("me", "/projects?per_page=100");
      assert.equal(names.at(-1), "mine");
      assert.deepEqual(
        names.slice(0, -1),
        [...names.slice(0, -1)].toSorted((a, b) => ids[b]! - ids[a]!),
      );
    });

    for (const place of PLACES) {
      for (const order of ORDERS) {
        for (const sort of ["asc", "desc"]) {
          test(`${place}order_by=${order}&sort=${sort}, as one page, with offset and with keyset paging`, async () => {
            const address = `${place.replace("GROUP", String(groups["home"]))}order_by=${order}&sort=${sort}`;
            const { body } = await app.get(`${address}&per_page=100`, { token: callers.me!.token });
            const expected = body.toSorted((a: Record<string, any>, b: Record<string, any>) => {
              const way = sort === "asc" ? 1 : -1;
              if (a[order] !== b[order]) return a[order] < b[order] ? -way : way;
              return (a["id"] - b["id"]) * way;
            });
            assert.deepEqual(body.map(nameOf), expected.map(nameOf));
            const numbered: string[] = [];
            for (let page = 1; page <= Math.ceil(body.length / 3); page++) {
              numbered.push(...(await listed("me", `${address}&per_page=3&page=${page}`)));
            }
            assert.deepEqual(numbered, body.map(nameOf));
            const positioned: string[] = [];
            let next: string | undefined = `/api/v4${address}&per_page=3&pagination=keyset`;
            for (let pages = 0; next && pages < 10; pages++) {
              const answer = await app.get(next, { token: callers.me!.token });
              assert.equal(answer.status, 200, answer.text);
              positioned.push(...answer.body.map(nameOf));
              next = /<http:\/\/localhost([^>]*)>; rel="next"/.exec(answer.headers["link"] ?? "")?.[1];
            }
            assert.deepEqual(positioned, body.map(nameOf));
          });
        }
      }
    }

    test("order by similarity puts the best match first", async () => {
      const names = ["zebra crossing", "zebra", "a zebra in zebraland"];
      for (const name of names) {
        ids[name] = await insert.project(groups["open"]!, { name, visibility: VISIBILITIES.public });
      }
      const found = await listed("me", "/projects?search=zebra&order_by=similarity");
      assert.equal(found[0], "zebra");
      assert.equal(found.at(-1), "internal", "its description alone has the word");
      assert.deepEqual(
        (await listed("me", "/projects?order_by=similarity"))[0],
        names.at(-1),
        "without a search, the newest",
      );
      await app.services.db.write.deleteFrom("projects").where("name", "in", names).execute();
    });

    test("a cursor whose value does not fit the order is refused", async () => {
      const cursor = (value: unknown) =>
        Buffer.from(JSON.stringify(["star_count", "desc", value, 1])).toString("base64url");
      for (const value of ["1", 2 ** 40, -1.5, null]) {
        const { status } = await app.get(`/projects?pagination=keyset&order_by=star_count&cursor=${cursor(value)}`);
        assert.equal(status, 400, String(value));
      }
      assert.equal((await app.get(`/projects?pagination=keyset&order_by=star_count&cursor=${cursor(3)}`)).status, 200);
    });
  });

  describe("of any length", () => {
    const addresses = (): [Caller, string][] => [
      ["anonymous", "/projects?per_page=100"],
      ["me", "/projects?per_page=100"],
      ["me", "/projects?per_page=100&pagination=keyset"],
      ["me", "/projects?per_page=100&simple=true"],
      ["me", "/projects?per_page=100&membership=true"],
      ["me", "/projects?per_page=100&search=p-m"],
      ["admin", "/projects?per_page=100&visibility=private"],
      ["me", `/groups/${groups["home"]}/projects?per_page=100&include_subgroups=true`],
      ["me", "/users/me/projects?per_page=100"],
      ["me", "/users/me/starred_projects?per_page=100"],
    ];

    test("need the same number of statements", async () => {
      const count = async () => {
        const counts: number[] = [];
        for (const [caller, address] of addresses()) {
          const recorded = await recordStatements(async () => void (await listed(caller, address)));
          counts.push(recorded.length);
        }
        return counts;
      };
      // One of a user's own is in every list but the group's from the start.
      await app.post(`/projects/${ids["mine"]}/star`, { token: callers.me!.token });
      const few = await count();
      const made: number[] = [];
      for (let number = 0; number < 20; number++) {
        const { username } = await app.makeUser();
        const { body: theirs } = await app.get(`/namespaces/${username}`, { token: callers.admin!.token });
        const place = await insert.group(groups["home"]);
        const id = await insert.project(number % 2 ? theirs.id : place, { path: `p-many-${number}` });
        await insert.member(callers.me!, { project_id: id }, "owner");
        await insert.share({ project_id: id }, groups["guests"]!, "guest");
        await app.services.db.write.insertInto("stars").values({ project_id: id, user_id: callers.me!.id }).execute();
        made.push(id, await insert.project(place, { path: `p-more-${number}`, visibility: VISIBILITIES.public }));
      }
      const many = await count();
      await app.services.db.write.deleteFrom("projects").where("id", "in", made).execute();
      assert.deepEqual(many, few);
      // The caller, what is in the path, hits, the page, and namespaces, repositories, owners, shares and levels.
      assert.ok(Math.max(...few) <= 10, few.join(", "));
    });
  });
});

describe("lists with more matches than the limit of candidates", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    const group = await rowInserter(app).group(undefined, { path: "many", name: "Many" });
    // One of four is private.
    for (let from = 1; from < 27_000; from += 3000) {
      await sql`
        insert into projects (namespace_id, name, path, visibility, star_count)
        select ${group}, 'common ' || n, 'common-' || n, case when n % 4 = 0 then 0 else 20 end, n % 7
        from generate_series(${from}::integer, ${from + 2999}::integer) n`.execute(app.services.db.write);
    }
    await sql`analyze projects`.execute(app.services.db.write);
  });
  after(() => app.close());

  test("are found in order, without a total, and with offset paging up to its limit", async () => {
    const { status, body, headers } = await app.get("/projects?search=common&order_by=name&sort=asc&per_page=3");
    assert.equal(status, 200);
    assert.deepEqual(
      body.map(({ name }: { name: string }) => name),
      ["common 1", "common 10", "common 10001"],
    );
    assert.equal(headers["x-total"], undefined);
    assert.equal((await app.get("/projects?search=common&page=150&per_page=100")).body.length, 100);
    const far = await app.get("/projects?search=common&page=501&per_page=100");
    assert.equal(far.status, 405);
    assert.match(far.body.error, /maximum allowed offset of 50000 .* type Project/);
    assert.equal((await app.get("/projects?search=common&pagination=keyset")).body.length, 20);
    assert.equal((await app.get("/projects?search=common&order_by=similarity")).body[0].name, "common 26999");
  });

  test("are merged with those of another visibility that are named", async () => {
    const { token } = await app.makeUser({ admin: true });
    const { body, headers } = await app.get("/projects?search=common&order_by=name&sort=asc&per_page=5", { token });
    assert.deepEqual(
      body.map(({ name }: { name: string }) => name),
      ["common 1", "common 10", "common 100", "common 1000", "common 10000"],
    );
    assert.equal(headers["x-total"], undefined);
  });

  test("but a few matches are counted", async () => {
    const { body, headers } = await app.get("/projects?search=common%2026999");
    assert.equal(body.length, 1);
    assert.equal(headers["x-total"], "1");
  });
});
