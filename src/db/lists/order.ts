import { type RawBuilder, sql } from "kysely";

export type Condition = RawBuilder<boolean>;
export type Sort = "asc" | "desc";
export type ColumnType = "bigint" | "integer" | "real" | "text" | "timestamptz" | "date";

/** What a list is ordered by; rows with the same value are ordered by id. */
export interface Order {
  /** A column with its alias, or an expression. */
  readonly column: string | RawBuilder<unknown>;
  readonly type: ColumnType;
  /**
   * Where nulls sort: in ascending order, as in the index, or at the end in both directions, with an index that says
   * nothing about nulls. Left out if the column is never null.
   */
  readonly nulls?: "first" | "last" | "at the end";
  /** The order of a scan, for an order without an index. */
  readonly scannedBy?: Order;
}

export const order = (
  column: Order["column"],
  type: ColumnType,
  options: Pick<Order, "nulls" | "scannedBy"> = {},
): Order => ({ column, type, ...options });

/** A position in an ordered list: the value and the id of the last row seen. */
export interface Cursor {
  readonly value: string | number | null;
  readonly id: number;
}

/** An order in one direction, and where in it the page begins. */
export interface Ordered {
  readonly order: Order;
  readonly sort: Sort;
  /** The column that makes the order total. */
  readonly id: string;
  readonly cursor?: Cursor | undefined;
}

/** Rows that one row comparison selects and an index returns in order. */
export interface Range {
  readonly where: Condition;
  readonly value: RawBuilder<unknown>;
  readonly orderBy: RawBuilder<unknown>;
}

export const columnOf = ({ column }: Order): RawBuilder<unknown> =>
  typeof column === "string" ? sql.ref(column) : column;

export function orderBy({ order, sort, id }: Ordered): RawBuilder<unknown> {
  const direction = sql.raw(sort);
  if (order.column === id) return sql`${sql.ref(id)} ${direction}`;
  const nulls = sql.raw(order.nulls ? `nulls ${nullsFirst(order, sort) ? "first" : "last"}` : "");
  return sql`${columnOf(order)} ${direction} ${nulls}, ${sql.ref(id)} ${direction}`;
}

const nullsFirst = ({ nulls }: Order, sort: Sort) => nulls !== "at the end" && (nulls === "first") === (sort === "asc");

/** The rows after the cursor as ranges, one after the other; a nullable order has two, with values and without. */
export function rangesOf(ordered: Ordered): Range[] {
  const { order, sort, id, cursor } = ordered;
  if (!order.nulls) return [{ where: afterValue(ordered), value: columnOf(order), orderBy: orderBy(ordered) }];
  const column = columnOf(order);
  // A range has values only or nulls only, so an index has its rows in order whatever it says about nulls.
  const inIndex =
    order.nulls === "at the end" && orderBy({ order: { column: order.column, type: order.type }, sort, id });
  const valued = {
    where: sql<boolean>`${column} is not null and ${cursor?.value === null ? sql`true` : afterValue(ordered)}`,
    value: column,
    orderBy: inIndex || orderBy(ordered),
  };
  const byId = { order: { column: id, type: "bigint" }, sort, id } as const;
  const without = {
    where: sql<boolean>`${column} is null and ${cursor?.value === null ? afterValue({ ...byId, cursor }) : sql`true`}`,
    value: sql`null::${sql.raw(order.type)}`,
    orderBy: inIndex || orderBy(byId),
  };
  const ranges = nullsFirst(order, sort) ? [without, valued] : [valued, without];
  return cursor ? ranges.slice(ranges.indexOf(cursor.value === null ? without : valued)) : ranges;
}

// One row comparison, which an index serves; a chain of `or` would read everything before it.
function afterValue({ order, sort, id, cursor }: Ordered): Condition {
  if (!cursor) return sql`true`;
  const sign = sql.raw(sort === "asc" ? ">" : "<");
  return order.column === id
    ? sql`${sql.ref(id)} ${sign} ${cursor.id}`
    : sql`(${columnOf(order)}, ${sql.ref(id)}) ${sign} (${cursor.value}, ${cursor.id})`;
}
