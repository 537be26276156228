import type { Databases } from "#db/database.ts";
import {
  type AnyQuery,
  type Listing,
  listPage,
  type ListPage,
  MAX_TOTAL,
  pageQuery,
  type PageRequest,
  POSITION,
  queryPage,
} from "#db/lists/list-page.ts";
import { encodeCursor } from "./cursor.ts";
import type { Slice, Page, Paging, PagingOptions, SliceRequest } from "./paging.ts";

/** Sets the paging headers of a response. */
export interface PageHeaders {
  /** A link to the same list with changed parameters; undefined if it would be too long for a request target. */
  link(changes: Readonly<Record<string, string | number | undefined>>): string | undefined;
  setHeader(name: string, value: string): void;
}

/** Creates the function that builds `page` for each request of a list. */
export function pager({ id }: PagingOptions) {
  // The texts of keyset pages of whole tables: they are few, and building one costs more than reading the page.
  const texts = new Map<string, string>();

  return <R>(paging: Paging, db: Databases, headers: PageHeaders): Page<R> => {
    const read = <O>(query: AnyQuery<O>, listing: Listing | undefined, request: PageRequest) =>
      listing ? listPage(db, query, listing, request) : queryPage(db.read, query, request);
    const rows = async <O>(query: AnyQuery<O>, listing?: Listing) => {
      const request = requestOf(id, paging, listing);
      if (!paging.keyset) return offsetRows(await read(query, listing, request), paging, headers);
      const isWhole =
        listing && !listing.sources && ![...(listing.filters ?? []), ...(listing.costly ?? [])].some(Boolean);
      const page = isWhole ? await wholePage(query, request, db) : (await read(query, listing, request)).rows;
      setNextLink(page, id, paging, headers);
      return page;
    };
    const uncountedRows = async <O>(query: AnyQuery<O>) => {
      const request = requestOf(id, paging, undefined);
      const page = await queryPage(db.read, query, request);
      if (!paging.keyset) return offsetRows({ ...page, total: async () => Infinity }, paging, headers);
      setNextLink(page.rows, id, paging, headers);
      return page.rows;
    };
    const page = async (query: AnyQuery<any>, present: (row: any) => any, listing?: Listing) =>
      (await rows(query, listing)).map(present);
    const slice = <O>(readSlice: (request: SliceRequest) => Promise<Slice<O>>, tokenOf?: (row: O) => string) =>
      sliceRows(readSlice, tokenOf, paging, headers);
    return Object.assign(page, { rows, uncountedRows, slice }) as Page<R>;
  };

  /** A keyset page of a whole table is as quick as a point read, so it uses the same connections. */
  async function wholePage<O>(query: AnyQuery<O>, request: PageRequest, { point }: Databases): Promise<O[]> {
    const { order, sort, limit, cursor } = request;
    const key = `${String(order.column)} ${sort} ${limit} ${cursor ? "after" : "first"}`;
    let text = texts.get(key);
    if (text === undefined) texts.set(key, (text = pageQuery(query, request).compile().sql));
    const position = cursor ? (order.column === id ? [cursor.id] : [cursor.value, cursor.id]) : [];
    return (await point.query<O>(text, position)).slice(0, limit);
  }
}

function requestOf(id: string, paging: Paging, listing: Listing | undefined): PageRequest {
  const { keyset, page, perPage, orderBy, sort, cursor, isOrdered } = paging;
  const order = listing?.orders?.[orderBy] ?? paging.order;
  if (keyset) return { keyset, id, order, sort, cursor, offset: 0, limit: perPage };
  const defaultOrder = isOrdered ? undefined : listing?.defaultOrder;
  // One row more shows whether there is a next page.
  return { keyset, id, order, sort, ...defaultOrder, offset: (page - 1) * perPage, limit: perPage + 1 };
}

/** Links to the page after the last row. */
function setNextLink(rows: readonly unknown[], id: string, { orderBy, order, sort }: Paging, headers: PageHeaders) {
  const last = rows.at(-1) as Record<string, string | number | null> | undefined;
  if (!last) return;
  const lastId = Number(last[id.slice(id.lastIndexOf(".") + 1)]);
  const value = order.column === id ? lastId : (last[POSITION] ?? null);
  const cursor = encodeCursor(orderBy, sort, { value, id: lastId });
  setLinks(headers, [["next", { cursor, page: undefined }]]);
}

async function offsetRows<O>(found: ListPage<O>, { page, perPage }: Paging, headers: PageHeaders): Promise<O[]> {
  const rows = found.rows.slice(0, perPage);
  const more = found.rows.length > perPage;
  const isLast = !more && (rows.length > 0 || page === 1);
  const total = isLast ? (page - 1) * perPage + rows.length : await found.total();
  setOffsetHeaders(headers, { page, perPage, more, total });
  return rows;
}

async function sliceRows<O>(
  readSlice: (request: SliceRequest) => Promise<Slice<O>>,
  tokenOf: ((row: O) => string) | undefined,
  { page, perPage, after }: Paging,
  headers: PageHeaders,
): Promise<readonly O[]> {
  if (after === null || !tokenOf) {
    const { rows, more, total } = await readSlice({ skip: (page - 1) * perPage, limit: perPage, after: null });
    setOffsetHeaders(headers, { page, perPage, more, total });
    return rows;
  }
  const { rows, more } = await readSlice({ skip: 0, limit: perPage, after });
  const last = rows.at(-1);
  if (more && last !== undefined) setLinks(headers, [["next", { per_page: perPage, page_token: tokenOf(last) }]]);
  return rows;
}

type Relation = readonly [rel: string, changes: Parameters<PageHeaders["link"]>[0]];

function setLinks(headers: PageHeaders, relations: readonly Relation[]) {
  const links = relations.flatMap(([rel, changes]) => {
    const link = headers.link(changes);
    return link === undefined ? [] : [`<${link}>; rel="${rel}"`];
  });
  if (links.length > 0) headers.setHeader("link", links.join(", "));
}

function setOffsetHeaders(
  headers: PageHeaders,
  { page, perPage, more, total }: { page: number; perPage: number; more: boolean; total: number | undefined },
) {
  const counted = total !== undefined && total <= MAX_TOTAL;
  const pages = counted ? Math.max(Math.ceil(total / perPage), 1) : Infinity;
  const previous = page > 1 && page <= pages + 1 ? page - 1 : undefined;
  const next = more ? page + 1 : undefined;
  const to = (rel: string, number: number): Relation => [rel, { page: number, per_page: perPage }];
  headers.setHeader("x-per-page", String(perPage));
  headers.setHeader("x-page", String(page));
  headers.setHeader("x-next-page", next === undefined ? "" : String(next));
  headers.setHeader("x-prev-page", previous === undefined ? "" : String(previous));
  setLinks(headers, [
    ...(previous === undefined ? [] : [to("prev", previous)]),
    ...(next === undefined ? [] : [to("next", next)]),
    to("first", 1),
    ...(counted ? [to("last", pages)] : []),
  ]);
  if (!counted) return;
  headers.setHeader("x-total", String(total));
  headers.setHeader("x-total-pages", String(pages));
}
