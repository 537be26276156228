import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize } from "#domains/foundation/seed.ts";

/**
 * Every top-level group has three milestones and every tenth project three. The first group and the first project have
 * 15,000 more: more than a list sorts. A quarter of the issues has one of the first three of its project, and an
 * eighth one of the top-level group.
 */
export const seedMilestones: SeedStep<SeedSize> = {
  name: "milestones",
  tables: ["milestones"],
  statements: forProjects(() => [
    { text: MILESTONES },
    { text: COUNTERS },
    { text: ISSUES_WITH_OWN },
    { text: ISSUES_WITH_INHERITED },
    // Updated rows stand at the end of the table, where no installation would have them.
    { text: "cluster issues using issues_pkey" },
    { text: "vacuum analyze issues" },
  ]),
  clear: `update issues set milestone_id = null where milestone_id is not null;
    delete from project_milestone_counters; delete from group_milestone_counters; delete from milestones`,
};

/** Two weeks each; every fifth has no dates, and every third is closed. */
const MILESTONES = `
  insert into milestones (group_id, project_id, iid, title, description, state, start_date, due_date, created_at)
  select group_id, project_id, k, word || ' ' || k, case when k % 2 = 1 then 'What is done in ' || word || ' ' || k end,
    case when k % 3 = 0 then 'closed' else 'active' end, case when k % 5 > 0 then day end,
    case when k % 5 > 0 then day + 13 end, '2021-01-01T00:00:00Z'::timestamptz + n * interval '7 minutes'
  from (
    select id as group_id, null::bigint as project_id, n, case n when 1 then 15003 else 3 end as count, 'Release' as word
    from (
      select id, row_number() over (order by id) as n from namespaces where kind = 'group' and parent_id is null
    ) g
    union all
    select null, id, n, case n when 1 then 15003 else 3 end, 'Sprint'
    from (select id, row_number() over (order by id) as n from projects) p where n % 10 = 1
  ) places cross join lateral generate_series(1, count) k
    cross join lateral (select date '2021-01-01' + ((n + k) % 3000)::int as day) days
  order by group_id, project_id, k`;

const COUNTERS = `
  with of_projects as (
    insert into project_milestone_counters (project_id, last_iid)
    select project_id, max(iid) from milestones where project_id is not null group by 1
  ) insert into group_milestone_counters (group_id, last_iid)
  select group_id, max(iid) from milestones where group_id is not null group by 1`;

const ISSUES_WITH_OWN = `
  update issues i set milestone_id = m.id from milestones m
  where m.project_id = i.project_id and m.iid = 1 + ${dice("i.iid", 120)} % 3 and ${dice("i.iid", 121)} % 8 < 2`;

const ISSUES_WITH_INHERITED = `
  update issues i set milestone_id = m.id
  from projects p join namespaces n on n.id = p.namespace_id join milestones m on m.group_id = n.traversal_ids[1]
  where p.id = i.project_id and m.iid = 1 + ${dice("i.iid", 120)} % 3 and ${dice("i.iid", 121)} % 8 = 2`;
