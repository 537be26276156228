import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { isVisible, LOOKED_UP, rightsByProject } from "#domains/activity/events/visibility.ts";
import { DAYS, FIRST_UNCOUNTED, TODAY } from "./rollup.ts";

export interface ContributionDay {
  readonly date: string;
  readonly count: number;
}

/** Somebody who works in very many projects, as a bot may, has the latest of their counts only. */
const MAX_COUNTS = 20_000;
const MAX_EVENTS = 10_000;

/** How many events by an author an actor may see on each day of the last year; days without any are left out. */
export async function contributionsOf(db: Db, authorId: number, actor: Actor): Promise<ContributionDay[]> {
  const { rows } = await sql<ContributionDay>`
    with of_past_days as (
      select day, project_id, requires, count from contributions
      where author_id = ${authorId} and day > ${TODAY} - ${sql.lit(DAYS)}
      order by day desc limit ${sql.lit(MAX_COUNTS)}
    ), visible as (
      select c.day, c.count from of_past_days c
      join ${rightsByProject(actor, "c.project_id")} on true
      where ${isCountVisible(authorId === actor.user.id)}
      union all
      (select (ev.created_at at time zone 'UTC')::date, 1 from events ev
      join ${rightsByProject(actor, "ev.project_id")} on true
      where ev.author_id = ${authorId} and ev.created_at >= ${FIRST_UNCOUNTED}::timestamp at time zone 'UTC'
        and ${isVisible(actor, LOOKED_UP)}
      limit ${sql.lit(MAX_EVENTS)})
    )
    select to_char(day, 'YYYY-MM-DD') as date, sum(count)::integer as count
    from visible group by day order by day`.execute(db);
  return rows;
}

/** Whether an actor may see the events that the row of `contributions as c` counts. */
const isCountVisible = (isOwn: boolean): RawBuilder<boolean> => sql`case c.requires
  when 'project' then ${LOOKED_UP.project}
  when 'repository' then ${LOOKED_UP.repository}
  when 'issues' then ${LOOKED_UP.issues}
  when 'merge_requests' then ${LOOKED_UP.mergeRequests}
  else ${LOOKED_UP.project} and (${LOOKED_UP.confidential} or ${sql.lit(isOwn)}) end`;
