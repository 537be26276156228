import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize, word } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

const CHUNK = 100_000;
const ISSUES_FOR_ONE = 10;

/**
 * A merge request for every tenth issue. One in twenty is in the first project, the others in the projects that have
 * labels; two in five are closed, most have a label and a reviewer, and every second one has two comments.
 */
const mergeRequests: SeedStep<SeedSize> = {
  name: "merge requests",
  tables: ["merge_requests", "merge_request_assignees", "merge_request_reviewers", "label_links", "label_events"],
  statements: forProjects(({ projects, issues = projects }) => [
    { text: PEOPLE },
    { text: PLACES },
    { text: MERGE_REQUESTS, chunks: { count: Math.ceil(issues / ISSUES_FOR_ONE), size: CHUNK } },
    { text: COUNTERS },
    { text: peopleIn("merge_request_assignees", 160) },
    { text: peopleIn("merge_request_reviewers", 162) },
    { text: LABEL_LINKS },
    { text: LABEL_EVENTS },
    { text: NOTES },
  ]),
};

export const reviewSeeds = [mergeRequests];

/** The projects that have labels, numbered from 0. */
const PLACES = `
  create temporary table review_places as
    select row_number() over (order by id) - 1 as place, id from (
      select id, row_number() over (order by id) as n from projects) p where n % 10 = 1;
  alter table review_places add primary key (place);
  analyze review_places`;

const personOf = (of: string, salt: number) => `1 + ${dice(of, salt)} % (select count(*) from people)`;

const MERGE_REQUESTS = `
  insert into merge_requests (project_id, iid, author_id, created_at, updated_at, closed_at, closed_by_id, state,
    source_branch, target_branch, title, description, task_count, completed_task_count)
  select p.id, k, a.id, at, at + ${dice("k", 150)} % 30 * interval '1 day',
    case when closed then at + interval '2 days' end, case when closed then a.id end,
    case when closed then 'closed' else 'opened' end, 'topic-' || k, 'main',
    case when k % 9 = 0 then 'Draft: ' else '' end || initcap(${word("k", 151)}) || ' ' || ${word("k", 152)} || ' ' || k,
    case when k % 3 > 0 then 'Mends the ' || ${word("k", 153)} || E'\\n\\n- [ ] look\\n- [x] mend' end,
    case when k % 3 > 0 then 2 else 0 end, case when k % 3 > 0 then 1 else 0 end
  from (
    select k, '2021-06-01T00:00:00Z'::timestamptz + k * interval '710 seconds' as at, ${dice("k", 154)} % 5 < 2 as closed,
      case when k % 20 = 0 then 0 else k % (select count(*) from review_places) end as place,
      ${personOf("k", 155)} as author
    from generate_series($1::bigint, $2::bigint) k
  ) mr join review_places p using (place) join people a on a.n = mr.author`;

const COUNTERS = `
  insert into merge_request_counters (project_id, last_iid)
  select project_id, max(iid) from merge_requests group by 1`;

const peopleIn = (table: string, salt: number) => `
  insert into ${table} (merge_request_id, user_id)
  select mr.id, u.id from merge_requests mr join people u on u.n = ${personOf("mr.iid", salt)}
  where ${dice("mr.iid", salt + 1)} % 10 < 6`;

const LABEL_LINKS = `
  insert into label_links (label_id, merge_request_id)
  select l.id, mr.id from merge_requests mr join labels l on l.project_id = mr.project_id
    and l.name = (array['Backend','Frontend','Review'])[1 + ${dice("mr.iid", 164)} % 3]
  where ${dice("mr.iid", 165)} % 10 < 7`;

const LABEL_EVENTS = `
  insert into label_events (merge_request_id, user_id, label_id, action, created_at)
  select t.merge_request_id, mr.author_id, t.label_id, 'add', mr.created_at
  from label_links t join merge_requests mr on mr.id = t.merge_request_id order by mr.id`;

const NUMBER = "(mr.id * 2 + k)";
const NOTES = `
  insert into notes (merge_request_id, author_id, created_at, updated_at, body)
  select mr.id, u.id, mr.created_at + k * interval '53 minutes', mr.created_at + k * interval '53 minutes',
    'The ' || ${word(NUMBER, 166)} || ' is near the ' || ${word(NUMBER, 167)}
  from merge_requests mr cross join generate_series(1, 2) k join people u on u.n = ${personOf(NUMBER, 168)}
  where mr.id % 2 = 0 order by mr.id, k`;
