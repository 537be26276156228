import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "./support/app.ts";
import { type FullPlaces, lists, makeFullPlaces, pathOfList } from "./support/full-places.ts";

const ROWS = 24;
/** Token, path, container, item, page, count, and related rows, each once for all rows. */
const MAX_STATEMENTS = 12;
/** How many rows a list must show for one statement per row to be noticed: the first page shows two. */
const MIN_ROWS = 4;

/** The number of statements of a list must not depend on the number of its rows. */
describe("statements of a list", () => {
  let app: TestApp;
  let administrator: TestUser;
  let member: TestUser;
  let places: FullPlaces;
  before(async () => {
    app = await testApp();
    administrator = await app.makeUser({ admin: true });
    member = await app.makeUser();
    places = await makeFullPlaces(app, member, ROWS);
  });
  after(() => app.close());

  for (const operation of lists) {
    test(operation.endpoint.path, async () => {
      const path = pathOfList(places, operation);
      const shown: number[] = [];
      for (const { token } of [administrator, member]) {
        const few = await statementsOf(`${path}?per_page=2`, token);
        const many = await statementsOf(`${path}?per_page=20`, token);
        if (many.status === 403) continue;
        shown.push(many.rows);
        assert.ok(many.count <= MAX_STATEMENTS, `${many.count} statements`);
        assert.ok(
          many.count <= few.count + 1,
          `${few.count} statements for ${few.rows} rows, ${many.count} for ${many.rows}`,
        );
      }
      assert.ok(Math.max(0, ...shown) >= MIN_ROWS, `the list shows ${shown.join(" and ")} rows`);
    });
  }

  test("there are lists", () => assert.ok(lists.length >= 40, String(lists.length)));

  async function statementsOf(path: string, token: string) {
    let rows = 0;
    let status = 0;
    const statements = await recordStatements(async () => {
      const reply = await app.get(path, { token });
      status = reply.status;
      rows = status === 200 ? reply.body.length : 0;
      assert.ok(status === 200 || status === 403, `${path}: ${reply.text}`);
    });
    return { rows, status, count: statements.length };
  }
});
