import type { SeedStep } from "#db/seed.ts";
import { forProjects, type SeedSize } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

/**
 * A deploy key for every tenth project: most are enabled in one project, one in ten in two; one in a hundred is public
 * and enabled in twenty, the first of these in one project in forty.
 */
export const seedDeployKeys: SeedStep<SeedSize> = {
  name: "deploy keys",
  tables: ["keys", "deploy_keys_projects"],
  statements: forProjects(({ projects }) => [
    { text: PEOPLE },
    { text: DEPLOY_KEYS, values: [Math.floor(projects / 10)] },
  ]),
  clear: "delete from keys where kind = 'deploy'",
};

const DEPLOY_KEYS = `
  with bounds as (
    select min(id) as first, count(*) as projects, (select count(*) from people) as people from projects
  ), made as (
    insert into keys (kind, user_id, title, key, fingerprint_md5, fingerprint_sha256, public, created_at)
    select 'deploy', p.id, 'Key ' || k, 'ssh-ed25519 seed ' || k, regexp_replace(md5('key ' || k), '(..)(?!$)', '\\1:', 'g'),
      'SHA256:' || rtrim(encode(sha256(('key ' || k)::bytea), 'base64'), '='), k % 100 = 1,
      '2020-01-01T00:00:00Z'::timestamptz + k * interval '9 minutes'
    from generate_series(1, $1::bigint) k cross join bounds join people p on p.n = 1 + k * 7919 % bounds.people
    returning id, public
  ), numbered as (
    select id, public, row_number() over (order by id) as k from made
  )
  insert into deploy_keys_projects (project_id, key_id, can_push)
  select pr.id, n.id, (k + link) % 3 = 0
  from numbered n cross join bounds
    cross join lateral generate_series(1, case when k = 1 then projects / 40 when public then 20 when k % 10 = 2 then 2 else 1 end) link
    join projects pr on pr.id = first + (k * 104729 + link * 39) % projects
  on conflict do nothing`;
