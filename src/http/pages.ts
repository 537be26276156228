import { type SelectQueryBuilder, sql } from "kysely";
import type { Databases, Db } from "#db/database.ts";
import { type Cursor, encodeCursor } from "./cursor.ts";
import {
  COUNTED,
  type Found,
  MOST_PER_PAGE,
  type Page,
  type PageOptions,
  type Paging,
  type PagingOptions,
  type Part,
  refuseTooFar,
  type Wanted,
  whole,
} from "./paging.ts";

type AnyQuery<O> = SelectQueryBuilder<any, any, O>;
type Order = <Row>(query: AnyQuery<Row>) => AnyQuery<Row>;
/** Reads a part of an ordered list; `narrow` leaves what is after a position. */
type Read = <O>(query: AnyQuery<O>, narrow: Order, order: Order, limit: number, offset: number) => Promise<O[]>;

/** How the answer tells of its place in the list: headers, made of links to other places. */
export interface Places {
  /** Undefined where it would be too long to be followed. */
  link(changes: Readonly<Record<string, string | number | undefined>>): string | undefined;
  setHeader(name: string, value: string): void;
}

// A limit is a literal from a closed set: as a parameter it would keep PostgreSQL on custom plans, and each value of
// its own would be a statement more to prepare.
const LIMITS = [1, 5, 10, 20, 50, MOST_PER_PAGE] as const;
const limitFor = (wanted: number) => LIMITS.find((limit) => limit >= wanted) ?? MOST_PER_PAGE;

/** Makes what gives each request of a list its `page`. */
export function pager(options: PagingOptions) {
  // The texts of pages of the whole list: they are few, and building one costs more than reading the page.
  const texts = new Map<string, string>();

  return <R>(paging: Paging, db: Databases, places: Places): Page<R> => {
    const column = options.orders?.[paging.orderBy] ?? options.id;
    const rows = <O>(query: AnyQuery<O>, given: PageOptions = {}) => {
      const isWhole = query === given.unfiltered;
      if (paging.keyset && isWhole) return wholeRows<O>(query, column, paging, db, places);
      const read = given.parts
        ? partsReader(column, options.id, paging.sort, given.parts)
        : reader(options.id, given.unfiltered, isWhole);
      if (paging.keyset) return keysetRows(query, read, column, options.id, paging, places);
      if (given.offsetLimit !== undefined) {
        refuseTooFar(paging.page * paging.perPage, given.offsetLimit, options.offsetLimit?.type ?? "this kind");
      }
      const order = given.unasked && !paging.asked ? given.unasked : ordered(column, options.id, paging.sort);
      const count = () => given.total ?? countUpTo(given.parts ?? [query], db.read);
      return offsetRows(query, read, order, given.total, count, paging, places);
    };
    const page = async (query: AnyQuery<any>, present: (row: any) => any, given?: PageOptions) =>
      (await rows(query, given)).map(present);
    const found = <O>(read: (wanted: Wanted) => Promise<Found<O>>, tokenOf?: (row: O) => string) =>
      foundRows(read, tokenOf, paging, places);
    return Object.assign(page, { rows, found }) as Page<R>;
  };

  /** A page of the whole list by position is as short as a point read, so it goes the same way. */
  async function wholeRows<O>(query: AnyQuery<O>, column: string, paging: Paging, db: Databases, places: Places) {
    const { perPage, orderBy, sort, cursor } = paging;
    const key = `${orderBy} ${sort} ${limitFor(perPage)} ${cursor ? "after" : "first"}`;
    let text = texts.get(key);
    if (text === undefined) {
      const positioned = cursor ? query.where(after(column, options.id, sort, cursor)) : query;
      const page = inOrder(column, options.id, sort)(positioned).limit(sql.lit(limitFor(perPage)));
      texts.set(key, (text = page.compile().sql));
    }
    const position = cursor ? (column === options.id ? [cursor.id] : [cursor.value, cursor.id]) : [];
    return tellNext((await db.point.query<O>(text, position)).slice(0, perPage), column, options.id, paging, places);
  }
}

const ordered =
  (column: string, id: string, sort: "asc" | "desc") =>
  <O>(query: AnyQuery<O>): AnyQuery<O> =>
    column === id ? query.orderBy(sql.ref(id), sort) : query.orderBy(sql.ref(column), sort).orderBy(sql.ref(id), sort);

/** In order, with the value that a position in it consists of beside the id. */
const inOrder =
  (column: string, id: string, sort: "asc" | "desc") =>
  <O>(query: AnyQuery<O>): AnyQuery<O> =>
    ordered(column, id, sort)(column === id ? query : (query.select(sql.ref(column).as(POSITION)) as AnyQuery<O>));

const POSITION = "position";

/** Makes what reads a part of an ordered list: straight, or by ids first where that spares reading what is passed over. */
function reader(id: string, unfiltered: AnyQuery<any> | undefined, isWhole: boolean): Read {
  return async (query, narrow, order, limit, offset) => {
    const part = <Row>(rows: AnyQuery<Row>) => {
      const limited = rows.limit(sql.lit(limit));
      return offset === 0 ? limited : limited.offset(offset);
    };
    const wanted = narrow(query);
    if (!unfiltered || (offset === 0 && isWhole)) return part(order(wanted)).execute();
    const ids = part(order(wanted).clearSelect().select(sql.ref(id).as("id")));
    return order(unfiltered.where(sql<boolean>`${sql.ref(id)} in (${ids})`)).execute();
  };
}

const unchanged: Order = (query) => query;

// As with pages, but the parts of a page far in must each be read as far.
const DEPTHS = [MOST_PER_PAGE + 1, 1000, 5000, 20_000, 50_000 + MOST_PER_PAGE] as const;
const depthFor = (wanted: number) => DEPTHS.find((depth) => depth >= wanted) ?? wanted;

/** Makes what reads a list in parts: the first ids of each, merged, and then the rows of those that are the page. */
function partsReader(column: string, id: string, sort: "asc" | "desc", parts: readonly Part[]): Read {
  const direction = sql.raw(sort);
  return (query, narrow, order, limit, offset) => {
    const depth = sql.lit(offset === 0 ? limit : depthFor(offset + limit));
    const first: Order = (rows) => ordered(column, id, sort)(narrow(rows)).limit(depth);
    const firsts = parts.map((part) => {
      const places = whole(part, first)
        .clearSelect()
        .select([sql.ref(id).as("id"), sql.ref(column).as(POSITION)]);
      return sql`(${first(places)})`;
    });
    const ids = sql`select id from (${sql.join(firsts, sql` union all `)}) merged
      order by ${sql.ref(POSITION)} ${direction}, id ${direction} limit ${sql.lit(limit)} offset ${offset}`;
    return order(query.where(sql<boolean>`${sql.ref(id)} in (${ids})`)).execute();
  };
}

async function keysetRows<O>(
  query: AnyQuery<O>,
  read: Read,
  column: string,
  id: string,
  paging: Paging,
  places: Places,
): Promise<O[]> {
  const { perPage, sort, cursor } = paging;
  const narrow: Order = (rows) => (cursor ? rows.where(after(column, id, sort, cursor)) : rows);
  const found = await read(query, narrow, inOrder(column, id, sort), limitFor(perPage), 0);
  return tellNext(found.slice(0, perPage), column, id, paging, places);
}

/** A page that has rows leads on from its last one. */
function tellNext<O>(rows: O[], column: string, id: string, { orderBy, sort }: Paging, places: Places): O[] {
  const last = rows.at(-1) as Record<string, string | number> | undefined;
  if (last) {
    const next = encodeCursor(
      orderBy,
      sort,
      last[column === id ? nameOf(id) : POSITION] ?? "",
      Number(last[nameOf(id)]),
    );
    setLinks(places, [["next", { cursor: next, page: undefined }]]);
  }
  return rows;
}

// One comparison of rows, which an index answers; a chain of `or` would read everything before it.
function after(column: string, id: string, sort: "asc" | "desc", cursor: Cursor) {
  const sign = sql.raw(sort === "asc" ? ">" : "<");
  return column === id
    ? sql<boolean>`${sql.ref(id)} ${sign} ${cursor.id}`
    : sql<boolean>`(${sql.ref(column)}, ${sql.ref(id)}) ${sign} (${cursor.value}, ${cursor.id})`;
}

const nameOf = (column: string) => column.slice(column.lastIndexOf(".") + 1);

async function offsetRows<O>(
  query: AnyQuery<O>,
  read: Read,
  order: Order,
  known: number | undefined,
  count: () => number | Promise<number>,
  { page, perPage }: Paging,
  places: Places,
): Promise<O[]> {
  const skipped = (page - 1) * perPage;
  const found =
    known !== undefined && skipped >= known ? [] : await read(query, unchanged, order, limitFor(perPage) + 1, skipped);
  const rows = found.slice(0, perPage);
  const more = found.length > perPage;
  const total = more || (rows.length === 0 && page > 1) ? await count() : skipped + rows.length;
  tellPlace(places, { page, perPage, more, total });
  return rows;
}

async function foundRows<O>(
  read: (wanted: Wanted) => Promise<Found<O>>,
  tokenOf: ((row: O) => string) | undefined,
  { page, perPage, after }: Paging,
  places: Places,
): Promise<readonly O[]> {
  if (after === null || !tokenOf) {
    const { rows, more, total } = await read({ skip: (page - 1) * perPage, limit: perPage, after: null });
    tellPlace(places, { page, perPage, more, total });
    return rows;
  }
  const { rows, more } = await read({ skip: 0, limit: perPage, after });
  const last = rows.at(-1);
  if (more && last !== undefined) setLinks(places, [["next", { per_page: perPage, page_token: tokenOf(last) }]]);
  return rows;
}

async function countUpTo(parts: readonly Part[], db: Db): Promise<number> {
  const limit = sql.lit(COUNTED + 1);
  const first: Order = (rows) => rows.limit(limit);
  const some = parts.map((part) => sql`(${first(whole(part, first)).clearSelect().select(sql.lit(1).as("one"))})`);
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from (${sql.join(some, sql` union all `)}) listed limit ${limit}
    ) counted`.execute(db);
  return rows[0]?.count ?? 0;
}

type Relation = readonly [rel: string, changes: Parameters<Places["link"]>[0]];

function setLinks(places: Places, relations: readonly Relation[]) {
  const links = relations.flatMap(([rel, changes]) => {
    const link = places.link(changes);
    return link === undefined ? [] : [`<${link}>; rel="${rel}"`];
  });
  if (links.length > 0) places.setHeader("link", links.join(", "));
}

function tellPlace(
  places: Places,
  { page, perPage, more, total }: { page: number; perPage: number; more: boolean; total: number | undefined },
) {
  const counted = total !== undefined && total <= COUNTED;
  const pages = counted ? Math.max(Math.ceil(total / perPage), 1) : Infinity;
  const previous = page > 1 && page <= pages + 1 ? page - 1 : undefined;
  const next = more ? page + 1 : undefined;
  const to = (rel: string, number: number): Relation => [rel, { page: number, per_page: perPage }];
  places.setHeader("x-per-page", String(perPage));
  places.setHeader("x-page", String(page));
  places.setHeader("x-next-page", next === undefined ? "" : String(next));
  places.setHeader("x-prev-page", previous === undefined ? "" : String(previous));
  setLinks(places, [
    ...(previous === undefined ? [] : [to("prev", previous)]),
    ...(next === undefined ? [] : [to("next", next)]),
    to("first", 1),
    ...(counted ? [to("last", pages)] : []),
  ]);
  if (!counted) return;
  places.setHeader("x-total", String(total));
  places.setHeader("x-total-pages", String(pages));
}
