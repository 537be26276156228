import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { runSeedStep } from "#db/seed.ts";
import { seedUsers } from "#domains/identity/seed.ts";
import { type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

/** The entries of a link header in order, split as clients do. */
const linksOf = ({ headers }: Reply) =>
  (headers["link"] ?? "")
    .split(",")
    .filter(Boolean)
    .map((entry) => {
      const [, url = "", rel = ""] = /^ ?<([^<>]+)>; rel="(\w+)"$/.exec(entry) ?? [];
      return { rel, url: new URL(url) };
    });

const placesOf = ({ headers }: Reply) =>
  Object.fromEntries(
    ["x-page", "x-per-page", "x-prev-page", "x-next-page", "x-total", "x-total-pages"].map((name) => [
      name,
      headers[name],
    ]),
  );

describe("offset paging", () => {
  const tag = `pg${randomUUID().slice(0, 8)}`;
  let app: TestApp;
  let user: TestUser;
  let ids: number[];
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
    ids = [];
    for (let n = 0; n < 5; n++) ids.unshift((await app.makeUser({ username: `${tag}-${n}` })).id);
  });
  after(() => app.close());

  // With order_by the search lists by id.
  const list = (query: string) => app.get(`/users?search=${tag}&sort=desc&${query}`, { token: user.token });
  const idsOf = (reply: Reply) => reply.body.map((item: { id: number }) => item.id);

  test("a page in the middle has every header", async () => {
    const reply = await list("per_page=2&page=2");
    assert.deepEqual(idsOf(reply), ids.slice(2, 4));
    assert.deepEqual(placesOf(reply), {
      "x-page": "2",
      "x-per-page": "2",
      "x-prev-page": "1",
      "x-next-page": "3",
      "x-total": "5",
      "x-total-pages": "3",
    });
    const links = linksOf(reply);
    assert.deepEqual(
      links.map(({ rel, url }) => [rel, url.searchParams.get("page")]),
      [
        ["prev", "1"],
        ["next", "3"],
        ["first", "1"],
        ["last", "3"],
      ],
    );
    for (const { url } of links) {
      assert.equal(url.origin + url.pathname, "http://localhost/api/v4/users");
      assert.equal(url.searchParams.get("per_page"), "2");
      assert.equal(url.searchParams.get("search"), tag);
      assert.equal(url.searchParams.get("sort"), "desc");
      assert.equal([...url.searchParams.keys()].length, 4);
    }
  });

  test("on the first and last page prev and next are empty headers without links", async () => {
    const first = await list("per_page=2");
    assert.equal(first.headers["x-prev-page"], "");
    assert.equal(first.headers["x-next-page"], "2");
    assert.deepEqual(
      linksOf(first).map(({ rel }) => rel),
      ["next", "first", "last"],
    );
    const last = await list("per_page=2&page=3");
    assert.equal(last.headers["x-prev-page"], "2");
    assert.equal(last.headers["x-next-page"], "");
    assert.deepEqual(
      linksOf(last).map(({ rel }) => rel),
      ["prev", "first", "last"],
    );
    assert.deepEqual(idsOf(last), ids.slice(4));
  });

  test("the defaults are page 1, 20 rows a page, and id descending", async () => {
    const reply = await app.get(`/users?search=${tag}&sort=desc`, { token: user.token });
    assert.deepEqual(idsOf(reply), ids);
    assert.equal(reply.headers["x-page"], "1");
    assert.equal(reply.headers["x-per-page"], "20");
    const plain = await app.get("/users", { token: user.token });
    assert.deepEqual(
      idsOf(plain),
      idsOf(plain).toSorted((a: number, b: number) => b - a),
    );
  });

  test("per_page over 100 is 100; 0, a negative or not a number is 400", async () => {
    const reply = await list("per_page=1000");
    assert.equal(reply.headers["x-per-page"], "100");
    assert.equal(linksOf(reply)[0]?.url.searchParams.get("per_page"), "100");
    for (const [value, error] of [
      ["0", "per_page has a value not allowed"],
      ["-1", "per_page has a value not allowed"],
      ["many", "per_page is invalid"],
      ["2.5", "per_page is invalid"],
      ["99999999999999999999", "per_page is invalid"],
    ] as const) {
      const { status, body } = await list(`per_page=${value}`);
      assert.equal(status, 400, value);
      assert.deepEqual(body, { error });
    }
  });

  test("page below 1 is 1, not a number is 400, beyond the end is []", async () => {
    for (const page of [0, -3]) {
      const reply = await list(`page=${page}&per_page=2`);
      assert.deepEqual(idsOf(reply), ids.slice(0, 2));
      assert.equal(reply.headers["x-page"], "1");
    }
    assert.deepEqual((await list("page=two")).body, { error: "page is invalid" });
    const past = await list("page=9&per_page=2");
    assert.equal(past.status, 200);
    assert.deepEqual(past.body, []);
    assert.equal(past.headers["x-page"], "9");
    assert.equal(past.headers["x-next-page"], "");
    assert.equal(past.headers["x-total"], "5");
    assert.equal(
      linksOf(past).some(({ rel }) => rel === "next"),
      false,
    );
  });

  test("an empty list has one page", async () => {
    const reply = await app.get("/users?search=nobody-at-all-has-this", { token: user.token });
    assert.deepEqual(reply.body, []);
    assert.equal(reply.headers["x-total"], "0");
    assert.equal(reply.headers["x-total-pages"], "1");
    assert.deepEqual(
      linksOf(reply).map(({ rel }) => rel),
      ["first", "last"],
    );
  });

  test("following next returns every row once, at any page size", async () => {
    for (const size of [1, 2, 3, 5, 7]) {
      const seen: number[] = [];
      let query: string | undefined = `per_page=${size}`;
      while (query !== undefined) {
        const reply = await list(query);
        seen.push(...idsOf(reply));
        const next = reply.headers["x-next-page"];
        query = next ? `per_page=${size}&page=${next}` : undefined;
      }
      assert.deepEqual(seen, ids, `${size} a page`);
    }
  });

  test("all lists are paged, also those without order_by", async () => {
    for (let n = 0; n < 2; n++) await app.makeToken(user.id);
    const reply = await app.get("/personal_access_tokens?per_page=2&page=2", { token: user.token });
    assert.equal(reply.body.length, 1);
    assert.equal(reply.headers["x-total"], "3");
    assert.equal(linksOf(reply)[0]?.rel, "prev");
  });

  test("GET /users: offset paging works while page * per_page is at most 50,000", async () => {
    const fine = await app.get("/users?page=500&per_page=100", { token: user.token });
    assert.equal(fine.status, 200);
    for (const query of ["page=501&per_page=100", "page=2501", "page=9007199254740991"]) {
      const { status, body } = await app.get(`/users?${query}`, { token: user.token });
      assert.equal(status, 405, query);
      assert.deepEqual(body, {
        error:
          "Offset pagination has a maximum allowed offset of 50000 for requests that return objects of type User. " +
          "Remaining records can be retrieved using keyset pagination.",
      });
    }
  });
});

describe("offset paging of more than 10,000 matches", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    const databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
    admin = await app.makeUser({ admin: true });
    await runSeedStep(databaseUrl, seedUsers, { users: 10_000, projects: 0, tokens: 0 });
  });
  after(() => app.close());

  test("10,000 are counted", async () => {
    const reply = await app.get("/users?exclude_internal=true&admins=false&created_before=2026-01-01&per_page=100", {
      token: admin.token,
    });
    assert.equal(reply.headers["x-total"], "10000");
    assert.equal(reply.headers["x-total-pages"], "100");
    assert.equal(linksOf(reply).at(-1)?.rel, "last");
  });

  test("10,001 are not counted: no x-total, no x-total-pages, no last link; other headers stay", async () => {
    const reply = await app.get("/users?per_page=100&page=3", { token: admin.token });
    assert.equal(reply.body.length, 100);
    assert.deepEqual(placesOf(reply), {
      "x-page": "3",
      "x-per-page": "100",
      "x-prev-page": "2",
      "x-next-page": "4",
      "x-total": undefined,
      "x-total-pages": undefined,
    });
    assert.deepEqual(
      linksOf(reply).map(({ rel }) => rel),
      ["prev", "next", "first"],
    );
    const end = await app.get("/users?per_page=100&page=101", { token: admin.token });
    assert.equal(end.body.length, 1);
    assert.equal(end.headers["x-next-page"], "");
  });
});
