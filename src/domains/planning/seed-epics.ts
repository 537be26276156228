import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize, word } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";
import { LARGEST_GROUP } from "#domains/organization/seed-statements.ts";

/**
 * One epic for every ten issues: half of them in the largest group, which is more than a list sorts, the others in every
 * second group. Some have child epics and issues, a third has a label of the top-level group, and some had another one
 * before.
 */
export const seedEpics: SeedStep<SeedSize> = {
  name: "epics",
  tables: ["epics", "epic_counters", "epic_issues", "label_links", "label_events"],
  statements: forProjects(({ projects, issues = projects }) => [
    { text: PEOPLE },
    { text: EPICS, values: [Math.max(Math.floor(issues / 20), 30), Math.ceil(issues / projects)] },
    { text: COUNTERS },
    { text: PARENTS },
    { text: ISSUES },
    { text: LABELS },
    { text: LABEL_EVENTS },
    { text: "analyze epics" },
  ]),
};

const CREATED_AT = "'2021-01-01T00:00:00Z'::timestamptz + k * interval '3 minutes' + g.n * interval '1 second'";

const EPICS = `
  insert into epics (group_id, iid, author_id, created_at, updated_at, closed_at, state, confidential, title, description,
    start_date_is_fixed, start_date_fixed, due_date_is_fixed, due_date_fixed)
  select g.id, k, p.id, ${CREATED_AT}, ${CREATED_AT} + ${dice("(k + g.n)", 91)} % 1000 * interval '1 minute',
    case when k % 4 = 1 then ${CREATED_AT} + interval '1 day' end, case when k % 4 = 1 then 'closed' else 'opened' end,
    k % 10 = 3 and k % 7 = 0, initcap(${word("(k + g.n)", 92)}) || ' of the ' || ${word("(k + g.n)", 93)} || ' ' || k,
    case when k % 2 = 0 then 'From the ' || ${word("(k * 3 + g.n)", 94)} || ' to the ' || ${word("(k * 5 + g.n)", 95)} end,
    k % 5 = 2, case when k % 5 = 2 then date '2021-01-01' + (k % 700)::int end,
    k % 6 = 2, case when k % 6 = 2 then date '2021-02-01' + (k % 900)::int end
  from (
      select id, row_number() over (order by id) as n, path = '${LARGEST_GROUP}' and parent_id is null as is_largest
      from namespaces where kind = 'group'
    ) g
    cross join lateral generate_series(1, case when g.is_largest then $1::int else g.n % 2 * $2::int end) k
    join people p on p.n = 1 + (g.n * 7919 + k * 13) % (select count(*) from people)
  order by g.id, k`;

const COUNTERS = `insert into epic_counters (group_id, last_iid) select group_id, max(iid) from epics group by group_id`;

/** The first three of every ten are below the tenth before them, and every other tenth below a hundredth. */
const PARENTS = `
  update epics c set parent_id = p.id, relative_position = c.iid::bigint * 1048576
  from epics p
  where p.group_id = c.group_id and p.iid = case when c.iid % 10 in (1, 2, 3) then c.iid - c.iid % 10
    when c.iid % 20 = 10 then c.iid - c.iid % 100 end`;

const ISSUES = `
  insert into epic_issues (epic_id, issue_id, relative_position)
  select e.id, i.id, i.iid::bigint * 1048576
  from projects p
    join epic_counters c on c.group_id = p.namespace_id
    join epics e on e.group_id = p.namespace_id and e.iid = 1 + p.id % least(c.last_iid, 1000) and not e.confidential
    join issues i on i.project_id = p.id and i.iid % 5 = 0 and i.iid <= 500
  on conflict do nothing`;

/** The label of the top-level group that every third epic has; epics before which it had another have one event more. */
const LABELLED = `
  from epics e join namespaces n on n.id = e.group_id
    join labels l on l.group_id = n.traversal_ids[1] and l.name = (array['Bug','Feature','Urgent'])[1 + e.iid % 3]
  where e.id % 3 = 0`;

const LABELS = `insert into label_links (label_id, epic_id) select l.id, e.id ${LABELLED}`;

const LABEL_EVENTS = `
  insert into label_events (epic_id, user_id, label_id, action, created_at)
  select epic_id, user_id, label_id, action, created_at from (
    select e.id as epic_id, e.author_id as user_id, l.id as label_id, 'add' as action, e.created_at, 3 as rank ${LABELLED}
    union all
    select e.id, e.author_id, l.id, action, e.created_at, rank
    from epics e join namespaces n on n.id = e.group_id
      join labels l on l.group_id = n.traversal_ids[1] and l.name = 'Blocked'
      cross join (values ('add', 1), ('remove', 2)) before (action, rank)
    where e.id % 9 = 0
  ) events order by created_at, epic_id, rank`;
