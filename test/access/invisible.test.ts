import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, runAll } from "#test/matrix/requests.ts";
import { cellsOf, keyOf } from "#test/matrix/cells.ts";
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

/** A group that a parameter names and the caller may not see is answered like one that does not exist. */
describe("hidden groups in parameters", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp();
    world = await makeWorld(app);
  });
  after(() => app.close());

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
