import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

/** Every twentieth project has a cluster, one in ten of these a second; the first has 300. None has a token. */
export const seedClusters: SeedStep<SeedSize> = {
  name: "clusters",
  tables: ["clusters"],
  statements: forProjects(() => [{ text: PEOPLE }, { text: CLUSTERS }]),
  clear: "truncate clusters",
};

const CLUSTERS = `
  insert into clusters (project_id, user_id, name, environment_scope, api_url, enabled, created_at)
  select pr.id, p.id, 'Cluster ' || pr.n || case when k > 1 then ' ' || k else '' end,
    case when k = 1 then '*' else 'review/' || k end, 'https://k8s-' || pr.n || '.example.com', ${dice("pr.id", 70)} % 8 > 0,
    '2021-01-01T00:00:00Z'::timestamptz + pr.n * interval '7 minutes'
  from (select id, row_number() over (order by id) as n from projects) pr
    join people p on p.n = 1 + pr.n * 7919 % (select count(*) from people)
    cross join lateral generate_series(1, case when pr.n = 1 then 300 when pr.n % 200 = 1 then 2 else 1 end) k
  where pr.n % 20 = 1
  order by pr.id, k`;
