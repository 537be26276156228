import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { operationsOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { keyOf, linesOf } from "#test/matrix/cells.ts";
import { makeWorld, MISSING_ID, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { NO_CHILD, snapshotOf } from "./support.ts";

/** What belongs to another user is answered like something missing, even to an administrator. */
describe("a child of another user", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
  });
  after(() => app.close());

  const snapshot = () => snapshotOf(app.services.db.write);

  for (const operation of operationsOf(resources)) {
    const has = linesOf(operation)[0]?.has;
    if (has === undefined || pathNames(operation.endpoint.path).length < 2 || keyOf(operation) in NO_CHILD) continue;
    test(`${keyOf(operation)}: is 404 as one that does not exist, and nothing is written`, async () => {
      const administrator = await app.makeUser({ admin: true });
      const { id } = await app.makeUser();
      const theirs = await world.give(has, world.otherUser.id, 0);
      const before = await snapshot();
      const ask = (child: string) => {
        const [parent = "", name = ""] = pathNames(operation.endpoint.path);
        const url = operation.endpoint.path.replace(`:${parent}`, String(id)).replace(`:${name}`, child);
        return app.call(operation.endpoint.method, url, { token: administrator.token });
      };
      const [foreign, missing] = [await ask(theirs), await ask(MISSING_ID)];
      assert.equal(foreign.status, 404);
      assert.deepEqual([foreign.text, foreign.headers["etag"]], [missing.text, missing.headers["etag"]]);
      assert.deepEqual(await snapshot(), before);
    });
  }

  test("every path with two names has a line that says what the second one is", () => {
    const without = operationsOf(resources).filter(
      (operation) =>
        pathNames(operation.endpoint.path).length > 1 &&
        !linesOf(operation).some(({ container, has }) => container?.child ?? has),
    );
    assert.deepEqual(
      without.map(keyOf).filter((key) => !(key in NO_CHILD)),
      [],
    );
  });

  for (const write of [
    "update users set bio = 'x' where id = (select max(id) from users)",
    "update namespaces set name = name where id = (select max(id) from namespaces)",
    "delete from stars where project_id = (select max(project_id) from stars)",
  ]) {
    test(`would have been seen: ${write}`, async () => {
      const before = await snapshot();
      await sql.raw(write).execute(app.services.db.write);
      assert.notDeepEqual(await snapshot(), before);
    });
  }
});
