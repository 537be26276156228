import { type RawBuilder, sql } from "kysely";

export type PeopleTable = "issue_assignees" | "merge_request_assignees" | "merge_request_reviewers";

/** What code for items of any kind has to know of one kind: its names on the wire, in texts and in the database. */
interface ItemKind {
  readonly name: "Issue" | "Epic" | "MergeRequest";
  /** In a sentence and in addresses. */
  readonly word: "issue" | "epic" | "merge request";
  readonly sign: "#" | "&" | "!";
  readonly container: "project" | "group";
  readonly table: "issues" | "epics" | "merge_requests";
  /** What rows of the table are called in statements. */
  readonly alias: "i" | "e" | "mr";
  /** The tables of those who are asked to work on an item. */
  readonly people: readonly PeopleTable[];
}

/** The kinds of items by the column that names one in other tables. */
const KINDS = {
  issue_id: {
    ...{ name: "Issue", word: "issue", sign: "#", container: "project" },
    ...{ table: "issues", alias: "i", people: ["issue_assignees"] },
  },
  epic_id: {
    ...{ name: "Epic", word: "epic", sign: "&", container: "group" },
    ...{ table: "epics", alias: "e", people: [] },
  },
  merge_request_id: {
    ...{ name: "MergeRequest", word: "merge request", sign: "!", container: "project" },
    ...{ table: "merge_requests", alias: "mr", people: ["merge_request_assignees", "merge_request_reviewers"] },
  },
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

/** The id of the row of a kind, such as `issues as i`. */
export const idOfRow = (column: ItemColumn): RawBuilder<unknown> => sql.ref(`${KINDS[column].alias}.id`);

/** The address of the page of an item in a container with a full path. */
export function itemUrl(column: ItemColumn, site: string, path: string, iid: number): string {
  const { table, container } = KINDS[column];
  return `${site}/${container === "group" ? "groups/" : ""}${path}/-/${table}/${iid}`;
}

/** The rows of a kind. */
export const rowsOf = (column: ItemColumn): RawBuilder<unknown> =>
  sql`${sql.table(KINDS[column].table)} ${sql.ref(KINDS[column].alias)}`;

/** The rows of a kind with what they are in: a project as `p` or a group as `n`. */
export function rowsInContainer(column: ItemColumn): RawBuilder<unknown> {
  const { alias, container } = KINDS[column];
  return container === "project"
    ? sql`${rowsOf(column)} join projects p on p.id = ${sql.ref(`${alias}.project_id`)}`
    : sql`${rowsOf(column)} join namespaces n on n.id = ${sql.ref(`${alias}.group_id`)}`;
}

/** The id of the namespace that such a row is in. */
export const namespaceOfRow = (column: ItemColumn): RawBuilder<unknown> =>
  sql.ref(KINDS[column].container === "project" ? "p.namespace_id" : "n.id");

/** The same rows, always with their namespace as `n`. */
export const rowsWithContainer = (column: ItemColumn): RawBuilder<unknown> =>
  KINDS[column].container === "project"
    ? sql`${rowsInContainer(column)} join namespaces n on n.id = p.namespace_id`
    : rowsInContainer(column);
