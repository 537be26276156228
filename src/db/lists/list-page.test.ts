import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { type RawBuilder, sql } from "kysely";
import { openDatabase, type Databases } from "#db/database.ts";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import {
  type Bounds,
  collectListed,
  type Listing,
  listPage,
  type PageRequest,
  POSITION,
  queryPage,
  type Source,
} from "./list-page.ts";
import { type Cursor, order, type Order } from "./order.ts";

const RUNS = 150;

interface Item {
  readonly id: number;
  readonly part: number;
  readonly size: number;
  readonly due: string | null;
  readonly weight: number | null;
}

// Few values, so that many rows share them.
const Item = fc.record({
  part: fc.integer({ min: 0, max: 2 }),
  size: fc.integer({ min: 0, max: 3 }),
  due: fc.option(fc.constantFrom("2026-01-01", "2026-01-02", "2026-01-03"), { freq: 2 }),
  weight: fc.option(fc.integer({ min: -1, max: 1 }), { freq: 2 }),
});

type Column = "id" | "size" | "due" | "weight";
const ORDERS: readonly { column: Column; order: Order }[] = [
  { column: "id", order: order("i.id", "bigint") },
  { column: "size", order: order("i.size", "integer") },
  { column: "due", order: order("i.due", "date", { nulls: "first" }) },
  { column: "due", order: order("i.due", "date", { nulls: "last" }) },
  { column: "due", order: order("i.due", "date", { nulls: "at the end" }) },
  { column: "weight", order: order("i.weight", "integer", { nulls: "first" }) },
  { column: "weight", order: order(sql`(i.weight + 0)`, "integer", { nulls: "last" }) },
];

const FILTERS: readonly { holds(item: Item): boolean; sql: RawBuilder<boolean>; column?: string }[] = [
  { holds: ({ size }) => size < 3, sql: sql`i.size < 3`, column: "i.size" },
  { holds: ({ size }) => size > 0, sql: sql`i.size > 0` },
  { holds: ({ due }) => due !== null, sql: sql`i.due is not null` },
  { holds: ({ weight }) => weight === 1, sql: sql`i.weight = 1` },
  { holds: () => false, sql: sql`false` },
];

/** How a source gives its rows: as a table, with an index beside it, or merged of limited rows. */
const KINDS: readonly ((rows: RawBuilder<unknown>) => Source)[] = [
  (rows) => ({ scan: rows }),
  (rows) => ({ scan: rows, unordered: true }),
  (rows) => ({ scan: rows, lookup: sql`(select * from ${rows} r offset 0)` }),
  (rows) => ({ scan: (limitTo) => sql`(select * from ${limitTo(rows)} r union select * from ${limitTo(rows)} r)` }),
];

const Case = fc.record({
  items: fc.array(Item, { maxLength: 25 }),
  order: fc.constantFrom(...ORDERS),
  sort: fc.constantFrom("asc" as const, "desc" as const),
  filters: fc.uniqueArray(fc.constantFrom(...FILTERS.slice(0, 4), ...FILTERS), { maxLength: 2 }),
  sources: fc.option(fc.array(fc.constantFrom(...KINDS), { minLength: 3, maxLength: 3 }), { freq: 3 }),
  /** How many of the filters are costly. */
  costly: fc.integer({ min: 0, max: 2 }),
  /** Whether the list is one part of what is scanned. */
  wide: fc.constantFrom(true as const, undefined),
  finds: fc.boolean(),
  bounds: fc.record({
    candidates: fc.integer({ min: 0, max: 8 }),
    scanned: fc.integer({ min: 1, max: 9 }).map((rows) => () => rows),
    scannedWide: fc.integer({ min: 1, max: 9 }),
  }),
  limit: fc.integer({ min: 1, max: 6 }),
  offset: fc.integer({ min: 0, max: 12 }),
});
type Case = typeof Case extends fc.Arbitrary<infer T> ? T : never;

/** The same list, sorted in memory. */
function expectedOf({ order: { column, order }, sort, filters, wide }: Case, items: readonly Item[]): number[] {
  const sign = sort === "asc" ? 1 : -1;
  const nullRank = order.nulls === "at the end" ? sign : order.nulls === "first" ? -1 : 1;
  const rank = (value: Item[Column]) => (value === null ? nullRank : 0);
  const compare = (a: Item[Column], b: Item[Column]) =>
    rank(a) - rank(b) || (a === b || a === null || b === null ? 0 : a < b ? -1 : 1);
  return items
    .filter((item) => (!wide || item.part === 1) && filters.every(({ holds }) => holds(item)))
    .toSorted((a, b) => sign * (compare(a[column], b[column]) || a.id - b.id))
    .map(({ id }) => id);
}

describe("a page of a list", () => {
  let databases: Databases;
  before(async () => {
    databases = openDatabase({
      url: await freshDatabase(),
      log: { warn() {}, error() {} } as never,
      ...PATIENT_DATABASE,
    });
    await sql`create table items (id bigint primary key, part int not null, size int not null, due date, weight int)`.execute(
      databases.write,
    );
  });
  after(() => databases.close());

  async function fill(given: Case["items"]): Promise<Item[]> {
    // Ids in no order, so that none follows from another column.
    const items = given.map((item, at) => ({ id: ((at + 1) * 7919) % 1009, ...item }));
    await sql`delete from items`.execute(databases.write);
    await sql`insert into items select * from jsonb_populate_recordset(null::items, ${JSON.stringify(items)}::jsonb)`.execute(
      databases.write,
    );
    return items;
  }

  const listingOf = ({ sources, filters, costly, wide, finds }: Case): Listing => ({
    from: "items as i" as never,
    ...(sources && {
      sources: sources.map((kind, part) => kind(sql`(select * from items i where part = ${sql.lit(part)})`)),
    }),
    ...(wide && {
      sources: [{ scan: sql`items`, wide, lookup: sql`(select * from items where part = 1)` }],
      isListed: sql<boolean>`i.part = 1`,
    }),
    ...(finds && { finders: filters.map((filter) => sql`(select i.id from items i where ${filter.sql})`) }),
    filters: filters.slice(costly).map(filterOf),
    costly: filters.slice(0, costly).map(filterOf),
  });
  const filterOf = ({ column, sql: where }: (typeof FILTERS)[number]) =>
    column === undefined ? where : { column, where };
  const query = () => databases.read.selectFrom("items as i" as never).select(sql<number>`i.id`.as("id"));
  const requestOf = ({ order, sort, limit }: Case) => ({ id: "i.id", order: order.order, sort, limit });

  type Read = (example: Case, request: PageRequest, bounds: Bounds) => ReturnType<typeof queryPage<{ id: number }>>;
  const asListing: Read = (example, request, bounds) =>
    listPage(databases, query(), listingOf(example), request, bounds);
  const asQuery: Read = (example, request) =>
    queryPage(
      databases.read,
      [...example.filters, ...(example.wide ? [{ sql: sql<boolean>`i.part = 1` }] : [])].reduce(
        (rows, filter) => rows.where(filter.sql),
        query(),
      ),
      request,
    );

  async function byOffset(read: Read, example: Case) {
    const expected = expectedOf(example, await fill(example.items));
    const { offset, limit, bounds } = example;
    const page = await read(example, { ...requestOf(example), keyset: false, offset }, bounds);
    assert.deepEqual(
      page.rows.map(({ id }) => id),
      expected.slice(offset, offset + limit),
    );
    const total = await page.total();
    if (total < Infinity) assert.equal(total, expected.length);
    else assert.ok(example.costly > 0 || expected.length > bounds.candidates);
  }

  async function byKeyset(read: Read, example: Case) {
    const expected = expectedOf(example, await fill(example.items));
    const seen: number[] = [];
    let cursor: Cursor | undefined;
    for (;;) {
      const request = { ...requestOf(example), keyset: true, offset: 0, cursor };
      const { rows } = await read(example, request, example.bounds);
      seen.push(...rows.map(({ id }) => id));
      const last = rows.at(-1) as (Record<string, Cursor["value"]> & { id: number }) | undefined;
      if (!last) break;
      cursor = { id: last.id, value: last[POSITION] ?? null };
      assert.ok(seen.length <= expected.length, "the list has no end");
    }
    assert.deepEqual(seen, expected);
  }

  for (const [name, read] of Object.entries({ asListing, asQuery })) {
    test(`${name}: by offset, as if sorted in memory`, () =>
      fc.assert(
        fc.asyncProperty(Case, (example) => byOffset(read, example)),
        { numRuns: RUNS },
      ));
    test(`${name}: by keyset, as if sorted in memory`, () =>
      fc.assert(
        fc.asyncProperty(Case, (example) => byKeyset(read, example)),
        { numRuns: RUNS },
      ));
  }

  test("its rows are collected, unless there are too many candidates", () =>
    fc.assert(
      fc.asyncProperty(Case, async (example) => {
        const expected = expectedOf(example, await fill(example.items));
        const ids = await collectListed(databases.read, listingOf(example), example.bounds.candidates);
        if (ids) assert.deepEqual(new Set(ids), new Set(expected));
        else if (example.filters.length > 0 && example.costly === 0)
          assert.ok(expected.length > example.bounds.candidates);
      }),
      { numRuns: RUNS },
    ));
});
