import Type, { type Static, type TArray, type TSchema } from "typebox";
import { type AnyQuery, type Listing, MAX_OFFSET, MAX_PER_PAGE } from "#db/lists/list-page.ts";
import { order, type Order } from "#db/lists/order.ts";
import { badParameter, Refusal } from "#lib/refusal.ts";
import { decodeCursor } from "./cursor.ts";
import { SHOWN } from "./openapi-schema.ts";

const PER_PAGE = 20;

export interface PagingOptions {
  /** The values of `order_by`; the first is the default. */
  readonly orders?: Readonly<Record<string, Order>>;
  readonly sort?: "asc" | "desc";
  /** Those of the orders that keyset paging serves. */
  readonly keyset?: readonly string[];
  /** The column that makes the order total. */
  readonly id: string;
  /** The name of the items in messages to callers; the title of their schema if left out. */
  readonly type?: string;
  /** Items a page if the request does not say, instead of the usual number. */
  readonly perPage?: number;
  /** Whether `page_token` names a position, as in lists that come from git. */
  readonly pageToken?: true;
}

export interface PagedMark {
  readonly paged: PagingOptions;
}
export type Paged<Item extends TSchema> = TArray<Item> & PagedMark;

/** A paged list: it brings its parameters, its headers and `page` in the handler's context. */
export const pageOf = <Item extends TSchema>(item: Item, options: PagingOptions): Paged<Item> =>
  // Not enumerable, so that the schema shows no more than JSON Schema knows.
  Object.defineProperty(Type.Array(item), "paged", { value: { type: titleOf(item), ...options } }) as Paged<Item>;

const titleOf = (item: TSchema) => ("title" in item ? String(item.title) : "this kind");

/** The requested part of a list that does not come from the database: after a number of rows, or after a position. */
export interface SliceRequest {
  readonly skip: number;
  readonly limit: number;
  /** The position; undefined on the first page, null for offset paging. */
  readonly after: string | null | undefined;
}

export interface Slice<O> {
  readonly rows: readonly O[];
  /** Whether others follow. */
  readonly more: boolean;
  /** Left out if counting would cost too much. */
  readonly total?: number;
}

export interface Page<R> {
  <O>(
    query: AnyQuery<O>,
    present: (row: O) => R extends Paged<infer Item> ? Static<Item> : never,
    listing?: Listing,
  ): Promise<(R extends Paged<infer Item> ? Static<Item> : never)[]>;
  /** The rows of the page, for lists that look up more before they present. */
  rows<O>(query: AnyQuery<O>, listing?: Listing): Promise<O[]>;
  /** The rows of the page of a query that takes too long to count. */
  uncountedRows<O>(query: AnyQuery<O>): Promise<O[]>;
  /** The rows of a page that does not come from the database; `tokenOf` names the position after a row. */
  slice<O>(
    readSlice: (request: SliceRequest) => Promise<Slice<O>>,
    tokenOf?: (row: O) => string,
  ): Promise<readonly O[]>;
}

/** The parameters that a paged list accepts beside its own. */
export function pagingParams({ orders, keyset, sort = "asc", perPage = PER_PAGE, pageToken }: PagingOptions) {
  return {
    page: Type.Optional(Type.Integer({ description: "Page to show", [SHOWN]: { default: 1, minimum: 1 } })),
    per_page: Type.Optional(
      Type.Integer({ description: "Items a page", [SHOWN]: { default: perPage, minimum: 1, maximum: MAX_PER_PAGE } }),
    ),
    ...(orders && {
      order_by: Type.Optional(Type.Enum(Object.keys(orders), { description: "What to order by" })),
      sort: Type.Optional(Type.Enum(["asc", "desc"], { description: `Direction, ${sort} by default` })),
    }),
    ...(keyset && {
      pagination: Type.Optional(
        Type.String({ description: "`keyset` selects keyset paging instead of offset paging" }),
      ),
      cursor: Type.Optional(Type.String({ description: "Position to continue from, as in the next link" })),
    }),
    ...(pageToken && {
      pagination: Type.Optional(
        Type.String({ description: "`keyset` selects keyset paging instead of offset paging" }),
      ),
      page_token: Type.Optional(Type.String({ description: "Position to continue from, as in the next link" })),
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
  readonly page_token?: string;
}

/** Checks the paging parameters, before the handler runs. */
export function readPaging(options: PagingOptions, input: PagingInput) {
  if (input.per_page !== undefined && input.per_page < 1) throw badParameter("per_page has a value not allowed");
  const perPage = Math.min(input.per_page ?? options.perPage ?? PER_PAGE, MAX_PER_PAGE);
  const page = Math.max(input.page ?? 1, 1);
  const byPosition = input.pagination === "keyset";
  const keyset = byPosition && options.keyset !== undefined;
  // A list without orders may have a parameter of its own that is called `sort`.
  const { order_by, sort: asked } = options.orders ? input : {};
  const orderBy = order_by ?? Object.keys(options.orders ?? {})[0] ?? "id";
  const sort = asked ?? options.sort ?? "asc";
  if (keyset && !options.keyset.includes(orderBy)) {
    throw notAllowed("Keyset pagination is not yet available for this type of request");
  }
  const after = byPosition && options.pageToken ? input.page_token : null;
  if (!keyset && after === null) refuseTooFar(options, page * perPage);
  const ordered = options.orders?.[orderBy] ?? order(options.id, "bigint");
  const cursor = keyset && input.cursor !== undefined ? decodeCursor(input.cursor, orderBy, sort, ordered) : undefined;
  const isOrdered = order_by !== undefined || asked !== undefined;
  return { perPage, page, keyset, orderBy, order: ordered, sort, cursor, after, isOrdered };
}

export type Paging = ReturnType<typeof readPaging>;

/** Ends offset paging where keyset paging can take over. */
function refuseTooFar({ keyset, pageToken, type }: PagingOptions, rows: number) {
  if (rows <= MAX_OFFSET || !(keyset || pageToken)) return;
  throw notAllowed(
    `Offset pagination has a maximum allowed offset of ${MAX_OFFSET} for requests that return objects of type ${type}. ` +
      "Remaining records can be retrieved using keyset pagination.",
  );
}

const notAllowed = (error: string) => new Refusal("not allowed", error, { error });
