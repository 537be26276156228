import { sql } from "kysely";
import { BATCH_ROWS, reassignOfUser, removeOfContainers, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import { EPIC } from "#domains/planning/epics/kind.ts";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import { idsIn, removalsOfItems, removeWhere } from "#domains/planning/items/removals.ts";
import { PLANNED } from "#domains/planning/milestones/merge.ts";
import type { Batch, Deletions } from "#domains/foundation/deletions/deletions.ts";

/** Where issues and epics are, and the tables that name a second one. */
const ITEMS = {
  issues: { kind: ISSUE, container: "project_id", links: "issue_links" },
  epics: { kind: EPIC, container: "group_id", links: "epic_links" },
} as const;

/** Items, labels and milestones; labels and milestones may still be on items of projects that were moved away. */
function ofContainers(items: keyof typeof ITEMS): Batch[] {
  const { kind, container, links } = ITEMS[items];
  const itemIds = idsIn(items, container);
  const labelIds = idsIn("labels", container);
  return [
    removeWhere("epic_issues", kind.column, itemIds),
    // Notes on other items that name one of these.
    removeWhere("notes", kind.otherColumn, itemIds),
    removeWhere(links, "source_id", itemIds),
    removeWhere(links, "target_id", itemIds),
    ...removalsOfItems(kind),
    removeWhere("label_links", "label_id", labelIds),
    removeWhere("label_priorities", "label_id", labelIds),
    removeOfContainers("labels", container),
    ...PLANNED.map((table) => clearMilestones(table, container)),
    removeOfContainers("milestones", container),
  ];
}

const clearMilestones =
  (table: (typeof PLANNED)[number], container: string): Batch =>
  async (tx, containerIds) => {
    const items = sql.table(table);
    const { numAffectedRows = 0n } = await sql`
      update ${items} set milestone_id = null where id = any(array(
        select item.id from milestones m join ${items} item on item.milestone_id = m.id
        where ${sql.ref(`m.${container}`)} = any(${containerIds}::bigint[]) limit ${sql.lit(BATCH_ROWS)}))`.execute(tx);
    return Number(numAffectedRows);
  };

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
    // Links and events may outlive the label that they name.
    "label_links.label_id": "kept",
    "label_events.label_id": "kept",
    // A job takes a deleted milestone from its issues.
    "issues.milestone_id": "kept",
  },
  ofUser: [
    removeOfUser("issue_assignees", "user_id"),
    reassignOfUser("issues", "author_id"),
    reassignOfUser("issues", "closed_by_id"),
    reassignOfUser("epics", "author_id"),
    reassignOfUser("epics", "closed_by_id"),
    reassignOfUser("label_events", "user_id"),
  ],
  ofProjects: ofContainers("issues"),
  ofGroups: ofContainers("epics"),
};
