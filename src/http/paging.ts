import type { SelectQueryBuilder } from "kysely";
import Type, { type Static, type TArray, type TSchema } from "typebox";
import { badParameter, Refusal } from "#lib/refusal.ts";
import { decodeCursor } from "./cursor.ts";

export const MOST_PER_PAGE = 100;
/** Totals are counted up to here; beyond it they are left out. */
export const COUNTED = 10_000;

export interface PagingOptions {
  /** What `order_by` may name, each with the column it orders by; the first is the default. */
  readonly orders?: Readonly<Record<string, string>>;
  readonly sort?: "asc" | "desc";
  /** Those of the orders that keyset paging serves. */
  readonly keyset?: readonly string[];
  /** The column that makes the order total. */
  readonly id: string;
  /** Where offset paging ends and keyset must take over. */
  readonly offsetLimit?: { readonly rows: number; readonly type: string };
  /** Whether `page_token` names a position, as in lists that are read from elsewhere than the database. */
  readonly pageToken?: true;
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

/** Leaves of a list what can come to stand on the page, and no more. */
export type First = <O>(query: AnyQuery<O>) => AnyQuery<O>;

/** A part of a list; one that is itself put together of lists is told how much of each it needs. */
export type Part = AnyQuery<any> | ((first: First) => AnyQuery<any>);

export const whole = (part: Part, first: First): AnyQuery<any> => (typeof part === "function" ? part(first) : part);

export interface PageOptions {
  /**
   * The list without any condition, which the given one may be. With it, a page is found among ids alone, which an index
   * that carries the filtered columns can answer, and only the rows of the page are read.
   */
  readonly unfiltered?: AnyQuery<any>;
  /**
   * The list in parts that have no row in common, each of which is quick to find in order; the page is merged of them.
   * The given query is then the list without any condition, by which the rows of the page are read.
   */
  readonly parts?: readonly Part[];
  /** The order where the caller asked for none; only offset paging uses it. */
  readonly unasked?: <O>(query: AnyQuery<O>) => AnyQuery<O>;
  /** How many rows there are, where that is known already. */
  readonly total?: number;
  /** Where offset paging ends for this query, if earlier than for others. */
  readonly offsetLimit?: number;
}

/** The part that is wanted of a list from elsewhere: so many after so many, or after what `after` names. */
export interface Wanted {
  readonly skip: number;
  readonly limit: number;
  /** Undefined on the first page; null where pages have numbers. */
  readonly after: string | null | undefined;
}

export interface Found<O> {
  readonly rows: readonly O[];
  /** Whether others follow. */
  readonly more: boolean;
  /** Left out where counting would cost too much. */
  readonly total?: number;
}

export interface Page<R> {
  <O>(
    query: AnyQuery<O>,
    present: (row: O) => R extends Paged<infer Item> ? Static<Item> : never,
    options?: PageOptions,
  ): Promise<(R extends Paged<infer Item> ? Static<Item> : never)[]>;
  /** The rows of the page, for lists that look up more before they present. */
  rows<O>(query: AnyQuery<O>, options?: PageOptions): Promise<O[]>;
  /** The rows of the page of a list from elsewhere; `tokenOf` names the position behind a row. */
  found<O>(read: (wanted: Wanted) => Promise<Found<O>>, tokenOf?: (row: O) => string): Promise<readonly O[]>;
}

/** The parameters that a paged list accepts beside its own. */
export function pagingParams({ orders, keyset, sort = "asc", pageToken }: PagingOptions) {
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
    ...(pageToken && {
      pagination: Type.Optional(Type.String({ description: "`keyset` pages by position instead of number" })),
      page_token: Type.Optional(Type.String({ description: "Position to go on from, as the next link gives it" })),
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
  const after = options.pageToken && input.pagination === "keyset" ? input.page_token : null;
  if (!keyset && after === null && options.offsetLimit)
    refuseTooFar(page * perPage, options.offsetLimit.rows, options.offsetLimit.type);
  const column = options.orders?.[orderBy] ?? options.id;
  const cursor = keyset && input.cursor !== undefined ? decodeCursor(input.cursor, orderBy, sort, column) : undefined;
  return { perPage, page, keyset, orderBy, sort, cursor, after, asked: order_by !== undefined || asked !== undefined };
}

export type Paging = ReturnType<typeof readPaging>;

export function refuseTooFar(asked: number, most: number, type: string) {
  if (asked <= most) return;
  throw notAllowed(
    `Offset pagination has a maximum allowed offset of ${most} for requests that return objects of type ${type}. ` +
      "Remaining records can be retrieved using keyset pagination.",
  );
}

const notAllowed = (error: string) => new Refusal("not allowed", error, { error });
