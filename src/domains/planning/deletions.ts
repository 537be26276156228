import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { BATCH_ROWS, reassignBatch, removeBatch } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

type Batch = (tx: Tx, ids: readonly number[]) => Promise<number>;

/** Tables with many rows for one issue or epic go first; the few of the others cascade with it. */
const ofItems = (items: "issues" | "epics", column: "issue_id" | "epic_id", container: string): Batch[] => [
  ...(["award_emoji", "notes", "label_events", "label_links"] as const).map(
    (table) => (tx: Tx, ids: readonly number[]) =>
      removeBatch(
        tx,
        table,
        sql`${sql.ref(column)} in (select id from ${sql.table(items)} where ${sql.ref(container)} = any(${ids}::bigint[]))`,
      ),
  ),
  removeWhere(items, sql.ref(container)),
  // Items of projects that were moved away may still have its labels.
  (tx, ids) =>
    removeBatch(
      tx,
      "label_links",
      sql`label_id in (select id from labels where ${sql.ref(container)} = any(${ids}::bigint[]))`,
    ),
  removeWhere("labels", sql.ref(container)),
  // Or its milestones.
  async (tx, ids) => {
    const { numAffectedRows = 0n } = await sql`
      update issues set milestone_id = null where id = any(array(
        select i.id from milestones m join issues i on i.milestone_id = m.id
        where ${sql.ref(`m.${container}`)} = any(${ids}::bigint[]) limit ${sql.lit(BATCH_ROWS)}))`.execute(tx);
    return Number(numAffectedRows);
  },
  removeWhere("milestones", sql.ref(container)),
];

const removeWhere =
  (table: keyof Database, column: RawBuilder<unknown>): Batch =>
  (tx, ids) =>
    removeBatch(tx, table, sql`${column} = any(${ids}::bigint[])`);

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
    (tx, { id }) => removeBatch(tx, "issue_assignees", sql`user_id = ${id}`),
    (tx, { id }) => removeBatch(tx, "todos", sql`user_id = ${id}`),
    (tx, { id }) => removeBatch(tx, "award_emoji", sql`user_id = ${id}`),
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
  ofProjects: ofItems("issues", "issue_id", "project_id"),
  ofGroups: ofItems("epics", "epic_id", "group_id"),
};
