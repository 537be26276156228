import { type RawBuilder, sql } from "kysely";

/** The tables of counters, and the columns that name their containers. */
const COUNTERS = {
  issue: ["issue_counters", "project_id"],
  epic: ["epic_counters", "group_id"],
  "merge request": ["merge_request_counters", "project_id"],
  "milestone of a project": ["project_milestone_counters", "project_id"],
  "milestone of a group": ["group_milestone_counters", "group_id"],
} as const;

/**
 * A statement that returns the next number of a project's issues or merge requests, a group's epics or the milestones of either as `iid`;
 * one that the caller chose is returned as it is, and the following ones are greater. It locks the counter until the
 * commit, so it is part of the last statement of a transaction: `with counter as (…) insert into issues …`.
 */
export function takeIid(
  kind: keyof typeof COUNTERS,
  containerId: number,
  chosen?: number,
): RawBuilder<{ iid: number }> {
  const [table, column] = COUNTERS[kind];
  const [counters, container] = [sql.table(table), sql.ref(column)];
  return chosen === undefined
    ? sql`insert into ${counters} as c (${container}, last_iid) values (${containerId}, 1)
        on conflict (${container}) do update set last_iid = c.last_iid + 1 returning last_iid as iid`
    : sql`insert into ${counters} as c (${container}, last_iid) values (${containerId}, ${chosen})
        on conflict (${container}) do update set last_iid = greatest(c.last_iid, excluded.last_iid)
        returning ${chosen}::integer as iid`;
}
