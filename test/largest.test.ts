import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { InjectOptions } from "fastify";
import { type Operation, operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import { type Cell, keyOf } from "./matrix/cells.ts";
import { type CellSetup, prepare, requestOf } from "./matrix/requests.ts";
import { ADMINISTRATOR, specialRequests, usualCell, withRequest } from "./matrix/usual.ts";
import { makeWorld, type World } from "./matrix/world.ts";
import { recordStatements } from "./plans/record.ts";
import { type TestApp, testApp } from "./support/app.ts";
import { lists } from "./support/full-places.ts";
import { type LargestValue, largestValues } from "./support/largest.ts";
import { freshDatabase } from "./support/postgres.ts";

/** Statements of a request, those of its transaction, token and audit row included. */
const MAX_STATEMENTS = 30;
/** Rows that a request reads in all of them: a hundred names, and what is looked up for each. */
const MAX_ROWS = 1_000;
/** An item with the longest text that fits into a request. */
const MAX_ITEM_BYTES = 1.1 * 2 ** 20;
/** Of a page: the longest is that of users, whose notes only administrators read. */
const MAX_PAGE_BYTES = 8 * 2 ** 20;
/** A hundred labels of each item, and what is looked up for all of them. */
const MAX_PAGE_ROWS = 11_000;

const PAGE = 100;
const MIN_LENGTH = 2_000;
/** What is created for a page; long items need not be as many as a page holds to be more than fit into one. */
const MAX_CREATED_BYTES = 12 * 2 ** 20;

const isText = ({ fields }: LargestValue) => fields.some(([, value]) => value.length >= MIN_LENGTH);

interface Cost {
  readonly status: number;
  readonly bytes: number;
  readonly statements: number;
  readonly rows: number;
  readonly text: string;
}

/**
 * Sends every parameter that takes a long text or a list at its largest, alone and in as many items as a page holds. What
 * it costs is counted, not timed.
 */
describe("the largest parameters", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
  });
  after(() => app.close());

  async function costOf(request: InjectOptions): Promise<Cost> {
    let cost: Omit<Cost, "statements" | "rows"> = { status: 0, bytes: 0, text: "" };
    const statements = await recordStatements(async () => {
      const { statusCode: status, rawPayload, payload } = await app.app.inject(request);
      cost = { status, bytes: rawPayload.length, text: payload.slice(0, 200) };
    }, /./);
    const rows = statements.reduce((sum, statement) => sum + (statement.rows ?? 0), 0);
    return { ...cost, statements: statements.length, rows };
  }

  async function requestWith(operation: Operation, cell: Cell, setup: CellSetup, values: readonly LargestValue[]) {
    const account = world.accounts.get(ADMINISTRATOR);
    assert.ok(account);
    const special = await specialRequests.get(keyOf(operation))?.(world.context, account);
    return values.reduce(withValue, withRequest(requestOf(world, cell, setup), special));
  }

  for (const operation of operationsOf(resources)) {
    const values = largestValues(operation);
    const cell = values.length > 0 ? usualCell(operation, ADMINISTRATOR) : undefined;
    if (!cell) continue;
    test(keyOf(operation), async () => {
      for (const value of values) {
        const [setup = {}] = await prepare(world, [cell], true);
        const { status, bytes, statements, rows, text } = await costOf(
          await requestWith(operation, cell, setup, [value]),
        );
        const what = `${value.name}: ${status} ${text}`;
        assert.ok(status < 500, what);
        assert.ok(statements <= MAX_STATEMENTS, `${statements} statements for ${what}`);
        assert.ok(rows <= MAX_ROWS, `${rows} rows for ${what}`);
        assert.ok(bytes <= MAX_ITEM_BYTES, `${bytes} bytes for ${what}`);
      }
    });
  }

  for (const { list, create, cell } of created()) {
    test(`a page of ${keyOf(list)}`, async () => {
      const [setup = {}] = await prepare(world, [cell], true);
      const accepted: LargestValue[] = [];
      for (const value of largestValues(create).filter(isText)) {
        const { status } = await costOf(await requestWith(create, cell, setup, [...accepted, value]));
        if (status < 300) accepted.push(value);
      }
      // What is refused cannot fill a page.
      if (accepted.length === 0) return;
      let bytes = 0;
      for (let n = 0; n < PAGE && bytes < MAX_CREATED_BYTES; n++)
        bytes += (await costOf(await requestWith(create, cell, setup, accepted))).bytes;
      const listed = usualCell(list, ADMINISTRATOR);
      assert.ok(listed);
      const request = requestOf(world, listed, setup);
      const [path] = String(request.url).split("?");
      const page = await costOf({ ...request, url: `${path}?per_page=${PAGE}` });
      assert.equal(page.status, 200, page.text);
      assert.ok(page.bytes > MIN_LENGTH, "it shows them");
      assert.ok(page.bytes <= MAX_PAGE_BYTES, `${page.bytes} bytes`);
      assert.ok(page.statements <= MAX_STATEMENTS, `${page.statements} statements`);
      assert.ok(page.rows <= MAX_PAGE_ROWS, `${page.rows} rows`);
    });
  }
});

/** Lists whose items are created at the same path with long texts. Those of repositories have budgets of their own. */
function created(): { list: Operation; create: Operation; cell: Cell }[] {
  return lists.flatMap((list) => {
    const { path } = list.endpoint;
    const create = operationsOf(resources).find(({ endpoint }) => endpoint.method === "POST" && endpoint.path === path);
    const cell = create && largestValues(create).some(isText) ? usualCell(create, ADMINISTRATOR) : undefined;
    return create && cell && !/\/repository\/|\/wikis$/.test(path) ? [{ list, create, cell }] : [];
  });
}

/** The request with a parameter in its query or body. */
function withValue(request: InjectOptions, { fields }: LargestValue): InjectOptions {
  if (request.method === "GET" || request.method === "DELETE") {
    const query = new URLSearchParams(fields.map(([name, value]) => [name, value]));
    return {
      ...request,
      url: `${String(request.url)}${String(request.url).includes("?") ? "&" : "?"}${query.toString()}`,
    };
  }
  if (typeof request.payload !== "string")
    return { ...request, payload: { ...(request.payload as object), ...Object.fromEntries(fields) } };
  const params = new URLSearchParams(request.payload);
  for (const [name] of fields) params.delete(name);
  for (const [name, value] of fields) params.append(name, value);
  return { ...request, payload: params.toString() };
}
