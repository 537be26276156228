import type { SeedStep } from "#db/seed.ts";
import { forProjects, type SeedSize } from "#domains/foundation/seed.ts";

/**
 * Every second assignee of an issue has a to-do about it, a third of which are done. Root was mentioned in every twentieth
 * issue and every second epic: at the largest size in more than a list sorts.
 */
export const seedTodos: SeedStep<SeedSize> = {
  name: "todos",
  tables: ["todos"],
  statements: forProjects(() => [
    { text: ASSIGNED },
    { text: mentionedIn("issues", 20) },
    { text: mentionedIn("epics", 2) },
    { text: "analyze todos" },
  ]),
  clear: "truncate todos",
};

const ASSIGNED = `
  insert into todos (user_id, author_id, issue_id, action, state, created_at, updated_at)
  select a.user_id, i.author_id, i.id, 'assigned', case when i.id % 6 = 0 then 'done' else 'pending' end,
    i.created_at, i.created_at
  from issue_assignees a join issues i on i.id = a.issue_id where i.id % 2 = 0 order by i.id`;

const mentionedIn = (items: "issues" | "epics", each: number) => `
  insert into todos (user_id, author_id, ${items === "issues" ? "issue_id" : "epic_id"}, action, created_at, updated_at)
  select r.id, i.author_id, i.id, 'mentioned', i.created_at, i.created_at
  from ${items} i cross join (select id from users where admin order by id limit 1) r
  where i.id % ${each} = 0 order by i.id`;
