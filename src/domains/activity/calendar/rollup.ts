import { CompiledQuery, sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import { removeBatch } from "#domains/foundation/deletions/batches.ts";
import { ACTIONS } from "#domains/foundation/events/record.ts";

/** How many days the calendar shows, today included. */
export const DAYS = 366;

/** Today in UTC, as all days of events are. */
export const TODAY = sql<string>`(now() at time zone 'UTC')::date`;

/** The first day whose events are not counted yet, within the days that the calendar shows. */
export const FIRST_UNCOUNTED = sql<string>`greatest(
  (select max(day) + 1 from contributions), ${TODAY} - ${sql.lit(DAYS - 1)})`;

/** The days that are over and whose events are not counted yet. */
export async function uncountedDays(db: Db): Promise<string[]> {
  const { rows } = await sql<{ day: string }>`
    select to_char(day, 'YYYY-MM-DD') as day
    from generate_series(${FIRST_UNCOUNTED}, ${TODAY} - 1, interval '1 day') day order by 1`.execute(db);
  return rows.map(({ day }) => day);
}

/** What somebody must be able to see to see the event; null if it is about something that is gone. */
const REQUIRES = `case
  when ev.action = ${ACTIONS.pushed} then 'repository'
  when ev.target_type is null then 'project'
  when ev.target_type = 'Milestone' then 'issues'
  when ev.target_type = 'MergeRequest' then (
    select 'merge_requests' from merge_requests mr where mr.id = ev.target_id)
  when ev.target_type = 'Issue' then (
    select case when i.confidential then 'confidential' else 'issues' end from issues i where i.id = ev.target_id)
  when ev.target_type = 'Note' then (
    select case
      when note.internal or i.confidential then 'confidential'
      when note.merge_request_id is not null then 'merge_requests'
      when i.id is not null then 'issues' end
    from notes note left join issues i on i.id = note.issue_id where note.id = ev.target_id)
end`;

/** Counts the events from the day `$1` to the day `$2`; those of groups are in no calendar. */
export const COUNTS = `
  insert into contributions (author_id, day, project_id, requires, count)
  select author_id, day, project_id, requires, count(*)
  from (
    select ev.author_id, (ev.created_at at time zone 'UTC')::date as day, ev.project_id, ${REQUIRES} as requires
    from events ev
    where ev.created_at >= $1::date::timestamp at time zone 'UTC'
      and ev.created_at < ($2::date + 1)::timestamp at time zone 'UTC'
      and ev.project_id is not null
  ) counted
  where requires is not null
  group by author_id, day, project_id, requires`;

/** Counts the events of a day, which may have been counted before. */
export async function countDay(tx: Tx, day: string): Promise<void> {
  await sql`delete from contributions where day = ${day}`.execute(tx);
  await tx.executeQuery(CompiledQuery.raw(COUNTS, [day, day]));
}

/** Removes the counts of days that no calendar shows any more. */
export const removeOldCounts = (tx: Tx): Promise<number> =>
  removeBatch(tx, "contributions", sql`day < ${TODAY} - ${sql.lit(DAYS)}`);
