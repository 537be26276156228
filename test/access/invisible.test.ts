import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, askAll } from "#test/matrix/ask.ts";
import { type Cell, cellsOf, keyOf } from "#test/matrix/cells.ts";
import { isSeen } from "#test/matrix/model.ts";
import { makeWorld, NOBODY, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { bytesOf, placeOperations } from "./support.ts";

/** Parameters that name a group to somebody who owns what the path names, and what has to be sent beside. */
const NAMED = [
  ["POST /groups/:id/share", "group_id", "group_access=20"],
  ["POST /groups/:id/transfer", "group_id", ""],
  ["POST /projects/:id/share", "group_id", "group_access=20"],
  ["PUT /projects/:id/transfer", "namespace", ""],
] as const;
const PRIVATE = { visibility: "private", state: "live" } as const;

/** A group or project that a caller may not see answers as one that does not exist, by every address and to every request. */
describe("what is hidden is not there", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp();
    world = await makeWorld(app);
  });
  after(() => app.close());

  for (const { operation, line } of placeOperations()) {
    test(`${keyOf(operation)} ${line.place.by ?? ""}`.trimEnd(), async () => {
      const hides = ({ owner, ...asked }: Cell) => owner === "nowhere" || !isSeen(line.place, { owner, ...asked });
      // Git asks whoever shows no token for one, whatever there is.
      const isAsked = ({ caller, expected }: Cell) =>
        line.place.overGit && caller.role === "anonymous" && caller.refused === undefined && expected === 401;
      const cells = cellsOf(operation, line).filter(
        (cell) => (cell.expected === 404 || isAsked(cell)) && !cell.caller.sudo && hides(cell),
      );
      const answers = await askAll(app.app, world, cells);
      assert.deepEqual(
        answers.filter(({ problem }) => problem !== undefined).map(({ problem }) => problem),
        [],
      );
      assert.ok(cells.some(({ owner }) => owner === "nowhere"));
      assert.ok(
        cells.some(({ owner, form }) => owner === "own" && form === "plain"),
        "nothing was hidden",
      );
      if (line.place.by === undefined) assert.ok(cells.some(({ form }) => form === "old path"));
      for (const some of Object.values(Object.groupBy(answers, ({ cell, status }) => `${cell.verb} ${status}`))) {
        assert.equal(new Set(some?.map(bytesOf)).size, 1, told(some ?? []));
      }
    });
  }

  for (const [key, name, also] of NAMED) {
    test(`${key} with a hidden ${name}`, async () => {
      const inPlace = placeOperations().find(({ operation }) => keyOf(operation) === key);
      assert.ok(inPlace, "no such endpoint");
      const [cell] = cellsOf(inPlace.operation, inPlace.line).filter(
        ({ caller, expected, form }) => caller.name === "owner" && Number(expected) < 300 && form === "plain",
      );
      assert.ok(cell);
      const [hidden] = await world.land.make([
        { kind: "group", caller: { name: "nobody", role: "user" }, acting: undefined, ...PRIVATE },
      ]);
      const values = [hidden?.id, hidden?.fullPath, hidden?.oldPath, NOBODY, "no/such/group"];
      const answers = await askAll(
        app.app,
        world,
        values
          .filter((value) => name === "namespace" || /^\d+$/.test(String(value)))
          .map((value) => ({ ...cell, line: { ...cell.line, send: `${name}=${value}&${also}` } })),
      );
      for (const { status } of answers) assert.equal(status, 404);
      assert.equal(new Set(answers.map(bytesOf)).size, 1, told(answers));
    });
  }
});

/** One caller for each of the answers. */
function told(answers: readonly Answer[]): string {
  const kinds = Map.groupBy(answers, bytesOf);
  return [...kinds].map(([bytes, [first]]) => `${first?.cell.caller.name}, ${first?.cell.owner}: ${bytes}`).join("\n");
}
