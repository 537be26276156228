import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Databases, Db } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import {
  type Condition,
  columnOf,
  type Order,
  type Ordered,
  orderBy,
  type Range,
  rangesOf,
  type Sort,
} from "./order.ts";

export const MAX_PER_PAGE = 100;
/** How many rows offset paging reaches. */
export const MAX_OFFSET = 50_000;
/** Totals are counted up to here; beyond it they are left out. */
export const MAX_TOTAL = 10_000;
/** How many finders are tried: each may take as long as a scan. */
const MAX_FINDERS = 4;

export type AnyQuery<O> = SelectQueryBuilder<any, any, O>;
/** A table, or a query in parentheses. */
export type Rows = RawBuilder<unknown>;
/** Limits rows to those that can appear on the page. */
export type LimitTo = (rows: Rows) => Rows;

/** Some rows of a list; two sources of it have no row in common. */
export interface Source {
  /** Its rows in a form that is quick to read in order; a source that merges others limits each of them. */
  readonly scan: Rows | ((limitTo: LimitTo) => Rows);
  /** Whether a scan returns rows that are not listed, too; a lookup never does. */
  readonly wide?: true;
  /** The rows that may match the filters, in a form that an index finds if they are few. */
  readonly lookup?: Rows;
  /** Whether no index has its rows in order, so that scanning them is collecting and sorting all. */
  readonly unordered?: true;
}

/** A condition on one column: a scan in the order of that column reads only the rows that meet it. */
export interface ColumnFilter {
  readonly column: string;
  readonly where: Condition;
}

/** A condition that every row must meet; falsy if the caller did not ask for it. */
export type Filter = Condition | ColumnFilter | false | "" | undefined;

/** A source that is not merged from others. */
export type TableSource = Source & { readonly scan: Rows };

export interface Listing {
  /** The table whose rows the sources return; sources, filters and orders use its alias. */
  readonly from: `${keyof Database} as ${string}`;
  /** The whole table if left out. */
  readonly sources?: readonly Source[];
  readonly filters?: readonly Filter[];
  /**
   * Filters that need a lookup for each row: of the candidates only those that the other filters leave are looked at,
   * and if these are too many, nothing is counted.
   */
  readonly costly?: readonly Filter[];
  /** Rows with the ids of all that meet one of the filters, which an index finds if they are few. */
  readonly finders?: readonly (Rows | false | undefined)[];
  /** Whether a row of the table is listed: for rows of a finder or of a wide scan. */
  readonly isListed?: Condition;
  /** Orders of the list, by their names, that depend on the request. */
  readonly orders?: Readonly<Record<string, Order>>;
  /** The order if the caller asked for none; keyset paging does not use it. */
  readonly defaultOrder?: { readonly order: Order; readonly sort: Sort } | undefined;
}

export interface PageRequest extends Ordered {
  /** Whether the next page begins at the last row, whose position is then selected too. */
  readonly keyset: boolean;
  readonly offset: number;
  readonly limit: number;
}

export interface ListPage<O> {
  readonly rows: O[];
  /** Counts all rows; Infinity if there are more than `MAX_TOTAL`. */
  total(): Promise<number>;
}

export interface Bounds {
  /** How many ids are collected and sorted. */
  readonly candidates: number;
  /** How many rows of a source are scanned to find so many that match the filters. */
  scanned(depth: number): number;
  /** How many rows a wide scan reads: without lookups for each it is cheap, but it reads all of them. */
  readonly scannedWide: number;
}

const BOUNDS: Bounds = {
  candidates: MAX_TOTAL,
  scanned: (depth) => Math.min(Math.max(20_000, 20 * depth), 200_000),
  scannedWide: 50_000,
};

// Limits are literals from a closed set: with a parameter PostgreSQL would plan every execution, and with any other
// literal each value would be one more prepared statement. Offset paging reads one row more than the page.
const LIMITS = [...[1, 5, 10, 20, 50, MAX_PER_PAGE].flatMap((n) => [n, n + 1]), 1000, 5000, 20_000, MAX_OFFSET + 1];
const limitFor = (wanted: number) => sql.lit(LIMITS.find((limit) => limit >= wanted) ?? wanted);

export const POSITION = "position";

function inOrder<O>(query: AnyQuery<O>, request: PageRequest): AnyQuery<O> {
  const { order, id, keyset } = request;
  const selected = keyset && order.column !== id ? query.select(columnOf(order).as(POSITION)) : query;
  return selected.orderBy(orderBy(request)) as AnyQuery<O>;
}

/** A page of a query that PostgreSQL plans on its own. */
export async function queryPage<O>(db: Db, query: AnyQuery<O>, request: PageRequest): Promise<ListPage<O>> {
  const rows = await pageQuery(query, request).execute();
  const total = () => countUpTo(db, [query.clearSelect().select(sql.lit(1).as("one"))]);
  return { rows: rows.slice(0, request.limit), total };
}

export function pageQuery<O>(query: AnyQuery<O>, request: PageRequest): AnyQuery<O> {
  const ranges = rangesOf(request).map(({ where }) => where);
  const after = request.cursor ? query.where(sql<boolean>`(${sql.join(ranges, sql` or `)})`) : query;
  const page = inOrder(after, request).limit(limitFor(request.limit));
  return request.offset === 0 ? page : page.offset(request.offset);
}

/**
 * A page of a list that may be large. Rows that match the filters are collected by index and sorted, unless there are
 * too many candidates: then each source is scanned in order and filtered on the way. `query` reads the rows of the page.
 */
export async function listPage<O>(
  { read, readAnew }: Pick<Databases, "read" | "readAnew">,
  query: AnyQuery<O>,
  listing: Listing,
  request: PageRequest,
  bounds = BOUNDS,
): Promise<ListPage<O>> {
  const list = listOf(listing);
  // How common a value is decides the plan, so statements with filters are planned with their values.
  const db = list.narrows || list.filters.length > 0 ? readAnew : read;
  const { order } = request;
  const ids = list.narrows || order.scannedBy ? await candidatesOf(db, list, bounds.candidates) : undefined;
  const total = async () =>
    ids?.length ?? (list.narrows || list.filters.length > 0 ? Infinity : countUpTo(db, list.sources.map(list.found)));
  if (ids && request.offset >= ids.length) return { rows: [], total };
  const ordered = ids ? request : { ...request, order: order.scannedBy ?? order };
  const page = ids ? pageOfIds(list, ids, ordered, bounds) : pageOf(list, ordered, bounds);
  const rows = inOrder(query.where(sql<boolean>`${sql.ref(request.id)} in (${page})`), ordered).compile();
  return { rows: (await db.executeQuery(rows)).rows.slice(0, request.limit), total };
}

type List = ReturnType<typeof listOf>;

function listOf({ from, sources: given, filters: usual = [], costly = [], finders = [], isListed }: Listing) {
  const filters = asked([...usual, ...costly]);
  const [name = "", alias = ""] = from.split(" as ");
  const [table, as] = [sql.table(name), sql.ref(alias)];
  const nothing = sql`(select * from ${table} limit 0)`;
  const sources: readonly Source[] = given?.length === 0 ? [{ scan: nothing }] : (given ?? [{ scan: table }]);
  // Without filters, a source needs to return no more rows than are counted.
  const limitTo: LimitTo = (rows) =>
    filters.length > 0 ? rows : sql`(select * from ${rows} ${as} limit ${sql.lit(MAX_TOTAL + 1)})`;
  const lookupOf = ({ scan, lookup }: Source) => lookup ?? (typeof scan === "function" ? scan(limitTo) : scan);
  const idsOf = (source: Source, conditions: readonly Filter[]) =>
    sql`select ${as}.id from ${lookupOf(source)} ${as} where ${all(conditions)}`;
  return {
    table,
    as,
    sources,
    filters,
    costly: asked(costly),
    isListed: isListed ?? sql<boolean>`true`,
    finders: finders.filter((finder) => typeof finder === "object").slice(0, MAX_FINDERS),
    narrows: [...usual, ...finders, ...sources.map(({ wide }) => wide)].some(Boolean),
    lookupOf,
    found: (source: Source) => idsOf(source, filters),
    candidates: (source: Source) => idsOf(source, usual),
  };
}

// The offset is an optimization fence: without it PostgreSQL may scan an order and compare each row with the ids.
const withIds = ({ table, as }: List, ids: readonly number[], value: RawBuilder<unknown> = sql`null`): Rows =>
  sql`(select ${as}.*, ${value} as sort_value from ${table} ${as}
    where ${as}.id = any(${`{${ids.join(",")}}`}::bigint[]) offset 0)`;

/** All filters that were asked for as one condition. */
export function all(filters: readonly Filter[]): Condition {
  const conditions = asked(filters).map((filter) => ("where" in filter ? filter.where : filter));
  return conditions.length === 0 ? sql`true` : sql`${sql.join(conditions, sql` and `)}`;
}

const asked = (filters: readonly Filter[]) => filters.filter((filter) => typeof filter === "object");

const unionAll = (parts: readonly RawBuilder<unknown>[]) => sql`${sql.join(parts, sql` union all `)}`;

/** The ids of all rows that match the filters, if the sources or a finder return few enough to look at. */
async function candidatesOf(db: Db, list: List, max: number): Promise<number[] | undefined> {
  const { sources, candidates, finders, isListed, filters, costly } = list;
  const listed = sources.map((source) => sql`(${candidates(source)} limit ${sql.lit(max + 1)})`);
  const few = [
    idsUpTo(max, unionAll(listed), true),
    ...finders.map((finder) => idsUpTo(max, sql`select id from ${finder} finder`, false)),
  ];
  // PostgreSQL tries one after the other, and none after the first that has few enough.
  const tried = sql<{ ids: number[]; listed: boolean }>`select ids, listed from (${unionAll(few)}) few limit 1`;
  const [first] = (await tried.execute(db)).rows;
  return first && filtered(db, list, first.ids, first.listed ? costly : [isListed, ...filters]);
}

/** A row with the ids of some rows, or none if they are too many. */
const idsUpTo = (max: number, rows: RawBuilder<unknown>, listed: boolean) =>
  sql`(select coalesce(array_agg(id), '{}') as ids, ${sql.lit(listed)} as listed
    from (select id from (${rows}) some_rows limit ${sql.lit(max + 1)}) found
    having count(*) <= ${sql.lit(max)})`;

async function filtered(db: Db, list: List, ids: number[], filters: readonly Filter[]): Promise<number[]> {
  if (ids.length === 0 || filters.length === 0) return ids;
  const { rows } = await sql<{ ids: number[] }>`select coalesce(array_agg(${list.as}.id), '{}') as ids
    from ${withIds(list, ids)} ${list.as} where ${all(filters)}`.execute(db);
  return rows[0]?.ids ?? [];
}

/** The ids of a page of candidates. The order is evaluated once for each, also if it has two ranges. */
function pageOfIds(list: List, ids: readonly number[], request: PageRequest, bounds: Bounds): RawBuilder<unknown> {
  const column = request.order.column === request.id ? request.id : sql`${list.as}.sort_value`;
  const ordered = { ...request, order: { ...request.order, column } };
  const page = pageOf({ ...list, sources: [{ scan: sql`candidates` }], filters: [] }, ordered, bounds);
  return sql`with candidates as materialized (
      select id, sort_value from ${withIds(list, ids, columnOf(request.order))} ${list.as}) ${page}`;
}

/** The ids of the page: the first rows of every source in order, merged. */
function pageOf(list: List, request: PageRequest, bounds: Bounds): RawBuilder<unknown> {
  const { sort, offset, limit } = request;
  const depth = offset + limit;
  const within = all(list.filters.filter((filter) => "column" in filter && filter.column === request.order.column));
  const ranges = rangesOf(request).map((range) => ({ ...range, where: sql<boolean>`${range.where} and ${within}` }));
  const firsts = list.sources.flatMap((source) =>
    ranges.map(
      (range, rank) => sql`(select id, ${sql.lit(rank)} as rank, ${sql.ref(POSITION)}
      from (${firstOf(list, source, range, depth, source.wide ? bounds.scannedWide : bounds.scanned(depth))}) source)`,
    ),
  );
  const direction = sql.raw(sort);
  return sql`select id from (${unionAll(firsts)}) merged
    order by rank, ${sql.ref(POSITION)} ${direction}, id ${direction} limit ${limitFor(limit)} offset ${offset}`;
}

/** The first rows of a source; if a scan finds too few, all rows that match the filters are collected and sorted. */
function firstOf(list: List, source: Source, range: Range, depth: number, maxScanned: number) {
  const { as, filters, lookupOf } = list;
  const { scan, wide } = source;
  const takesAll = filters.length === 0 && !wide;
  const first = takesAll ? limitFor(depth) : sql.lit(depth);
  const scanLimit = takesAll ? first : sql.lit(maxScanned);
  const rows = (from: Rows) => sql`select ${as}.* from ${from} ${as} where ${range.where}`;
  const limitTo: LimitTo = (from) => sql`(${rows(from)} order by ${range.orderBy} limit ${scanLimit})`;
  const inRange = limitTo(typeof scan === "function" ? scan(limitTo) : scan);
  const columns = sql`${as}.id, ${range.value} as ${sql.ref(POSITION)}`;
  if (takesAll) return sql`select ${columns} from ${inRange} ${as}`;
  const collected = sql`select ${columns} from (${rows(lookupOf(source))} and ${all(filters)} offset 0) ${as}
    order by ${range.orderBy} limit ${first}`;
  if (source.unordered) return collected;
  // The offset keeps PostgreSQL from evaluating the filters for rows that are not listed.
  const listed = wide
    ? sql`(select ${as}.* from ${inRange} ${as} where ${list.isListed} order by ${range.orderBy} offset 0)`
    : inRange;
  const isShort = sql`(select count(*) from scanned) < ${first}`;
  return sql`with scanned as materialized (
      select ${columns} from ${listed} ${as} where ${all(filters)} order by ${range.orderBy} limit ${first})
    select * from scanned where not ${isShort}
    union all select * from (${collected}) collected where ${isShort}`;
}

/** The ids of all rows of a list that has filters; undefined if `listPage` would not collect them. */
export async function collectListed(db: Db, listing: Listing, max = MAX_TOTAL): Promise<number[] | undefined> {
  const list = listOf(listing);
  return list.filters.length > 0 ? candidatesOf(db, list, max) : undefined;
}

/** Counts the rows of a list, up to `MAX_TOTAL`. */
export async function countListed(
  { read, readAnew }: Pick<Databases, "read" | "readAnew">,
  listing: Listing,
): Promise<number> {
  const { filters, sources, found } = listOf(listing);
  const total = await countUpTo(filters.length > 0 ? readAnew : read, sources.map(found));
  return Math.min(total, MAX_TOTAL);
}

async function countUpTo(db: Db, parts: readonly (RawBuilder<unknown> | AnyQuery<unknown>)[]): Promise<number> {
  const limit = sql.lit(MAX_TOTAL + 1);
  const some = parts.map((part) => sql`(select from (${part}) part limit ${limit})`);
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select from (${unionAll(some)}) listed limit ${limit}) counted`.execute(db);
  const { count = 0 } = rows[0] ?? {};
  return count > MAX_TOTAL ? Infinity : count;
}
