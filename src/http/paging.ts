import { type SelectQueryBuilder, sql } from "kysely";
import Type, { type Static, type TArray, type TSchema } from "typebox";
import type { Db } from "#db/database.ts";
import { badParameter, Refusal } from "#lib/refusal.ts";
import { type Cursor, decodeCursor, encodeCursor } from "./cursor.ts";

export const MOST_PER_PAGE = 100;
/** Totals are counted up to here; beyond it they are left out. */
export const COUNTED = 10_000;

interface PagingOptions {
  /** What `order_by` may name, each with the column it orders by; the first is the default. */
  readonly orders?: Readonly<Record<string, string>>;
  readonly sort?: "asc" | "desc";
  /** Those of the orders that keyset paging serves. */
  readonly keyset?: readonly string[];
  /** The column that makes the order total. */
  readonly id: string;
  /** Where offset paging ends and keyset must take over. */
  readonly offsetLimit?: { readonly rows: number; readonly type: string };
}

export interface PagedMark {
  readonly paged: PagingOptions;
}
export type Paged<Item extends TSchema> = TArray<Item> & PagedMark;

/** A paged list: it brings its parameters, its headers and `page` in the handler's context. */
export const pageOf = <Item extends TSchema>(item: Item, options: PagingOptions): Paged<Item> =>
  // Not enumerable, so that the schema shows no more than JSON Schema knows.
  Object.defineProperty(Type.Array(item), "paged", { value: options }) as Paged<Item>;

type AnyQuery<O> = SelectQueryBuilder<any, any, O>;

interface PageOptions {
  /**
   * The same rows without a condition. With it, a page is found among ids alone, which an index that carries the
   * filtered columns can answer, and only the rows of the page are read.
   */
  readonly unfiltered?: AnyQuery<any>;
  /** The order where the caller asked for none; only offset paging uses it. */
  readonly unasked?: <O>(query: AnyQuery<O>) => AnyQuery<O>;
  /** How many rows there are, where that is known already. */
  readonly total?: number;
  /** Where offset paging ends for this query, if earlier than for others. */
  readonly offsetLimit?: number;
}

export interface Page<R> {
  <O>(
    query: AnyQuery<O>,
    present: (row: O) => R extends Paged<infer Item> ? Static<Item> : never,
    options?: PageOptions,
  ): Promise<(R extends Paged<infer Item> ? Static<Item> : never)[]>;
  /** The rows of the page, for lists that look up more before they present. */
  rows<O>(query: AnyQuery<O>, options?: PageOptions): Promise<O[]>;
}

/** The parameters that a paged list accepts beside its own. */
export function pagingParams({ orders, keyset, sort = "asc" }: PagingOptions) {
  return {
    page: Type.Optional(Type.Integer({ description: "Page to show, from 1" })),
    per_page: Type.Optional(Type.Integer({ description: `Items a page, at most ${MOST_PER_PAGE}` })),
    ...(orders && {
      order_by: Type.Optional(Type.Enum(Object.keys(orders), { description: "What to order by" })),
      sort: Type.Optional(Type.Enum(["asc", "desc"], { description: `Direction, ${sort} by default` })),
    }),
    ...(keyset && {
      pagination: Type.Optional(Type.String({ description: "`keyset` pages by position instead of number" })),
      cursor: Type.Optional(Type.String({ description: "Position to go on from, as the next link gives it" })),
    }),
  };
}

export interface PagingInput {
  readonly page?: number;
  readonly per_page?: number;
  readonly order_by?: string;
  readonly sort?: "asc" | "desc";
  readonly pagination?: string;
  readonly cursor?: string;
}

/** How the answer tells of its place in the list: headers, made of links to other places. */
export interface Places {
  /** Undefined where it would be too long to be followed. */
  link(changes: Readonly<Record<string, string | number | undefined>>): string | undefined;
  setHeader(name: string, value: string): void;
}

// A limit is a literal from a closed set: as a parameter it would keep PostgreSQL on custom plans, and each value of
// its own would be a statement more to prepare.
const LIMITS = [1, 5, 10, 20, 50, MOST_PER_PAGE] as const;
const limitFor = (wanted: number) => (LIMITS.find((limit) => limit >= wanted) ?? MOST_PER_PAGE) + 1;

/** Checks what the caller asked for, before the handler runs. */
export function readPaging(options: PagingOptions, input: PagingInput) {
  if (input.per_page !== undefined && input.per_page < 1) throw badParameter("per_page has a value not allowed");
  const perPage = Math.min(input.per_page ?? 20, MOST_PER_PAGE);
  const page = Math.max(input.page ?? 1, 1);
  const keyset = input.pagination === "keyset" && options.keyset !== undefined;
  // A list without orders may have a parameter of its own that is called `sort`.
  const { order_by, sort: asked } = options.orders ? input : {};
  const orderBy = order_by ?? Object.keys(options.orders ?? {})[0] ?? "id";
  const sort = asked ?? options.sort ?? "asc";
  if (keyset && !options.keyset?.includes(orderBy)) {
    throw notAllowed("Keyset pagination is not yet available for this type of request");
  }
  if (!keyset && options.offsetLimit) refuseTooFar(page * perPage, options.offsetLimit.rows, options.offsetLimit.type);
  const cursor = keyset && input.cursor !== undefined ? decodeCursor(input.cursor, orderBy, sort) : undefined;
  return { perPage, page, keyset, orderBy, sort, cursor, asked: order_by !== undefined || asked !== undefined };
}

type Paging = ReturnType<typeof readPaging>;

function refuseTooFar(asked: number, most: number, type: string) {
  if (asked <= most) return;
  throw notAllowed(
    `Offset pagination has a maximum allowed offset of ${most} for requests that return objects of type ${type}. ` +
      "Remaining records can be retrieved using keyset pagination.",
  );
}

const notAllowed = (error: string) => new Refusal("not allowed", error, { error });

/** Makes the `page` of one request. */
export function pageFor<R>(options: PagingOptions, paging: Paging, db: Db, places: Places): Page<R> {
  const column = options.orders?.[paging.orderBy] ?? options.id;
  const rows = <O>(query: AnyQuery<O>, given: PageOptions = {}) => {
    const read = reader(query, options.id, given.unfiltered);
    if (paging.keyset) return keysetRows(query, read, column, options.id, paging, places);
    if (given.offsetLimit !== undefined) {
      refuseTooFar(paging.page * paging.perPage, given.offsetLimit, options.offsetLimit?.type ?? "this kind");
    }
    const order = given.unasked && !paging.asked ? given.unasked : ordered(column, options.id, paging.sort);
    return offsetRows(query, read, order, given.total, paging, places, db);
  };
  const page = async (query: AnyQuery<any>, present: (row: any) => any, given?: PageOptions) =>
    (await rows(query, given)).map(present);
  return Object.assign(page, { rows }) as Page<R>;
}

const ordered =
  (column: string, id: string, sort: "asc" | "desc") =>
  <O>(query: AnyQuery<O>): AnyQuery<O> =>
    column === id ? query.orderBy(sql.ref(id), sort) : query.orderBy(sql.ref(column), sort).orderBy(sql.ref(id), sort);

type Order = <Row>(query: AnyQuery<Row>) => AnyQuery<Row>;
type Read<O> = (query: AnyQuery<O>, order: Order, limit: number, offset: number) => Promise<O[]>;

/** Makes what reads a part of an ordered list: straight, or by ids first where that spares reading what is passed over. */
function reader<O>(listed: AnyQuery<O>, id: string, unfiltered: AnyQuery<any> | undefined): Read<O> {
  const isFiltered = listed.toOperationNode().where !== undefined;
  return async (query, order, limit, offset) => {
    const part = <Row>(rows: AnyQuery<Row>) => {
      const limited = order(rows).limit(sql.lit(limitFor(limit)));
      return offset === 0 ? limited : limited.offset(offset);
    };
    if (!unfiltered || (offset === 0 && !isFiltered)) return part(query).execute();
    const ids = part(query.clearSelect().select(sql.ref(id).as("id")));
    return order(unfiltered.where(sql<boolean>`${sql.ref(id)} in (${ids})`)).execute() as Promise<O[]>;
  };
}

async function keysetRows<O>(
  query: AnyQuery<O>,
  read: Read<O>,
  column: string,
  id: string,
  { perPage, orderBy, sort, cursor }: Paging,
  places: Places,
): Promise<O[]> {
  const positioned = cursor ? query.where(after(column, id, sort, cursor)) : query;
  const found = await read(positioned, ordered(column, id, sort), perPage, 0);
  const rows = found.slice(0, perPage);
  const last = rows.at(-1) as Record<string, string | number> | undefined;
  if (last) {
    const next = encodeCursor(orderBy, sort, last[nameOf(column)] ?? "", Number(last[nameOf(id)]));
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
  read: Read<O>,
  order: Order,
  known: number | undefined,
  { page, perPage }: Paging,
  places: Places,
  db: Db,
): Promise<O[]> {
  const skipped = (page - 1) * perPage;
  const found = known !== undefined && skipped >= known ? [] : await read(query, order, perPage, skipped);
  const rows = found.slice(0, perPage);
  const more = found.length > perPage;
  const total =
    more || (rows.length === 0 && page > 1) ? (known ?? (await countUpTo(query, db))) : skipped + rows.length;
  tellPlace(places, { page, perPage, more, total });
  return rows;
}

async function countUpTo(query: AnyQuery<unknown>, db: Db): Promise<number> {
  const some = query
    .clearSelect()
    .select(sql.lit(1).as("one"))
    .limit(sql.lit(COUNTED + 1));
  const { count } = await db
    .selectFrom(some.as("counted"))
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
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
  { page, perPage, more, total }: { page: number; perPage: number; more: boolean; total: number },
) {
  const counted = total <= COUNTED;
  const pages = Math.max(Math.ceil(total / perPage), 1);
  const previous = page > 1 && (!counted || page <= pages + 1) ? page - 1 : undefined;
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
