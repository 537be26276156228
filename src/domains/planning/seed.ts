import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize } from "#domains/foundation/seed.ts";
import { seedEpics } from "./seed-epics.ts";
import { seedIssues } from "./seed-issues.ts";
import { seedLinks } from "./seed-links.ts";
import { seedMilestones } from "./seed-milestones.ts";
import { seedNotes } from "./seed-notes.ts";
import { seedTodos } from "./seed-todos.ts";

/**
 * Every top-level group has five labels and every tenth project three, of which the first has a priority. The first
 * group has 500 more and the first project 15,000: more than a list sorts.
 */
const labels: SeedStep<SeedSize> = {
  name: "labels",
  tables: ["labels", "label_priorities"],
  statements: forProjects(() => [{ text: LABELS }, { text: PRIORITIES }]),
};

export const planningSeeds = [labels, seedIssues, seedEpics, seedLinks, seedMilestones, seedNotes, seedTodos];

const COLORS = "array['#d9534f','#f0ad4e','#5cb85c','#428bca','#7f8c8d']";

const LABELS = `
  insert into labels (group_id, project_id, name, description, color, archived, created_at)
  select group_id, project_id, coalesce((names)[k], 'Area ' || k), case when k % 3 = 1 then 'What is ' || (names)[k] end,
    (${COLORS})[1 + ${dice("n", 80)} % 5], ${dice("(n + k)", 81)} % 20 = 7,
    '2021-01-01T00:00:00Z'::timestamptz + n * interval '7 minutes'
  from (
    select id as group_id, null::bigint as project_id, n, case n when 1 then 505 else 5 end as count,
      array['Bug','Feature','Urgent','Documentation','Blocked'] as names
    from (
      select id, row_number() over (order by id) as n from namespaces where kind = 'group' and parent_id is null
    ) g
    union all
    select null, id, n, case n when 1 then 15003 else 3 end, array['Backend','Frontend','Review']
    from (select id, row_number() over (order by id) as n from projects) p where n % 10 = 1
  ) places cross join lateral generate_series(1, count) k
  order by group_id, project_id, k`;

const PRIORITIES = `
  insert into label_priorities (project_id, label_id, priority)
  select project_id, min(id), ${dice("project_id", 82)} % 10 from labels where project_id is not null group by project_id`;
