import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { LightMyRequestResponse } from "fastify";
import { requestOf } from "#test/matrix/ask.ts";
import type { Caller } from "#test/matrix/callers.ts";
import { type Cell, type Form, keyOf } from "#test/matrix/cells.ts";
import type { MadePlace } from "#test/matrix/land.ts";
import { expectedStatus, isSeen } from "#test/matrix/model.ts";
import { type Account, makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { type Loss, losses } from "./losses.ts";
import { bytesOf, placeOperations } from "./support.ts";

type InPlace = ReturnType<typeof placeOperations>[number];

const AT_ONCE = 8;
const FORMS: readonly Form[] = ["plain", "full path", "old path"];

/** The same request before and after: what was lost is lost at once, in the process that heard of it and in another. */
describe("what somebody lost", () => {
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

  const cases = placeOperations().filter(({ line }) => line.place.by === undefined);

  for (const [turn, loss] of losses.entries()) {
    test(loss.name, async () => {
      // A repository for each takes long, and all of them ask one rule: each loss meets an eighth, and each of them two.
      const met = cases.filter(({ line }, at) => line.place.code === undefined || (at + turn) % 8 === 0);
      for (let from = 0; from < met.length; from += AT_ONCE)
        await Promise.all(met.slice(from, from + AT_ONCE).map((inPlace) => lose(loss, inPlace)));
    });
  }

  async function lose(loss: Loss, inPlace: InPlace) {
    const { operation, line } = inPlace;
    const user = await world.makeAccount(loss.had.account);
    const caller: Caller = { name: user.username, role: "user", ...loss.had };
    const { kind, top, child, holds, code, state = "live" } = line.place;
    const visibility = loss.had.visibility ?? "private";
    const wish = {
      ...{ kind, caller, acting: user.id, visibility, state },
      ...{ ...(top && { top }), ...(child && { child }), ...(holds && { holds }), ...(code && { code }) },
    };
    const reads = operation.endpoint.method === "GET";
    // What is written could not be written a second time, so that one is tried at a place of the same kind.
    const [place, tried = place] = await world.land.make(reads ? [wish] : [wish, wish]);
    assert.ok(place && tried);
    const cell: Cell = {
      ...{ operation, line, caller, scopes: ["api"], visibility, state, owner: "own", badParameter: false },
      ...{ verb: operation.endpoint.method, form: "plain", expected: "refused" },
    };
    const accounts = new Map([...world.accounts, [user.username, user]]);
    const as = asker({ ...world, accounts }, cell, child === "project" ? await world.land.makeProject() : undefined);
    const told = `${keyOf(operation)}, ${loss.name}`;

    const had = expectedStatus(line, cell);
    for (const app of reads ? [first, second] : [first])
      assert.equal((await as(app, user, tried)).statusCode, had, `${told}, before`);

    await loss.lose({ app: first, world, place, user, admin: admin.token });
    const after = { ...cell, caller: { ...caller, ...loss.left }, visibility: loss.left.visibility ?? visibility };
    const left = expectedStatus(line, { ...after, owner: loss.left.gone ? "nowhere" : "own" });
    const stranger = strangers[loss.left.account?.["external"] ? "external" : "insider"];
    const digest = await world.land.digestOf([place]);
    for (const app of [second, first]) {
      const answer = await as(app, user, place);
      assert.equal(answer.statusCode, left, `${told}, after: ${answer.payload.slice(0, 200)}`);
      if (left === 404 && (loss.left.gone || !isSeen(line.place, after))) {
        for (const form of FORMS) {
          const other = await as(app, stranger, place, form);
          assert.equal(bytes(await as(app, user, place, form)), bytes(other), `${told}, by ${form}`);
        }
      }
      if (left < 300 && !reads) break;
    }
    if (left >= 300) assert.equal(await world.land.digestOf([place]), digest, `${told}, nothing may be written`);
  }
});

const bytes = ({ statusCode: status, headers, payload }: LightMyRequestResponse) =>
  bytesOf({ status, headers, payload });

/** Sends the request of a cell with somebody's token. */
const asker =
  (world: World, cell: Cell, project: number | undefined) =>
  (app: TestApp, { tokenId: id, token }: Account, place: MadePlace, form: Form = "plain") =>
    app.app.inject(requestOf(world, { ...cell, form }, { token: { id, token }, place, project }));
