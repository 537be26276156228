import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize } from "#domains/foundation/seed.ts";
import { COUNTS } from "#domains/activity/calendar/rollup.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

const MONTHS = 24;
const CHUNK = 250_000;
/** For each issue that there is. */
const PUSHES = 2;

/**
 * An event for every project, issue, merge request and comment, and two pushes for every issue, spread over the last two
 * years. The projects and authors are those of the issues, and half of the pushes go to one project in a hundred.
 */
const events: SeedStep<SeedSize> = {
  name: "events",
  tables: ["events"],
  statements: forProjects(({ projects, issues = projects }) => [
    { text: PEOPLE },
    { text: PARTITIONS },
    { text: CREATED },
    { text: OF_ISSUES },
    { text: OF_MERGE_REQUESTS },
    { text: OF_NOTES },
    { text: PUSHED, chunks: { count: issues * PUSHES, size: CHUNK } },
  ]),
  clear: "truncate events",
};

/** The counts of the calendars, as the nightly job makes them. */
const contributions: SeedStep<SeedSize> = {
  name: "contributions",
  tables: ["contributions"],
  statements: forProjects(() => [{ text: COUNTS, values: ["-infinity", "yesterday"] }]),
  clear: "truncate contributions",
};

export const activitySeeds = [events, contributions];

const FIRST = `date_trunc('month', now()) - interval '${MONTHS} months'`;

const PARTITIONS = `
  do $$
  declare
    month timestamptz;
    partition text;
  begin
    for month in select generate_series(${FIRST}, now(), interval '1 month') loop
      partition := 'events_' || to_char(month at time zone 'UTC', 'YYYY_MM');
      if to_regclass(partition) is null then
        execute format('create table %I partition of events for values from (%L) to (%L)', partition, month,
          month + interval '1 month');
      end if;
    end loop;
  end $$`;

const at = (of: string, salt: number) => `${FIRST} + (now() - (${FIRST})) * (${dice(of, salt)} % 1000000 / 1000000.0)`;

const INSERT = "insert into events (project_id, author_id, action, target_type, target_id, created_at)";

const CREATED = `${INSERT}
  select p.id, p.creator_id, 1, null::text, null::bigint, ${at("p.id", 200)} from projects p where p.creator_id is not null
  union all
  select p.id, u.id, 8, null, null, ${at("p.id", 201)} from projects p
    join people u on u.n = 1 + ${dice("p.id", 202)} % (select count(*) from people)`;

const OF_ISSUES = `${INSERT}
  select i.project_id, i.author_id, 1, 'Issue', i.id, ${at("i.id", 203)} from issues i
  union all
  select i.project_id, i.closed_by_id, 3, 'Issue', i.id, ${at("i.id", 204)} from issues i where i.closed_by_id is not null`;

const OF_MERGE_REQUESTS = `${INSERT}
  select mr.project_id, mr.author_id, 1, 'MergeRequest', mr.id, ${at("mr.id", 210)} from merge_requests mr
  union all
  select mr.project_id, mr.closed_by_id, 3, 'MergeRequest', mr.id, ${at("mr.id", 211)}
  from merge_requests mr where mr.closed_by_id is not null`;

const OF_NOTES = `${INSERT}
  select coalesce(i.project_id, mr.project_id), n.author_id, 6, 'Note', n.id, ${at("n.id", 205)}
  from notes n left join issues i on i.id = n.issue_id left join merge_requests mr on mr.id = n.merge_request_id
  where n.epic_id is null and not n.system and n.author_id is not null`;

const PUSHED = `
  insert into events (project_id, author_id, action, push_action, ref_type, ref, commit_from, commit_to, commit_count,
    commit_title, created_at)
  select p.id, u.id, 5, 'pushed', 'branch', 'main', md5('from ' || k), md5('to ' || k), 1 + ${dice("k", 206)} % 5,
    'Mend leak ' || k, ${at("k", 207)}
  from (
    select k, 1 + ${dice("k", 208)} % case k % 2 when 0 then greatest(count / 100, 1) else count end as place,
      1 + ${dice("k", 209)} % (select count(*) from people) as author
    from generate_series($1::bigint, $2::bigint) k, (select count(*) from projects) c (count)
  ) push
  join (select id, row_number() over (order by id) as place from projects) p using (place)
  join people u on u.n = push.author`;
