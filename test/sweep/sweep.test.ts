import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type Operation, operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import { NO_CHILD, snapshotOf } from "#test/access/support.ts";
import { type Cell, keyOf, linesOf } from "#test/matrix/cells.ts";
import type { Line } from "#test/matrix/line.ts";
import { type Answer, prepare, runAll, sharedContainers } from "#test/matrix/requests.ts";
import { actorOf, makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { auditProblems, auditRows } from "./audit.ts";
import { cellsWithPassword, chosenCells } from "./chosen.ts";
import { isAboutTheChild, isHidden, judges, keepsSecrets, reasonOf, tellsAddress, TOKEN } from "./judges.ts";
import { PASSWORD, plantSecrets, type Secrets } from "./secrets.ts";

const operations = operationsOf(resources);

/** Sends the chosen requests of every operation once; every judge looks at all answers. */
describe("every operation", () => {
  let app: TestApp;
  let world: World;
  let secrets: Secrets;
  let chosen: ReadonlyMap<Operation, readonly Cell[]>;
  const answers = new Map<Operation, Answer[]>();
  let audited: Awaited<ReturnType<typeof auditRows>>;
  let writers: ReadonlySet<Operation>;

  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
    secrets = await plantSecrets(app, world);
    const actor = await actorOf(app, world);
    chosen = new Map(operations.map((operation, turn) => [operation, chosenCells(operation, turn, actor)]));
    writers = new Set([...(await sendMost()), ...(await sendAboutChildren())]);
    audited = await auditRows(app.services.db.write, everyAnswer());
  });
  after(() => app.close());

  const everyAnswer = () => [...answers.values()].flat();

  async function send(operation: Operation, cells: readonly Cell[]) {
    const some = await runAll(app.app, world, cells);
    answers.set(operation, [...(answers.get(operation) ?? []), ...some]);
  }

  const cellsIn = (some: readonly Operation[], isWanted: (cell: Cell) => boolean) =>
    some.flatMap((operation) => (chosen.get(operation) ?? []).filter(isWanted));

  /** A refused request writes nothing to the group or project that it names. */
  async function sendMost() {
    const isWanted = (cell: Cell) => !writesNothingAnywhere(cell);
    await sharedContainers(world, cellsIn(operations, isWanted));
    await world.tree.analyze();
    return writersAmong(
      operations,
      async (some) => world.tree.digestOf(await sharedContainers(world, cellsIn(some, isWanted))),
      (operation) => send(operation, cellsIn([operation], isWanted)),
    );
  }

  /** A request about a child of another parent writes nothing anywhere. */
  async function sendAboutChildren() {
    const concerned = operations.filter((operation) => cellsIn([operation], writesNothingAnywhere).length > 0);
    // What the cells need is created before.
    await prepare(world, cellsIn(concerned, writesNothingAnywhere), false);
    return writersAmong(
      concerned,
      async () => JSON.stringify(await snapshotOf(app.services.db.write)),
      (operation) => send(operation, cellsIn([operation], writesNothingAnywhere)),
    );
  }

  for (const operation of operations) {
    test(keyOf(operation), () => {
      const own = answers.get(operation) ?? [];
      const isTriedBeside = linesOf(operation).every(succeedsNever);
      assert.equal(
        own.every(({ cell, status }) => cell.verb === "OPTIONS" || status >= 400),
        isTriedBeside,
        "nobody may call it",
      );
      assert.deepEqual([...judges.flatMap((judge) => judge(own, secrets)), ...auditProblems(own, audited, world)], []);
      assert.ok(!writers.has(operation), "a refused request wrote something");
    });
  }

  test("no response repeats a password that it was sent", async () => {
    const given = await runAll(
      app.app,
      world,
      operations.flatMap((operation) => cellsWithPassword(operation, PASSWORD)),
    );
    assert.notEqual(given.length, 0);
    assert.deepEqual(keepsSecrets(given, secrets), []);
  });

  test("neither the log nor the audit log holds a secret", async () => {
    const { rows } = await sql<{ text: string }>`select audit_events::text as text from audit_events`.execute(
      app.services.db.write,
    );
    assert.notEqual(rows.length, 0);
    assert.ok(app.logged.length > everyAnswer().length);
    for (const text of [app.logged.join(""), rows.map((row) => row.text).join("\n")]) {
      for (const secret of secrets.texts) assert.ok(!text.includes(secret), secret);
      assert.doesNotMatch(text, TOKEN);
    }
  });

  test("there was something to look for", () => {
    assert.ok(everyAnswer().some(({ payload }) => TOKEN.test(payload)));
    assert.ok(everyAnswer().some((answer) => tellsAddress(answer, secrets)));
    const reasons = everyAnswer().flatMap((answer) => reasonOf(answer) ?? []);
    for (const expected of [
      "403 Forbidden - Requires an administrator",
      "403 Forbidden - Requires at least the Maintainer role in the project",
      "403 Forbidden - Requires at least the Owner role in the group",
    ])
      assert.ok(reasons.includes(expected), expected);
  });

  test("every group and project is named while it is missing, while it is hidden, and by a previous path", () => {
    for (const [operation, cells] of chosen)
      for (const line of linesOf(operation)) {
        const some = cells.filter((cell) => cell.line === line && isHidden(cell));
        const { container } = line;
        if (!container || container.foundBy) continue;
        const what = `${keyOf(operation)} ${container.by ?? ""}`;
        assert.ok(some.some(isNowhere), `${what} is never missing`);
        assert.ok(
          some.some(({ owner, form }) => owner === "own" && form === "plain"),
          `${what} is never hidden`,
        );
        if (container.by === undefined) assert.ok(some.some(isMoved), `${what} is never named by a previous path`);
      }
  });

  test("every child is asked for in another parent and while it is missing", () => {
    for (const [operation, cells] of chosen) {
      if (keyOf(operation) in NO_CHILD) continue;
      for (const line of linesOf(operation)) {
        const { child, inherits, code } = line.container ?? {};
        if (child === undefined || child === "oneself") continue;
        const some = cells.filter((cell) => cell.line === line && isAboutTheChild(cell));
        for (const owner of ["foreign", "missing", ...(inherits || code ? [] : ["above"])])
          assert.ok(
            some.some((cell) => cell.owner === owner),
            `${keyOf(operation)}: ${owner}`,
          );
      }
    }
  });
});

/** Whether it needs more than a line can send, such as a code; its own tests cover that. */
const succeedsNever = ({ anonymous, user, administrator, session = 400 }: Line) =>
  [anonymous, user, administrator, session].flat().every((status) => status >= 400);

const isNowhere = ({ owner }: Cell) => owner === "nowhere";
const isMoved = ({ form }: Cell) => form === "old path";

/** Whether the request is refused for its child alone, and nothing is created only to send it. */
const writesNothingAnywhere = (cell: Cell) =>
  isAboutTheChild(cell) && cell.caller.carrier !== "session" && cell.line.container?.child !== "project";

/** The operations whose requests change a state: of all together, and only if they did, of each alone. */
async function writersAmong(
  some: readonly Operation[],
  stateOf: (some: readonly Operation[]) => Promise<string>,
  run: (operation: Operation) => Promise<void>,
): Promise<Operation[]> {
  const before = await stateOf(some);
  for (const operation of some) await run(operation);
  if ((await stateOf(some)) === before) return [];
  const writers: Operation[] = [];
  for (const operation of some) {
    const first = await stateOf([operation]);
    await run(operation);
    if ((await stateOf([operation])) !== first) writers.push(operation);
  }
  assert.notEqual(writers.length, 0, "a refused request wrote something once, and not again");
  return writers;
}
