import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { operationsOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { runAll, prepare } from "#test/matrix/requests.ts";
import { type Cell, cellsOf, keyOf, linesOf } from "#test/matrix/cells.ts";
import { expectedStatus, type Owner } from "#test/matrix/model.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { bytesOf, oneOfEach, snapshotOf } from "./support.ts";

/** Paths whose second name is not a child of the first. */
const NO_CHILD: Readonly<Record<string, string>> = {
  "GET /uploads/-/system/user/avatar/:id/:file": "a file is asked for by its name",
  "GET /uploads/-/system/group/avatar/:id/:file": "a file is asked for by its name",
  "GET /uploads/-/system/project/avatar/:id/:file": "a file is asked for by its name",
  "POST /groups/:id/projects/:project_id": "the project is one of elsewhere, which comes into the group",
  "PUT /users/:id/custom_attributes/:key": "an attribute that is not there is made",
  "POST /projects/:id/repository/files/:file_path": "a file that is not there is made",
  "GET /projects/:id/repository/commits/:sha/signature": "no commit has one",
};

/** An id that nothing has. */
const MISSING_ID = 4503599627370495;

/** A child of another parent is answered like a missing one, whatever the caller may do with it in its own parent. */
describe("a child of another parent", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
  });
  after(() => app.close());

  const snapshot = () => snapshotOf(app.services.db.write);

  for (const operation of operationsOf(resources)) {
    const key = keyOf(operation);
    const isByParameter = linesOf(operation).some(({ container }) => container?.childBy !== undefined);
    if ((pathNames(operation.endpoint.path).length < 2 && !isByParameter) || key in NO_CHILD) continue;
    const nested = linesOf(operation).filter(
      ({ container }) => container?.child !== undefined && container.child !== "oneself",
    );
    const has = linesOf(operation)[0]?.has;

    if (has !== undefined) {
      test(`${key}: is 404 as one that does not exist, and nothing is written`, async () => {
        const administrator = await app.makeUser({ admin: true });
        const { id } = await app.makeUser();
        const theirs = await world.give(has, world.otherUser.id, 0);
        const before = await snapshot();
        const ask = (child: string) => {
          const [parent = "", name = ""] = pathNames(operation.endpoint.path);
          const url = operation.endpoint.path.replace(`:${parent}`, String(id)).replace(`:${name}`, child);
          return app.call(operation.endpoint.method, url, { token: administrator.token });
        };
        const [foreign, missing] = [await ask(theirs), await ask(String(MISSING_ID))];
        assert.equal(foreign.status, 404);
        assert.deepEqual([foreign.text, foreign.headers["etag"]], [missing.text, missing.headers["etag"]]);
        assert.deepEqual(await snapshot(), before);
      });
      continue;
    }

    test(`${key}: is 404 as one that does not exist, and nothing is written`, async () => {
      assert.notEqual(nested.length, 0, "a path with two names needs a line with its child, or a word in NO_CHILD");
      for (const line of nested) {
        const { inherits, code, missingStatus = 404 } = line.container ?? {};
        const wrong: Owner[] = inherits || code ? ["foreign"] : ["foreign", "above"];
        const asked = cellsOf(operation, line).filter(isAboutTheChild).filter(isByToken);
        // Git is slow and does not depend on the caller: one stands for all who may read or write the code.
        const cells = code
          ? oneOfEach(asked, (cell) => [cell.owner, cell.verb, cell.form, cell.visibility, cell.state])
          : asked;
        for (const owner of [...wrong, "missing"])
          assert.ok(
            cells.some((cell) => cell.owner === owner),
            owner,
          );
        // The fixtures of the cells are created before.
        await prepare(world, cells, false);
        const before = await snapshot();
        const answers = await runAll(app.app, world, cells);
        assert.deepEqual(await snapshot(), before);
        const forms = Object.values(Object.groupBy(answers, ({ cell }) => cell.verb));
        for (const some of forms) assert.deepEqual([...new Set(some?.map(bytesOf))].slice(1), []);
        for (const { status, cell } of answers)
          assert.equal(status, missingStatus, `${cell.owner} as ${cell.caller.name}`);
      }
    });
  }

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

/** A request by session creates its session first, which would count as a write. */
const isByToken = ({ caller }: Cell) => caller.carrier !== "session";

/** Whether only the child can be refused: a child of the right parent would be allowed. */
const isAboutTheChild = (cell: Cell) =>
  cell.owner !== "nowhere" &&
  cell.expected === (cell.line.container?.missingStatus ?? 404) &&
  !cell.badParameter &&
  expectedStatus(cell.line, { ...cell, owner: "own" }) < 300;
