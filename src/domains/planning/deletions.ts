import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { BATCH_ROWS, reassignBatch, removeBatch } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

type Batch = (tx: Tx, ids: readonly number[]) => Promise<number>;

/** What issues and epics are called in the tables that refer to them. */
const ITEMS = {
  issues: { id: "issue_id", other: "other_issue_id", container: "project_id", links: "issue_links" },
  epics: { id: "epic_id", other: "other_epic_id", container: "group_id", links: "epic_links" },
} as const;

const removeWhere =
  (table: keyof Database, column: string, ids: (containerIds: readonly number[]) => RawBuilder<unknown>): Batch =>
  (tx, containerIds) =>
    removeBatch(tx, table, sql`${sql.ref(column)} in (${ids(containerIds)})`);

/**
 * Whatever refers to the items of deleted containers goes first, so that no batch of items takes a multiple of its rows
 * along. Items, labels and milestones follow; labels and milestones may still be on items of projects that were moved away.
 */
function ofContainers(items: keyof typeof ITEMS): Batch[] {
  const { id, other, container, links } = ITEMS[items];
  const idsIn = (table: "issues" | "epics" | "labels") => (containerIds: readonly number[]) =>
    sql`select id from ${sql.table(table)} where ${sql.ref(container)} = any(${containerIds}::bigint[])`;
  const notesOn = (containerIds: readonly number[]) =>
    sql`select id from notes where ${sql.ref(id)} in (${idsIn(items)(containerIds)})`;
  const own = (containerIds: readonly number[]) => sql`select unnest(${containerIds}::bigint[])`;
  return [
    removeWhere("award_emoji", "note_id", notesOn),
    ...(["award_emoji", "todos", "subscriptions", "notes", "label_events", "label_links", "epic_issues"] as const).map(
      (table) => removeWhere(table, id, idsIn(items)),
    ),
    ...(items === "issues" ? [removeWhere("issue_assignees", id, idsIn(items))] : []),
    // Notes on other items that name one of these.
    removeWhere("notes", other, idsIn(items)),
    removeWhere(links, "source_id", idsIn(items)),
    removeWhere(links, "target_id", idsIn(items)),
    removeWhere(items, container, own),
    removeWhere("label_links", "label_id", idsIn("labels")),
    removeWhere("label_priorities", "label_id", idsIn("labels")),
    removeWhere("labels", container, own),
    (tx, containerIds) => clearMilestones(tx, container, containerIds),
    removeWhere("milestones", container, own),
    removeWhere("notification_settings", container, own),
  ];
}

async function clearMilestones(tx: Tx, container: string, containerIds: readonly number[]): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update issues set milestone_id = null where id = any(array(
      select i.id from milestones m join issues i on i.milestone_id = m.id
      where ${sql.ref(`m.${container}`)} = any(${containerIds}::bigint[]) limit ${sql.lit(BATCH_ROWS)}))`.execute(tx);
  return Number(numAffectedRows);
}

export const planningDeletions: Deletions = {
  columns: {
    "labels.project_id": "removed first",
    "labels.group_id": "removed first",
    "label_priorities.project_id": "cascade",
    "issue_counters.project_id": "cascade",
    "epic_counters.group_id": "cascade",
    "milestones.project_id": "removed first",
    "milestones.group_id": "removed first",
    "project_milestone_counters.project_id": "cascade",
    "group_milestone_counters.group_id": "cascade",
    "issues.project_id": "removed first",
    "issues.author_id": "moved to the ghost user",
    "issues.closed_by_id": "moved to the ghost user",
    "issue_assignees.user_id": "removed first",
    "epics.group_id": "removed first",
    "epics.author_id": "moved to the ghost user",
    "epics.closed_by_id": "moved to the ghost user",
    "label_events.user_id": "moved to the ghost user",
    "todos.user_id": "removed first",
    "todos.author_id": "moved to the ghost user",
    "notification_settings.user_id": "removed first",
    "notification_settings.group_id": "removed first",
    "notification_settings.project_id": "removed first",
    "subscriptions.user_id": "removed first",
    "mail_counts.author_id": "cascade",
    "notes.author_id": "moved to the ghost user",
    "award_emoji.user_id": "removed first",
    // Links and events may outlive the label that they name.
    "label_links.label_id": "kept",
    "label_events.label_id": "kept",
    // A job takes a deleted milestone from its issues.
    "issues.milestone_id": "kept",
    // A discussion keeps its id when the note that began it is deleted.
    "notes.discussion_id": "kept",
  },
  ofUser: [
    ...(["issue_assignees", "todos", "award_emoji", "notification_settings", "subscriptions"] as const).map(
      (table): NonNullable<Deletions["ofUser"]>[number] =>
        (tx, { id }) =>
          removeBatch(tx, table, sql`user_id = ${id}`),
    ),
    ...(
      [
        ["issues", "author_id"],
        ["issues", "closed_by_id"],
        ["epics", "author_id"],
        ["epics", "closed_by_id"],
        ["label_events", "user_id"],
        ["todos", "author_id"],
        ["notes", "author_id"],
      ] as const
    ).map(
      ([table, column]): NonNullable<Deletions["ofUser"]>[number] =>
        (tx, { id, newOwnerId }) =>
          reassignBatch(tx, table, column, id, newOwnerId),
    ),
  ],
  ofProjects: ofContainers("issues"),
  ofGroups: ofContainers("epics"),
};
