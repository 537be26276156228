import { type RawBuilder, sql } from "kysely";

/**
 * A statement that returns the next number of a project's issues or a group's epics as `iid`; one that the caller chose
 * is returned as it is, and the following ones are greater. It locks the counter until the commit, so it is part of the
 * last statement of a transaction: `with counter as (…) insert into issues …`.
 */
export function takeIid(kind: "issue" | "epic", containerId: number, chosen?: number): RawBuilder<{ iid: number }> {
  const [counters, container] =
    kind === "issue"
      ? [sql.table("issue_counters"), sql.ref("project_id")]
      : [sql.table("epic_counters"), sql.ref("group_id")];
  return chosen === undefined
    ? sql`insert into ${counters} as c (${container}, last_iid) values (${containerId}, 1)
        on conflict (${container}) do update set last_iid = c.last_iid + 1 returning last_iid as iid`
    : sql`insert into ${counters} as c (${container}, last_iid) values (${containerId}, ${chosen})
        on conflict (${container}) do update set last_iid = greatest(c.last_iid, excluded.last_iid)
        returning ${chosen}::integer as iid`;
}
