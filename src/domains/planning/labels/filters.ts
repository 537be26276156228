import { sql } from "kysely";
import type { Rows } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { idOfRow, type ItemKind } from "#domains/conversation/items/item.ts";
import { isAvailableIn, type LabelContainer } from "#domains/planning/items/containers.ts";
import { found, wildcard } from "#domains/planning/items/filters.ts";

/** In the list of a project a name means a label that it may use, not one of a group that it has left. */
const isNamed = (name: string, project: LabelContainer | undefined): Condition =>
  project ? sql`l.name = ${name} and ${isAvailableIn(project)}` : sql`l.name = ${name}`;

/** What a filter by the name of a label means for the items of a kind. The label of a link may have been deleted. */
export function labelFilters(kind: ItemKind) {
  const links = sql`select from label_links t where ${sql.ref(`t.${kind.column}`)} = ${idOfRow(kind)}`;
  const hasLabelThat = (is: Condition): Condition =>
    found(sql`${links} and ${found(sql`select from labels l where l.id = t.label_id and ${is}`)}`);
  /** A project may use few labels of one name, which are looked up once for all rows. */
  const hasOneOf = (labels: Rows): Condition => found(sql`${links} and t.label_id = any(array(${labels}))`);
  const has = (name: string, project?: LabelContainer): Condition =>
    project
      ? hasOneOf(sql`select l.id from labels l where ${isNamed(name, project)}`)
      : hasLabelThat(isNamed(name, project));
  return {
    has: (name: string, project?: LabelContainer): Condition =>
      wildcard(name, hasLabelThat(sql`true`)) ?? has(name, project),
    /** The ids of the items that have it. */
    idsOf: (name: string, project?: LabelContainer): Rows => sql`(
      select ${sql.ref(`t.${kind.column}`)} as id
      from labels l join label_links t on t.label_id = l.id and ${sql.ref(`t.${kind.column}`)} is not null
      where ${isNamed(name, project)})`,
  };
}
