import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";
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

/** The id of a user that is no id in any other table. */
const FORGED_ID = 2_000_000_001;

type Row = Readonly<Record<string, unknown>>;

/** What happened to a row: it was inserted without an old version, or deleted without a new one. */
interface Change {
  readonly table: string;
  readonly key: string;
  readonly before: Row | null;
  readonly after: Row | null;
}

/** Every write is made twice, the second time with every column of our tables in the request; both must do the same. */
describe("columns that are not parameters", () => {
  let app: TestApp;
  let world: World;
  let columns: readonly { readonly name: string; readonly type: string }[];
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
    await app.makeUser({ id: FORGED_ID });
    const { rows } = await sql<{ name: string; type: string }>`
      select distinct column_name as name, data_type as type from information_schema.columns
      where table_name = any(${TABLES})`.execute(app.services.db.write);
    columns = rows;
    await watchTables(app.services.db.write);
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
    const update = (columns: { admin: boolean } | { created_at: RawBuilder<string> }) =>
      app.services.db.write.updateTable("users").set(columns).where("id", "=", FORGED_ID).execute();
    await forgetChanges();
    await update({ admin: true });
    assert.deepEqual(await changes(0), ['changed users {"admin":true}']);
    await forgetChanges();
    await update({ created_at: sql<string>`${FORGED.timestamp}` });
    assert.deepEqual(await changes(0), ['changed users {"created_at":"forged"}']);
  });

  test("a row that is inserted or deleted is detected, and one that is both is not", async () => {
    const { write } = app.services.db;
    const insert = () =>
      sql`insert into user_custom_attributes (user_id, key, value) values (${FORGED_ID}, 'forged', 'x')`.execute(write);
    const remove = () => sql`delete from user_custom_attributes where key = 'forged'`.execute(write);
    await forgetChanges();
    await insert();
    assert.match((await changes(0)).join(), /^new user_custom_attributes /);
    await remove();
    assert.deepEqual(await changes(0), []);
    await insert();
    await forgetChanges();
    await remove();
    assert.deepEqual(await changes(0), ["gone user_custom_attributes {}"]);
  });

  async function effectOf(cell: Cell): Promise<string[]> {
    const [setup = {}] = await prepare(world, [cell], true);
    await forgetChanges();
    const { statusCode, payload } = await app.app.inject(requestOf(world, cell, setup));
    assert.equal(statusCode, cell.expected, payload);
    return changes(FORGED_ID);
  }

  /** The same for a request that no line can express, by a new user. */
  async function effectOfRequest({ endpoint }: Operation, make: MakeRequest, forged: object): Promise<string[]> {
    const user = await world.makeAccount();
    const { payload, headers } = await make(world.context, user);
    await forgetChanges();
    const { status, text } = await app.call(endpoint.method, endpoint.path, {
      ...(headers ? { headers } : { token: user.token }),
      payload: { ...forged, ...payload },
    });
    assert.equal(status, successOf(endpoint), text);
    return changes(FORGED_ID);
  }

  const forgetChanges = () => sql`truncate seen.changes`.execute(app.services.db.write);

  /** The changes since they were last forgotten, each row by its first and last version. */
  async function changes(forgedId: number): Promise<string[]> {
    const { rows } = await sql<Change>`
      select "table", key, (array_agg(before order by id))[1] as before, (array_agg(after order by id desc))[1] as after
      from seen.changes group by 1, 2`.execute(app.services.db.write);
    return descriptionsOf(rows, forgedId);
  }

  /** The columns that are not parameters of a request; ids are those of another user. */
  function forgedFor({ endpoint }: Operation): Record<string, string | string[]> {
    const taken = new Set([...Object.keys(endpoint.params.properties), ...pathNames(endpoint.path), "name", "path"]);
    const id = FORGED_ID;
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

/** Notes each change of a row of our tables; comparing all rows each time would take longer with each request. */
async function watchTables(db: Db) {
  // In a table without a primary key no two rows are the same.
  const { rows } = await sql<{ table: string; columns: string[] }>`
    select c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = 'public'::regnamespace and c.relname = any(${TABLES})
      and (i.indkey is null or a.attnum = any(i.indkey))
    group by 1`.execute(db);
  const keys = new Map(rows.map((index) => [index.table, index.columns]));
  await sql
    .raw(`
    create schema seen;
    create table seen.changes (
      id bigint generated always as identity, "table" text, key text, before jsonb, after jsonb);
    create function seen.note() returns trigger language plpgsql as $$
    declare
      before jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
      after jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
      old_key text; new_key text;
    begin
      select string_agg(before ->> name, ' '), string_agg(after ->> name, ' ') into old_key, new_key
      from unnest(tg_argv[1:]) as name;
      if old_key is distinct from new_key and tg_op = 'UPDATE' then
        insert into seen.changes ("table", key, before) values (tg_argv[0], old_key, before);
        insert into seen.changes ("table", key, after) values (tg_argv[0], new_key, after);
      else
        insert into seen.changes ("table", key, before, after)
        values (tg_argv[0], coalesce(old_key, new_key), before, after);
      end if;
      return null;
    end $$;`)
    .execute(db);
  for (const [table, columns] of keys) {
    const names = [table, ...columns].map((name) => `'${name}'`).join();
    await sql
      .raw(`create trigger note after insert or update or delete on ${table}
      for each row execute function seen.note(${names})`)
      .execute(db);
  }
}

/** The changes without values that always differ; of ids only whether they are the forged one. */
function descriptionsOf(changes: readonly Change[], forgedId: number): string[] {
  const shown = (row: Row, old: Row) =>
    Object.entries(row)
      .filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]) && !LAST_USE_COLUMNS.includes(name),
      )
      .map(([name, value]) => {
        if (DIFFERING.has(name)) return [name, isForged(value) ? "forged" : "…"];
        return [name, /(^|_)id$/.test(name) && value !== null ? (value === forgedId ? "forged" : "…") : value];
      });
  const tell = (word: string, table: string, entries: unknown[][]) =>
    `${word} ${table} ${JSON.stringify(Object.fromEntries(entries as [string, unknown][]))}`;
  return changes
    .flatMap(({ table, before, after }) => {
      if (!after) return before ? [tell("gone", table, [])] : [];
      const entries = shown(after, before ?? {});
      return entries.length === 0 ? [] : [tell(before ? "changed" : "new", table, entries)];
    })
    .toSorted();
}
