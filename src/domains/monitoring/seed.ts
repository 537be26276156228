import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize, word } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

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

const CHUNK = 100_000;

/**
 * Every tenth project has one to three integrations, the first of them 30. One alert in four is in the first project, the
 * others in those that have integrations. Four in five are resolved, and half of the others have an assignee. One in ten
 * has three metric images, whose content is not stored.
 */
export const seedAlerts: SeedStep<SeedSize> = {
  name: "alerts",
  tables: ["alerts", "alert_integrations", "alert_assignees", "alert_changes", "alert_metric_images"],
  statements: forProjects(({ projects, trial }) => [
    { text: PEOPLE },
    { text: INTEGRATIONS },
    { text: WATCHED },
    { text: ALERTS, chunks: { count: projects, size: CHUNK } },
    { text: ALERT_COUNTERS },
    { text: ALERT_ASSIGNEES },
    { text: ALERT_CHANGES },
    // Where people use the database they would see that the pictures are missing.
    ...(trial ? [] : [{ text: ALERT_IMAGES }]),
  ]),
  clear: "truncate alerts, alert_counters, alert_integrations cascade",
};

/** They have no keys, so nobody can report anything with them. */
const INTEGRATIONS = `
  insert into alert_integrations (project_id, type, name, active, endpoint_identifier)
  select id, case when k % 3 = 0 then 'prometheus' else 'http' end, initcap(${word("(id + k)", 131)}) || ' ' || k,
    k % 4 > 0, substr(md5(id || ' ' || k), 1, 16)
  from (select id, row_number() over (order by id) as n from projects) p
    cross join lateral generate_series(1, case when n = 1 then 30 else 1 + ${dice("id", 132)} % 3 end) k
  where n % 10 = 1 order by id, k`;

/** The projects with integrations, numbered from 0, each with the first of those. */
const WATCHED = `
  create temporary table watched as
    select row_number() over (order by project_id) - 1 as place, project_id, min(id) as integration_id
    from alert_integrations group by project_id;
  alter table watched add primary key (place);
  analyze watched`;

const ALERTS = `
  insert into alerts (project_id, integration_id, iid, event_count, status, severity, started_at, ended_at, created_at,
    updated_at, fingerprint, title, description, service, monitoring_tool, hosts, environment_name, grouped_by, payload)
  select project_id, integration_id, k, 1 + ${dice("k", 133)} % 90, status, ${dice("k", 134)} % 6, at,
    case when status = 2 then at + interval '2 hours' end, at, at + interval '2 hours', sha256(k::text::bytea), title,
    case when k % 3 > 0 then 'The ' || ${word("k", 135)} || ' is full' end, ${word("k", 136)},
    case when k % 4 > 0 then 'Prometheus' end, array['host-' || k % 50],
    case when k % 5 > 0 then (array['production', 'staging', 'review'])[1 + k % 3] end,
    jsonb_build_object('title', title), json_build_object('title', title, 'hosts', array['host-' || k % 50])::text
  from (
    select k, '2022-06-01T00:00:00Z'::timestamptz + k * interval '61 seconds' as at,
      case when ${dice("k", 137)} % 5 > 0 then 2 else (array[0, 1, 3])[1 + k % 3] end as status,
      case when k % 4 = 0 then 0 else k % (select count(*) from watched) end as place,
      initcap(${word("k", 138)}) || ' ' || ${word("k", 139)} || ' ' || k as title
    from generate_series($1::bigint, $2::bigint) k
  ) a join watched using (place)`;

const ALERT_COUNTERS =
  "insert into alert_counters (project_id, last_iid) select project_id, max(iid) from alerts group by 1";

const ALERT_ASSIGNEES = `
  insert into alert_assignees (alert_id, user_id)
  select a.id, u.id from alerts a join people u on u.n = 1 + ${dice("a.iid", 140)} % (select count(*) from people)
  where a.status <> 2 and a.iid % 2 = 0`;

const ALERT_CHANGES = `
  insert into alert_changes (alert_id, user_id, action, from_status, to_status, assignee_id, created_at)
  select a.id, null, 'recovered', 0, 2, null, a.ended_at from alerts a where a.status = 2
  union all
  select a.id, t.user_id, 'assigned', null, null, t.user_id, a.updated_at
  from alerts a join alert_assignees t on t.alert_id = a.id`;

const ALERT_IMAGES = `
  insert into alert_metric_images (alert_id, blob, filename)
  select a.id, encode(sha256((a.id || ' ' || n)::bytea), 'hex'), 'chart-' || n || '.png'
  from alerts a cross join generate_series(1, 3) n where a.iid % 10 = 0`;
