import type { SeedStep } from "#db/seed.ts";
import { dice, type SeedSize } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

/** As many audit events as users, in the current month: half concern users, the others groups and projects. */
export const seedAuditEvents: SeedStep<SeedSize> = {
  name: "audit events",
  tables: ["audit_events"],
  statements: ({ users, projects }) =>
    users === 0 || projects === 0
      ? []
      : [{ text: PEOPLE }, { text: PLACES }, { text: AUDIT_EVENTS, chunks: { count: users, size: 100_000 } }],
};

const PLACES = `
  create temporary table places as
    select row_number() over (order by type, id) as n, type, id from (
      (select 'Group' as type, id from namespaces where kind = 'group' order by id limit 10000)
      union all (select 'Project', id from projects order by id limit 100000)
    ) listed;
  alter table places add primary key (n);
  analyze places`;

const AUDIT_EVENTS = `
  insert into audit_events (created_at, event, actor_id, actor_name, entity_type, entity_id, target_type, target_id,
    target_name, request_id)
  select date_trunc('month', now()) + (now() - date_trunc('month', now())) * (${dice("k", 50)} % 1000000 / 1000000.0),
    case when k % 2 = 0 then 'user.update' when type = 'Group' then 'group.update' else 'project.update' end,
    p.id, 'Person ' || p.n, case when k % 2 = 0 then 'User' else type end, case when k % 2 = 0 then p.id else places.id end,
    case when k % 2 = 0 then 'User' else type end, case when k % 2 = 0 then p.id else places.id end, 'Seed ' || k, 'seed'
  from generate_series($1::bigint, $2::bigint) k
  join people p on p.n = 1 + ${dice("k", 51)} % (select count(*) from people)
  join places on places.n = 1 + ${dice("k", 52)} % (select count(*) from places)`;
