import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { operationsOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { resources } from "#resources/index.ts";
import { askAll } from "#test/matrix/ask.ts";
import { type Cell, cellsOf, keyOf, linesOf } from "#test/matrix/cells.ts";
import { expectedStatus, type Owner } from "#test/matrix/model.ts";
import { give } from "#test/matrix/possessions.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { bytesOf, snapshotOf } from "./support.ts";

/** Paths whose second name is no child of what the first one names. */
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
const NOBODY = 4503599627370495;

/** What does not belong to the parent in the path is not there, whatever the caller may do with it at its own place. */
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
    if (pathNames(operation.endpoint.path).length < 2 || key in NO_CHILD) continue;
    const nested = linesOf(operation).filter(({ place }) => place?.child !== undefined && place.child !== "oneself");
    const has = linesOf(operation)[0]?.has;

    if (has !== undefined) {
      test(`${key}: is 404 as one that does not exist, and nothing is written`, async () => {
        const administrator = await app.makeUser({ admin: true });
        const { id } = await app.makeUser();
        const theirs = await give(app.services.db.write, has, world.somebody.id, 0);
        const before = await snapshot();
        const ask = (child: string) => {
          const [parent = "", name = ""] = pathNames(operation.endpoint.path);
          const url = operation.endpoint.path.replace(`:${parent}`, String(id)).replace(`:${name}`, child);
          return app.call(operation.endpoint.method, url, { token: administrator.token });
        };
        const [foreign, missing] = [await ask(theirs), await ask(String(NOBODY))];
        assert.equal(foreign.status, 404);
        assert.deepEqual([foreign.text, foreign.headers["etag"]], [missing.text, missing.headers["etag"]]);
        assert.deepEqual(await snapshot(), before);
      });
      continue;
    }

    test(`${key}: is 404 as one that does not exist, and nothing is written`, async () => {
      assert.notEqual(nested.length, 0, "a path with two names needs a line with its child, or a word in NO_CHILD");
      for (const line of nested) {
        const { inherits, code, lacking = 404 } = line.place ?? {};
        const wrong: Owner[] = inherits || code ? ["foreign"] : ["foreign", "above"];
        const cells = cellsOf(operation, line).filter(isAboutTheChild).filter(isByToken);
        for (const owner of [...wrong, "missing"])
          assert.ok(
            cells.some((cell) => cell.owner === owner),
            owner,
          );
        // What the cells themselves need is made beforehand.
        await askAll(
          app.app,
          world,
          cells.map((cell) => ({ ...cell, owner: "missing" }) as const),
        );
        const before = await snapshot();
        const answers = await askAll(app.app, world, cells);
        assert.deepEqual(await snapshot(), before);
        const forms = Object.values(Object.groupBy(answers, ({ cell }) => cell.verb));
        for (const some of forms) assert.deepEqual([...new Set(some?.map(bytesOf))].slice(1), []);
        for (const { status, cell } of answers) assert.equal(status, lacking, `${cell.owner} as ${cell.caller.name}`);
      }
    });
  }

  test("a write would have been seen", async () => {
    const before = await snapshot();
    await app.services.db.write.updateTable("users").set({ bio: "x" }).where("id", "=", world.somebody.id).execute();
    assert.notDeepEqual(await snapshot(), before);
  });
});

/** A session is made for each request that is made by one, which would be seen as written. */
const isByToken = ({ caller }: Cell) => caller.carrier !== "session";

/** Whether the child is what the refusal is about: one that is there would be open to the caller. */
const isAboutTheChild = (cell: Cell) =>
  cell.owner !== "nowhere" &&
  cell.expected === (cell.line.place?.lacking ?? 404) &&
  !cell.badParameter &&
  expectedStatus(cell.line, { ...cell, owner: "own" }) < 300;
