export type Caller = "anonymous" | "user" | "member of 5,000" | "member of the largest" | "administrator";

/** One request of the suite and its expected response: 200 with rows, unless it says otherwise. */
export interface Request {
  readonly caller: Caller;
  readonly path: string;
  readonly status?: 403;
  /** `none`: the list is empty; `any`: it may be. */
  readonly rows?: "none" | "any";
  /** Whether it searches for a word that many rows contain. */
  readonly common?: true;
  /** Whether no index serves its filter, so that a page at a large offset has to read all rows before it. */
  readonly unskippable?: true;
  /** Whether its filter needs lookups for each row that is scanned. */
  readonly costly?: true;
}

interface Filter extends Pick<Request, "rows" | "common" | "unskippable" | "costly"> {
  readonly query: string;
}

/** A filter that no row of the seed matches. */
export const none = (query: string): Filter => ({ query, rows: "none" });
/** A filter that only some callers, or only larger seeds, have rows for. */
export const any = (query: string): Filter => ({ query, rows: "any" });
/** A search for a word that many rows contain. */
export const common = (query: string): Filter => ({ query, common: true });

/** A filter that many rows match and that no index in the order of the list contains. */
export const unskippable = (query: string): Filter => ({ query, unskippable: true });

/** A filter that needs lookups for each row, which few rows of the seed match. */
export const costly = (query: string): Filter => ({ query, rows: "any", costly: true });

export type Kind =
  | "no search"
  | "common search"
  | "costly filter"
  | "offset 10,000"
  | "offset 10,000, unskippable"
  | "offset 50,000"
  | "keyset";

/** The maximum duration in ms of a request of each kind, and of each of its statements. */
export const BOUNDS: Readonly<Record<Kind, number>> = {
  "no search": 100,
  "common search": 500,
  "costly filter": 1000,
  "offset 10,000": 100,
  "offset 10,000, unskippable": 500,
  "offset 50,000": Infinity,
  keyset: 100,
};

const OFFSET_10_000 = "page=100&per_page=100";
const OFFSET_50_000 = "page=500&per_page=100";
const KEYSET = "pagination=keyset&per_page=100";

export const FIRST = [""];
export const BY_OFFSET = ["", OFFSET_10_000, OFFSET_50_000];
export const PLACES = [...BY_OFFSET, KEYSET];

export function kindOf({ path, common: isCommon, costly: isCostly, unskippable: isUnskippable }: Request): Kind {
  if (path.includes(OFFSET_50_000)) return "offset 50,000";
  if (isCommon) return "common search";
  if (isCostly) return "costly filter";
  if (path.includes(OFFSET_10_000)) return isUnskippable ? "offset 10,000, unskippable" : "offset 10,000";
  return path.includes("pagination=keyset") ? "keyset" : "no search";
}

/** The first page of the list that a page at an offset belongs to, or undefined for other requests. */
export function firstPageOf({ caller, path }: Request): string | undefined {
  const offset = [OFFSET_10_000, OFFSET_50_000].find((offset) => path.includes(offset));
  return offset && `${caller} ${path.replace(offset, "").replace(/[?&]$/, "")}`;
}

/** The list, without ids and parameters. */
export const listOf = ({ path }: Request): string => path.replace(/\?.*/, "").replaceAll(/\/\d+(?=\/|$)/g, "/:id");

interface RequestOptions {
  readonly callers?: readonly Caller[];
  readonly filters?: readonly (string | Filter)[];
  readonly orders?: readonly string[];
  readonly places?: readonly string[];
  readonly status?: 403;
}

/** Requests of a list by each caller, with each filter, in each order, at each position. */
export function list(
  path: string,
  { callers = ["administrator"], filters = [""], orders = [""], places = PLACES, ...expected }: RequestOptions = {},
): Request[] {
  return callers.flatMap((caller) =>
    filters.flatMap((given) => {
      const { query: filter, ...filtered } = typeof given === "string" ? { query: given } : given;
      return orders.flatMap((order) =>
        places.map((place) => {
          const query = [filter, order, place].filter(Boolean).join("&");
          return { caller, path: query ? `${path}?${query}` : path, ...filtered, ...expected };
        }),
      );
    }),
  );
}
