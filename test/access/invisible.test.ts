import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, runAll } from "#test/matrix/requests.ts";
import { type Cell, cellsOf, keyOf } from "#test/matrix/cells.ts";
import { isSeen } from "#test/matrix/model.ts";
import { makeWorld, MISSING_ID, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { bytesOf, containerOperations } from "./support.ts";

/** Parameters that name a group, for a caller who owns what the path names, and the other required parameters. */
const NAMED = [
  ["POST /groups/:id/share", "group_id", "group_access=20"],
  ["POST /groups/:id/transfer", "group_id", ""],
  ["POST /projects/:id/share", "group_id", "group_access=20"],
  ["PUT /projects/:id/transfer", "namespace", ""],
] as const;
const PRIVATE = { visibility: "private", state: "live" } as const;

/** A group or project that a caller may not see is answered like one that does not exist, by every path and request. */
describe("hidden groups and projects", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp();
    world = await makeWorld(app);
  });
  after(() => app.close());

  for (const { operation, line } of containerOperations()) {
    test(`${keyOf(operation)} ${line.container.by ?? ""}`.trimEnd(), async () => {
      const hides = ({ owner, ...asked }: Cell) => owner === "nowhere" || !isSeen(line.container, { owner, ...asked });
      // Git asks every anonymous caller for a token, whatever exists.
      const isAsked = ({ caller, expected }: Cell) =>
        line.container.overGit && caller.role === "anonymous" && caller.refused === undefined && expected === 401;
      const cells = cellsOf(operation, line).filter(
        (cell) => (cell.expected === 404 || isAsked(cell)) && !cell.caller.sudo && hides(cell),
      );
      const answers = await runAll(app.app, world, cells);
      assert.deepEqual(
        answers.filter(({ problem }) => problem !== undefined).map(({ problem }) => problem),
        [],
      );
      assert.ok(cells.some(({ owner }) => owner === "nowhere"));
      assert.ok(
        cells.some(({ owner, form }) => owner === "own" && form === "plain"),
        "nothing was hidden",
      );
      if (line.container.by === undefined) assert.ok(cells.some(({ form }) => form === "old path"));
      for (const some of Object.values(Object.groupBy(answers, ({ cell, status }) => `${cell.verb} ${status}`))) {
        assert.equal(new Set(some?.map(bytesOf)).size, 1, described(some ?? []));
      }
    });
  }

  for (const [key, name, also] of NAMED) {
    test(`${key} with a hidden ${name}`, async () => {
      const inContainer = containerOperations().find(({ operation }) => keyOf(operation) === key);
      assert.ok(inContainer, "no such endpoint");
      const [cell] = cellsOf(inContainer.operation, inContainer.line).filter(
        ({ caller, expected, form }) => caller.name === "owner" && Number(expected) < 300 && form === "plain",
      );
      assert.ok(cell);
      const [hidden] = await world.tree.make([
        { kind: "group", caller: { name: "nobody", role: "user" }, acting: undefined, ...PRIVATE },
      ]);
      const values = [hidden?.id, hidden?.fullPath, hidden?.oldPath, MISSING_ID, "no/such/group"];
      const answers = await runAll(
        app.app,
        world,
        values
          .filter((value) => name === "namespace" || /^\d+$/.test(String(value)))
          .map((value) => ({ ...cell, line: { ...cell.line, send: `${name}=${value}&${also}` } })),
      );
      for (const { status } of answers) assert.equal(status, 404);
      assert.equal(new Set(answers.map(bytesOf)).size, 1, described(answers));
    });
  }
});

/** One caller for each of the answers. */
function described(answers: readonly Answer[]): string {
  const kinds = Map.groupBy(answers, bytesOf);
  return [...kinds].map(([bytes, [first]]) => `${first?.cell.caller.name}, ${first?.cell.owner}: ${bytes}`).join("\n");
}
