import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { LightMyRequestResponse } from "fastify";
import { requestOf } from "#test/matrix/requests.ts";
import type { Caller } from "#test/matrix/callers.ts";
import { type Cell, type Form, keyOf } from "#test/matrix/cells.ts";
import type { TestContainer, ContainerSpec } from "#test/matrix/tree.ts";
import { expectedStatus, isSeen } from "#test/matrix/model.ts";
import { type Account, makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { type Loss, losses } from "./losses.ts";
import { bytesOf, containerOperations } from "./support.ts";

type InContainer = ReturnType<typeof containerOperations>[number];

/** A request of a caller who is about to lose access. */
interface Case {
  readonly inContainer: InContainer;
  readonly user: Account;
  readonly spec: ContainerSpec;
  readonly container: TestContainer;
  /** The place where a write is made before the loss. */
  readonly tried: TestContainer;
}

/** The same after the loss. */
interface Lost extends Case {
  readonly as: ReturnType<typeof asker>;
  readonly told: string;
  readonly reads: boolean;
  /** The status that is left to the caller. */
  readonly left: number;
  /** Whether the place is to be answered like one that does not exist. */
  readonly hidden: boolean;
}

const AT_ONCE = 16;
const FORMS: readonly Form[] = ["plain", "full path", "old path"];

/** The same request before and after: access is lost at once, in the process that made the change and in another. */
describe("access that was lost", () => {
  let first: TestApp;
  let second: TestApp;
  let world: World;
  let admin: Account;
  let strangers: { insider: Account; external: Account };
  before(async () => {
    const databaseUrl = await freshDatabase();
    first = await testApp({ databaseUrl });
    const { dataDir } = first.services.config;
    second = await testApp({ databaseUrl, env: { FAIRLEAD_DATA_DIR: dataDir } });
    world = await makeWorld(first);
    admin = await world.makeAccount({ admin: true });
    strangers = { insider: await world.makeAccount(), external: await world.makeAccount({ external: true }) };
  });
  after(() => Promise.all([first.close(), second.close()]));

  const cases = containerOperations().filter(({ line }) => line.container.by === undefined);
  const byRule = [...Map.groupBy(cases, ruleOf).values()];

  for (const [turn, loss] of losses.entries()) {
    test(loss.name, async () => {
      await world.tree.analyze();
      // The operations of one rule lose access alike, so they take turns.
      const met = byRule.map((some) => some[turn % some.length] as InContainer);
      for (let from = 0; from < met.length; from += AT_ONCE) {
        const cases = await prepare(loss, met.slice(from, from + AT_ONCE));
        const lost = await Promise.all(cases.map((prepared) => lose(loss, prepared)));
        const refused = lost.filter(({ left }) => left >= 300);
        const places = refused.map(({ container }) => container);
        const digest = await world.tree.digestOf(places);
        await Promise.all(refused.map((each) => checkLost(loss, each)));
        const names = refused.map(({ told }) => told).join("; ");
        assert.equal(await world.tree.digestOf(places), digest, `nothing may be written by any of ${names}`);
        await Promise.all(lost.filter(({ left }) => left < 300).map((each) => checkLost(loss, each)));
      }
    });
  }

  /** Creates the users and places of several cases with few statements. */
  async function prepare(loss: Loss, some: readonly InContainer[]): Promise<Case[]> {
    const users = await Promise.all(some.map(() => world.makeAccount(loss.had.account)));
    const specs = some.map(({ line: { container } }, index): ContainerSpec => {
      const { kind, top, child, holds, code, state = "live" } = container;
      const user = users[index] as Account;
      const caller: Caller = { name: user.username, role: "user", ...loss.had };
      return {
        ...{ kind, caller, acting: user.id, visibility: loss.had.visibility ?? "private", state },
        ...{ ...(top && { top }), ...(child && { child }), ...(holds && { holds }), ...(code && { code }) },
      };
    });
    // A write cannot be repeated, so the one before the loss uses another place of the same kind.
    const containers = await world.tree.make([...specs, ...specs]);
    return some.map((inContainer, index) => ({
      inContainer,
      user: users[index] as Account,
      spec: specs[index] as ContainerSpec,
      container: containers[index] as TestContainer,
      tried: containers[some.length + index] as TestContainer,
    }));
  }

  /** Sends the request that is allowed, then takes the access away. */
  async function lose(loss: Loss, prepared: Case): Promise<Lost> {
    const { inContainer, user, spec, container, tried } = prepared;
    const { operation, line } = inContainer;
    const { caller, visibility, state } = spec;
    const reads = operation.endpoint.method === "GET";
    const cell: Cell = {
      ...{ operation, line, caller, scopes: ["api"], visibility, state, owner: "own", badParameter: false },
      ...{ verb: operation.endpoint.method, form: "plain", expected: "refused" },
    };
    const accounts = new Map([...world.accounts, [user.username, user]]);
    const as = asker(
      { ...world, accounts },
      cell,
      line.container.child === "project" ? await world.tree.makeProject() : undefined,
    );
    const told = `${keyOf(operation)}, ${loss.name}`;
    const had = expectedStatus(line, cell);
    for (const app of reads ? [first, second] : [first])
      assert.equal((await as(app, user, reads ? container : tried)).statusCode, had, `${told}, before`);
    await loss.lose({ app: first, world, container, user, admin: admin.token });
    const after = { ...cell, caller: { ...caller, ...loss.left }, visibility: loss.left.visibility ?? visibility };
    const left = expectedStatus(line, { ...after, owner: loss.left.gone ? "nowhere" : "own" });
    return { ...prepared, as, told, reads, left, hidden: loss.left.gone || !isSeen(line.container, after) };
  }

  async function checkLost(loss: Loss, { user, container, as, told, reads, left, hidden }: Lost) {
    const stranger = strangers[loss.left.account?.["external"] ? "external" : "insider"];
    for (const app of [second, first]) {
      const answer = await as(app, user, container);
      assert.equal(answer.statusCode, left, `${told}, after: ${answer.payload.slice(0, 200)}`);
      if (left === 404 && hidden) {
        for (const form of FORMS) {
          const other = await as(app, stranger, container, form);
          assert.equal(bytes(await as(app, user, container, form)), bytes(other), `${told}, by ${form}`);
        }
      }
      if (left < 300 && !reads) break;
    }
  }
});

function ruleOf({ operation: { endpoint }, line: { container } }: InContainer): string {
  return [endpoint.access.rule, endpoint.method === "GET", container.kind, container.code].join();
}

const bytes = ({ statusCode: status, headers, payload }: LightMyRequestResponse) =>
  bytesOf({ status, headers, payload });

/** Sends the request of a cell with a caller's token. */
const asker =
  (world: World, cell: Cell, project: number | undefined) =>
  async (app: TestApp, { tokenId: id, token }: Account, container: TestContainer, form: Form = "plain") => {
    const values = await world.valuesIn(cell.line.send ?? "");
    return app.app.inject(requestOf(world, { ...cell, form }, { token: { id, token }, container, project, values }));
  };
