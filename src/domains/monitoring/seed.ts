import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize } from "#domains/foundation/seed.ts";

/** Every tenth project has settings, one in four of them inactive, and one to three keys; the first has 300. */
export const seedErrorTracking: SeedStep<SeedSize> = {
  name: "error tracking",
  tables: ["error_tracking_settings", "error_tracking_client_keys"],
  statements: forProjects(({ trial }) => [{ text: SETTINGS }, { text: clientKeys(trial) }]),
  clear: "truncate error_tracking_settings, error_tracking_client_keys",
};

const SETTINGS = `
  insert into error_tracking_settings (project_id, active, integrated)
  select id, ${dice("id", 60)} % 4 > 0, true
  from (select id, row_number() over (order by id) as n from projects) numbered where n % 10 = 1`;

/** Where people use the database, nobody may guess a key. */
const clientKeys = (trial: SeedSize["trial"]) => `
  insert into error_tracking_client_keys (project_id, active, public_key)
  select s.project_id, k % 3 > 0, 'flet_' || ${trial ? "md5(gen_random_uuid()::text || gen_random_uuid())" : "md5(s.project_id || ' ' || k)"}
  from (select project_id, row_number() over (order by project_id) as n from error_tracking_settings) s
    cross join lateral generate_series(1, case when n = 1 then 300 else 1 + ${dice("s.project_id", 61)} % 3 end) k
  order by s.project_id, k`;
