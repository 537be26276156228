import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";

/** An epic has at most so many levels below and above it, its own included. */
export const MAX_LEVELS = 7;

/** How many child epics, and how many issues, are looked at for the dates of one epic; the nearest come first. */
const MAX_CHILDREN = 1000;
const MAX_ISSUES = 5000;

export interface InheritedDates {
  readonly id: number;
  readonly start_date: string | null;
  readonly due_date: string | null;
}

/**
 * The dates that epics inherit, by id: the first start date and the last due date of their issues and child epics.
 * A child with a fixed date counts with it, any other with what it inherits in turn. What the actor may not see is
 * left out with all below it, so that its dates are not told.
 */
export async function inheritedDates(
  db: Db,
  ids: readonly number[],
  actor: Actor | null,
): Promise<Map<number, InheritedDates>> {
  const { rows } = await sql<InheritedDates>`
    select root.id, dates.start_date, dates.due_date
    from unnest(${ids}::bigint[]) root (id) cross join lateral (
      with recursive below as (
        select root.id, 1 as level, true as start_open, true as due_open, null::date as start_date, null::date as due_date
        union all
        select e.id, b.level + 1, b.start_open and not e.start_date_is_fixed, b.due_open and not e.due_date_is_fixed,
          case when b.start_open and e.start_date_is_fixed then e.start_date_fixed end,
          case when b.due_open and e.due_date_is_fixed then e.due_date_fixed end
        from below b join epics e on e.parent_id = b.id join namespaces n on n.id = e.group_id
        where b.level < ${sql.lit(MAX_LEVELS)} and (b.start_open or b.due_open) and ${epicVisibleTo(actor)}
      ), tree as materialized (select * from below limit ${sql.lit(MAX_CHILDREN + 1)}),
      inside as materialized (
        select t.start_open, t.due_open, l.issue_id from tree t join epic_issues l on l.epic_id = t.id
        where t.start_open or t.due_open limit ${sql.lit(MAX_ISSUES)})
      select min(start_date) as start_date, max(due_date) as due_date from (
        select start_date, due_date from tree
        union all
        select case when m.start_open then i.start_date end, case when m.due_open then i.due_date end
        from inside m join issues i on i.id = m.issue_id join projects p on p.id = i.project_id
        where (i.start_date is not null or i.due_date is not null) and ${issueVisibleTo(actor)}
      ) found
    ) dates`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
