import { type RawBuilder, sql } from "kysely";

/** What code for items of any kind has to know of one kind: its names on the wire, in texts and in the database. */
interface ItemKind {
  readonly name: "Issue" | "Epic";
  /** In a sentence and in addresses. */
  readonly word: "issue" | "epic";
  readonly sign: "#" | "&";
  readonly container: "project" | "group";
  readonly table: "issues" | "epics";
  /** What rows of the table are called in statements. */
  readonly alias: "i" | "e";
  /** The table of those whom an item is assigned to. */
  readonly assignees?: "issue_assignees";
}

/** The kinds of items by the column that names one in other tables. */
const KINDS = {
  issue_id: {
    ...{ name: "Issue", word: "issue", sign: "#", container: "project" },
    ...{ table: "issues", alias: "i", assignees: "issue_assignees" },
  },
  epic_id: { name: "Epic", word: "epic", sign: "&", container: "group", table: "epics", alias: "e" },
} as const satisfies Readonly<Record<string, ItemKind>>;

export type ItemColumn = keyof typeof KINDS;
export type ItemWord = ItemKind["word"];
export const ITEM_COLUMNS = Object.keys(KINDS) as ItemColumn[];
export const ITEM_NAMES = Object.values(KINDS).map(({ name }) => name);

/** An item, by the column that names it. */
export interface Item {
  readonly column: ItemColumn;
  readonly id: number;
}

export const kindOf = ({ column }: Pick<Item, "column">): ItemKind => KINDS[column];

export const SIGNS: Readonly<Record<ItemWord, string>> = Object.fromEntries(
  Object.values(KINDS).map(({ word, sign }) => [word, sign]),
) as Record<ItemWord, string>;

/** The id of the row of `issues as i` or `epics as e`. */
export const idOfRow = (column: ItemColumn): RawBuilder<unknown> => sql.ref(`${KINDS[column].alias}.id`);

/** The rows of a kind. */
export const rowsOf = (column: ItemColumn): RawBuilder<unknown> =>
  sql`${sql.table(KINDS[column].table)} ${sql.ref(KINDS[column].alias)}`;

/** The rows of a kind with their project as `p`, if they are in one, and their namespace as `n`. */
export function rowsWithContainer(column: ItemColumn): RawBuilder<unknown> {
  const { alias, container } = KINDS[column];
  return container === "project"
    ? sql`${rowsOf(column)} join projects p on p.id = ${sql.ref(`${alias}.project_id`)}
        join namespaces n on n.id = p.namespace_id`
    : sql`${rowsOf(column)} join namespaces n on n.id = ${sql.ref(`${alias}.group_id`)}`;
}
