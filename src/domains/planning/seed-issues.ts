import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize, word } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

const CHUNK = 100_000;

/**
 * One issue in twenty is in the first project, the others in the projects that have labels. Two in five are closed, one
 * in thirty is confidential; most have labels, an assignee or both. The label events are those that lead to the labels,
 * and for an issue that has no label of its project, pairs that add and remove each.
 */
export const seedIssues: SeedStep<SeedSize> = {
  name: "issues",
  tables: ["issues", "issue_assignees", "label_links", "label_events"],
  statements: forProjects(({ projects, issues = projects }) => [
    { text: PEOPLE },
    { text: PLACES },
    { text: ISSUES, chunks: { count: issues, size: CHUNK } },
    { text: COUNTERS },
    { text: ASSIGNEES },
    { text: LABEL_LINKS },
    { text: LABEL_EVENTS },
  ]),
};

/** The projects that have labels, numbered from 0. */
const PLACES = `
  create temporary table places as
    select row_number() over (order by id) - 1 as place, id from (
      select id, row_number() over (order by id) as n from projects) p where n % 10 = 1;
  alter table places add primary key (place);
  analyze places`;

const personOf = (of: string, salt: number) => `1 + ${dice(of, salt)} % (select count(*) from people)`;

const ISSUES = `
  insert into issues (project_id, iid, relative_position, weight, author_id, created_at, updated_at, closed_at,
    closed_by_id, due_date, state, issue_type, confidential, title, description)
  select p.id, k, k * 1048576, case when ${dice("k", 91)} % 10 < 3 then ${dice("k", 92)} % 9 end, a.id, at,
    at + ${dice("k", 93)} % 90 * interval '1 day', case when closed then at + interval '3 days' end,
    case when closed then a.id end, case when ${dice("k", 94)} % 5 = 0 then at::date + 10 end,
    case when closed then 'closed' else 'opened' end, case when ${dice("k", 106)} % 50 = 7 then 'incident' else 'issue' end, ${dice("k", 107)} % 30 = 11,
    initcap(${word("k", 95)}) || ' ' || ${word("k", 96)} || ' ' || k,
    case when k % 3 > 0 then 'The ' || ${word("k", 97)} || ' of ' || ${word("k", 98)} || E'\\n\\n- [ ] look\\n- [x] mend' end
  from (
    select k, '2021-06-01T00:00:00Z'::timestamptz + k * interval '71 seconds' as at, ${dice("k", 90)} % 5 < 2 as closed,
      case when k % 20 = 0 then 0 else k % (select count(*) from places) end as place, ${personOf("k", 99)} as author
    from generate_series($1::bigint, $2::bigint) k
  ) i join places p using (place) join people a on a.n = i.author`;

const COUNTERS = "insert into issue_counters (project_id, last_iid) select project_id, max(iid) from issues group by 1";

const ASSIGNEES = `
  insert into issue_assignees (issue_id, user_id)
  select i.id, u.id from issues i join people u on u.n = ${personOf("i.iid", 100)} where ${dice("i.iid", 101)} % 10 < 6`;

const hasProjectLabel = `${dice("i.iid", 102)} % 10 < 7`;

const LABEL_LINKS = `
  insert into label_links (label_id, issue_id)
  select l.id, i.id from issues i join labels l on l.project_id = i.project_id
    and l.name = (array['Backend','Frontend','Review'])[1 + ${dice("i.iid", 103)} % 3] where ${hasProjectLabel}
  union all
  select l.id, i.id from issues i join projects p on p.id = i.project_id join namespaces n on n.id = p.namespace_id
    join labels l on l.group_id = n.traversal_ids[1]
      and l.name = (array['Bug','Feature','Urgent','Documentation','Blocked'])[1 + ${dice("i.iid", 104)} % 5]
  where ${dice("i.iid", 105)} % 2 = 0`;

const LABEL_EVENTS = `
  insert into label_events (issue_id, user_id, label_id, action, created_at)
  select * from (
    select t.issue_id, i.author_id, t.label_id, 'add' as action, i.created_at
    from label_links t join issues i on i.id = t.issue_id
    union all
    select i.id, i.author_id, l.id, action, i.updated_at
    from issues i join labels l on l.project_id = i.project_id and l.name in ('Backend', 'Frontend', 'Review')
      cross join unnest(array['add', 'remove']) action
    where not (${hasProjectLabel})
  ) events order by issue_id, created_at, action`;
