import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import type { Services } from "#services.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";

export const ITEM_NAMES = ["Issue", "Epic", "MergeRequest"] as const;
/** The columns that name an item in the tables of what belongs to one. */
export const ITEM_COLUMNS = ["issue_id", "epic_id", "merge_request_id"] as const;
export type ItemColumn = (typeof ITEM_COLUMNS)[number];

export type PeopleTable = "issue_assignees" | "merge_request_assignees" | "merge_request_reviewers";

/** People by their names in lower case, or by their ids. */
export type People = readonly string[] | readonly number[];

/** A kind of item: all that code for items of any kind has to know of it. Each domain says it of its own kinds. */
export interface ItemKind {
  /** On the wire and in the audit log. */
  readonly name: (typeof ITEM_NAMES)[number];
  /** In a sentence and in addresses. */
  readonly word: "issue" | "epic" | "merge request";
  readonly sign: "#" | "&" | "!";
  readonly container: "project" | "group";
  readonly table: "issues" | "epics" | "merge_requests";
  /** What rows of the table are called in statements. */
  readonly alias: "i" | "e" | "mr";
  readonly column: ItemColumn;
  /** The column in which notes on other items name one of this kind, if any do. */
  readonly otherColumn?: "other_issue_id" | "other_epic_id";
  /** The tables of those who are asked to work on an item. */
  readonly people: readonly PeopleTable[];
  /** Whether an actor may see the row of the kind, which is in `projects as p` or `namespaces as n`. */
  isVisible(actor: Actor | null): RawBuilder<boolean>;
  /** Whether an actor may see the other item that the row of `notes as note` names; left out if its notes name none. */
  isNamedVisible?(actor: Actor | null): RawBuilder<boolean>;
  /** Those of some people who may see an item, or an internal note on it. */
  readers(db: Db, id: number, people: People, internal: boolean): Promise<number[]>;
  /** Notifies people of a comment that somebody wrote, or changed if it has a text before. */
  commented(write: NotifyingWrite, item: Item, userId: number, comment: Comment, before?: string): Promise<void>;
}

/** What a write needs to notify people. */
export interface NotifyingWrite {
  readonly tx: Tx;
  readonly services: Pick<Services, "jobs" | "config">;
}

/** What every write on items and their notes needs. */
export interface ItemWrite extends NotifyingWrite {
  ignored(name: string): void;
}

export interface Comment {
  readonly id: number;
  readonly internal: boolean;
  readonly body: string;
}

export interface Item {
  readonly kind: ItemKind;
  readonly id: number;
}

/** An item as it is stored in a job or a link: by the column that names it. */
export interface ItemReference {
  readonly column: ItemColumn;
  readonly id: number;
}

/** The item that a reference means. */
export function itemAt(kinds: readonly ItemKind[], { column, id }: ItemReference): Item {
  const kind = kinds.find((each) => each.column === column);
  if (!kind) throw new Error(`no kind of item has the column ${column}`);
  return { kind, id };
}

/** The id of the row of a kind, such as `issues as i`. */
export const idOfRow = ({ alias }: ItemKind): RawBuilder<unknown> => sql.ref(`${alias}.id`);

/** The address of the page of an item in a container with a full path. */
export const itemUrl = ({ table, container }: ItemKind, site: string, path: string, iid: number): string =>
  `${site}/${container === "group" ? "groups/" : ""}${path}/-/${table}/${iid}`;

/** The rows of a kind. */
export const rowsOf = ({ table, alias }: ItemKind): RawBuilder<unknown> => sql`${sql.table(table)} ${sql.ref(alias)}`;

/** The rows of a kind with what they are in: a project as `p` or a group as `n`. */
export const rowsInContainer = (kind: ItemKind): RawBuilder<unknown> =>
  kind.container === "project"
    ? sql`${rowsOf(kind)} join projects p on p.id = ${sql.ref(`${kind.alias}.project_id`)}`
    : sql`${rowsOf(kind)} join namespaces n on n.id = ${sql.ref(`${kind.alias}.group_id`)}`;

/** The id of the namespace that such a row is in. */
export const namespaceOfRow = ({ container }: ItemKind): RawBuilder<unknown> =>
  sql.ref(container === "project" ? "p.namespace_id" : "n.id");

/** The same rows, always with their namespace as `n`. */
export const rowsWithContainer = (kind: ItemKind): RawBuilder<unknown> =>
  kind.container === "project"
    ? sql`${rowsInContainer(kind)} join namespaces n on n.id = p.namespace_id`
    : rowsInContainer(kind);

/** The full path of the container of such a row. */
export const pathOfRow = ({ container }: ItemKind): RawBuilder<string> =>
  container === "project" ? sql`${fullPath("n")} || '/' || p.path` : sql`${fullPath("n")}`;

/** Whether an actor may see the item of a kind whose id a column holds. */
export const isVisibleItem = (kind: ItemKind, column: string, actor: Actor | null): RawBuilder<boolean> => sql`exists (
  select from ${rowsInContainer(kind)} where ${idOfRow(kind)} = ${sql.ref(column)} and ${kind.isVisible(actor)})`;
