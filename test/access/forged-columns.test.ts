import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type Operation, operationsOf } from "#http/app.ts";
import { pathNames, successOf } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { prepare, requestOf } from "#test/matrix/requests.ts";
import { type Cell, cellsOf, keyOf, linesOf } from "#test/matrix/cells.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { contracts } from "#test/support/contracts.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { LAST_USE_COLUMNS } from "./support.ts";

/** Tables whose columns a caller must not set unless an endpoint has a parameter of that name. */
const TABLES = contracts
  .flatMap((contract) => contract.tables ?? [])
  // Each request adds its own audit event, which other tests check; triggers maintain the routes.
  .filter((table) => table !== "audit_events" && table !== "routes");

/** Columns whose values differ in every row or at every moment. */
const DIFFERING = new Set(["created_at", "updated_at", ...contracts.flatMap((contract) => contract.differing ?? [])]);

const UNREPEATABLE = new Set(contracts.flatMap((contract) => Object.keys(contract.unrepeatable ?? {})));

/** Requests that no line can express. */
const special = new Map(contracts.flatMap(({ requests = {} }) => Object.entries(requests)));

type Row = Readonly<Record<string, unknown>>;

/** Every write is made twice, the second time with every column of our tables in the request; both must do the same. */
describe("columns that are not parameters", () => {
  let app: TestApp;
  let world: World;
  let columns: readonly { readonly name: string; readonly type: string }[];
  /** The primary key of each table. */
  let keys: ReadonlyMap<string, readonly string[]>;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
    const { rows } = await sql<{ name: string; type: string }>`
      select distinct column_name as name, data_type as type from information_schema.columns
      where table_name = any(${TABLES})`.execute(app.services.db.write);
    columns = rows;
    const { rows: primary } = await sql<{ table: string; columns: string[] }>`
      select c.relname as table, array_agg(a.attname::text) as columns
      from pg_index i join pg_class c on c.oid = i.indrelid
        join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
      where i.indisprimary and c.relname = any(${TABLES}) group by 1`.execute(app.services.db.write);
    keys = new Map(primary.map((index) => [index.table, index.columns]));
    assert.deepEqual(
      TABLES.filter((table) => !keys.has(table)),
      [],
      "tables without a primary key",
    );
  });
  after(() => app.close());

  const writes = operationsOf(resources).filter(({ endpoint }) => endpoint.method !== "GET");
  for (const operation of writes.filter((write) => !UNREPEATABLE.has(keyOf(write)))) {
    const make = special.get(keyOf(operation));
    if (make) {
      test(keyOf(operation), async () => {
        const usual = await effectOfRequest(operation, make, {});
        assert.notEqual(usual.length, 0, "nothing was written");
        assert.deepEqual(await effectOfRequest(operation, make, forgedFor(operation)), usual);
      });
      continue;
    }
    for (const [index, line] of linesOf(operation).entries()) {
      test(index === 0 ? keyOf(operation) : `${keyOf(operation)}, another way`, async () => {
        const cell = ["owner", "user", "administrator", "user by session"]
          .map((name) => cellsOf(operation, line).find((found) => found.caller.name === name && isInOrder(found)))
          .find((found) => found !== undefined);
        assert.ok(cell, "nobody may");
        const usual = await effectOf(cell);
        assert.notEqual(usual.length, 0, "nothing was written");
        assert.deepEqual(await effectOf(withForged(cell)), usual);
      });
    }
  }

  test("every unrepeatable request is a write", () => {
    const known = writes.map(keyOf);
    assert.deepEqual(
      [...UNREPEATABLE].filter((key) => !known.includes(key)),
      [],
    );
  });

  test("a forged column that is written is detected", async () => {
    const before = await rowsOf();
    await app.services.db.write
      .updateTable("users")
      .set({ admin: true })
      .where("id", "=", world.otherUser.id)
      .execute();
    assert.deepEqual(changesOf(before, await rowsOf(), 0), ['changed users {"admin":true}']);
    const forgedTime = sql<string>`${FORGED.timestamp}`;
    const seen = await rowsOf();
    await app.services.db.write
      .updateTable("users")
      .set({ created_at: forgedTime })
      .where("id", "=", world.otherUser.id)
      .execute();
    assert.deepEqual(changesOf(seen, await rowsOf(), 0), ['changed users {"created_at":"forged"}']);
  });

  async function effectOf(cell: Cell): Promise<string[]> {
    const [setup = {}] = await prepare(world, [cell], true);
    const before = await rowsOf();
    const { statusCode, payload } = await app.app.inject(requestOf(world, cell, setup));
    assert.equal(statusCode, cell.expected, payload);
    return changesOf(before, await rowsOf(), world.otherUser.id);
  }

  /** The same for a request that no line can express, by a new user. */
  async function effectOfRequest({ endpoint }: Operation, make: MakeRequest, forged: object): Promise<string[]> {
    const user = await world.makeAccount();
    const { payload, headers } = await make(world.context, user);
    const before = await rowsOf();
    const { status, text } = await app.call(endpoint.method, endpoint.path, {
      ...(headers ? { headers } : { token: user.token }),
      payload: { ...forged, ...payload },
    });
    assert.equal(status, successOf(endpoint), text);
    return changesOf(before, await rowsOf(), world.otherUser.id);
  }

  async function rowsOf(): Promise<Map<string, Row>> {
    const rows = new Map<string, Row>();
    for (const table of TABLES) {
      const found = await sql<{ row: Row }>`select to_jsonb(t) as row from ${sql.table(table)} t`.execute(
        app.services.db.write,
      );
      const key = keys.get(table) ?? [];
      for (const { row } of found.rows) rows.set([table, ...key.map((column) => row[column])].join(" "), row);
    }
    return rows;
  }

  /** The columns that are not parameters of a request; ids are those of another user. */
  function forgedFor({ endpoint }: Operation): Record<string, string | string[]> {
    const taken = new Set([...Object.keys(endpoint.params.properties), ...pathNames(endpoint.path), "name", "path"]);
    const { id } = world.otherUser;
    return Object.fromEntries(
      columns
        .filter(({ name }) => !taken.has(name))
        .map(({ name, type }) => [name, type === "ARRAY" ? [String(id)] : valueOf(type, id)]),
    );
  }

  function withForged(cell: Cell): Cell {
    const params = new URLSearchParams(cell.line.send);
    for (const [name, value] of Object.entries(forgedFor(cell.operation))) {
      if (Array.isArray(value)) params.append(`${name}[]`, value[0] ?? "");
      else params.set(name, value);
    }
    return { ...cell, line: { ...cell.line, send: params.toString().replaceAll("%7B", "{").replaceAll("%7D", "}") } };
  }
});

type MakeRequest = NonNullable<ReturnType<(typeof special)["get"]>>;

const isInOrder = ({ form, expected, verb, operation, state, line }: Cell) =>
  form === "plain" &&
  verb === operation.endpoint.method &&
  state === (line.container?.state ?? "live") &&
  Number(expected) < 300;

const FORGED = { timestamp: "2001-01-01T00:00:00Z", date: "2099-01-01", text: "forged" } as const;

function valueOf(type: string, id: number): string {
  if (type === "boolean") return "true";
  if (/int/.test(type)) return String(id);
  if (/timestamp/.test(type)) return FORGED.timestamp;
  return type === "date" ? FORGED.date : FORGED.text;
}

const isForged = (value: unknown) =>
  Object.values(FORGED).some((forged) => String(value).startsWith(forged.slice(0, "2001-01-01".length)));

/** The changes of each table without values that always differ; of ids only whether they are the forged one. */
function changesOf(before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>, forgedId: number): string[] {
  const shown = (row: Row, old: Row = {}) =>
    Object.entries(row)
      .filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]) && !LAST_USE_COLUMNS.includes(name),
      )
      .map(([name, value]) => {
        if (DIFFERING.has(name)) return [name, isForged(value) ? "forged" : "…"];
        return [name, /(^|_)id$/.test(name) && value !== null ? (value === forgedId ? "forged" : "…") : value];
      });
  const tell = (word: string, key: string, entries: unknown[][]) =>
    `${word} ${key.split(" ", 1)[0]} ${JSON.stringify(Object.fromEntries(entries as [string, unknown][]))}`;
  const changed = [...after].flatMap(([key, row]) => {
    const old = before.get(key);
    const entries = shown(row, old);
    return entries.length === 0 ? [] : [tell(old ? "changed" : "new", key, entries)];
  });
  const gone = [...before.keys()].filter((key) => !after.has(key)).map((key) => tell("gone", key, []));
  return [...changed, ...gone].toSorted();
}
