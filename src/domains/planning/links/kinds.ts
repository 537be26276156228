import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Epic } from "#domains/planning/epics/entity.ts";
import { type EpicRow, visibleEpics } from "#domains/planning/epics/queries.ts";
import { epicViews } from "#domains/planning/epics/views.ts";
import { EPIC } from "#domains/planning/epics/kind.ts";
import type { ItemKind } from "#domains/planning/items/item.ts";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import type { Answer } from "#domains/planning/items/answer.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import type { Issue, SingleIssue } from "#domains/planning/issues/entity.ts";
import { type IssueRow, issues } from "#domains/planning/issues/queries.ts";
import { issueViews, singleIssueViews } from "#domains/planning/issues/views.ts";

/** The caller, and where links of references lead. */
export interface Viewer extends Answer {
  readonly actor: Actor | null;
  readonly site: string;
  readonly project?: { readonly id: number };
  readonly group?: { readonly id: number };
}

/** What links need to know of issues or epics; everything else about links is the same for both. */
export interface LinkKind<Row extends LinkedItem = LinkedItem, View = unknown> {
  readonly item: ItemKind;
  readonly links: "issue_links" | "epic_links";
  /** Whether an actor may see the item whose id a column holds. */
  isVisible(column: string, actor: Actor | null): RawBuilder<boolean>;
  /** Those of some items that an actor may see, in no order. */
  visible(db: Db, actor: Actor | null, ids: readonly number[]): Promise<Row[]>;
  /** Whether two items are parent and child, which cannot be linked as well. */
  isFamily(one: Row, other: Row): boolean;
  /** Presents items in the order of the rows. */
  views(db: Db, rows: readonly Row[], viewer: Viewer): Promise<View[]>;
}

export interface LinkedItem {
  readonly id: number;
  readonly iid: number;
}

export const ISSUES: LinkKind<IssueRow, Issue> = {
  item: ISSUE,
  links: "issue_links",
  isVisible: (column, actor) => sql`exists (
    select from issues i join projects p on p.id = i.project_id
    where i.id = ${sql.ref(column)} and ${issueVisibleTo(actor)})`,
  visible: (db, actor, ids) =>
    issues(db)
      .innerJoin("projects as p", "p.id", "i.project_id")
      .where("i.id", "=", sql<number>`any(${ids}::bigint[])`)
      .where(issueVisibleTo(actor))
      .execute(),
  isFamily: () => false,
  views: issueViews,
};

/** The same with what depends on the caller. */
export const SINGLE_ISSUES: LinkKind<IssueRow, SingleIssue> = { ...ISSUES, views: singleIssueViews };

export const EPICS: LinkKind<EpicRow, Epic> = {
  item: EPIC,
  links: "epic_links",
  isVisible: (column, actor) => sql`exists (
    select from epics e join namespaces n on n.id = e.group_id
    where e.id = ${sql.ref(column)} and ${epicVisibleTo(actor)})`,
  visible: (db, actor, ids) =>
    visibleEpics(db, actor)
      .where("e.id", "=", sql<number>`any(${ids}::bigint[])`)
      .execute(),
  isFamily: (one, other) => one.parent_id === other.id || other.parent_id === one.id,
  views: epicViews,
};
