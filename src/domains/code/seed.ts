import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize, word } from "#domains/foundation/seed.ts";
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

/** A snippet for every fiftieth project, every second one personal. */
export const seedSnippets: SeedStep<SeedSize> = {
  name: "snippets",
  tables: ["snippets", "repositories"],
  statements: forProjects(({ projects }) => [
    { text: PEOPLE },
    { text: SNIPPETS, values: [Math.floor(projects / 50)] },
    { text: REPOSITORIES },
  ]),
  clear: "delete from snippets",
};

const SNIPPETS = `
  with bounds as (
    select (select min(id) from projects) as first, (select count(*) from projects) as projects, count(*) as people
    from people
  )
  insert into snippets (project_id, author_id, visibility, title, description, created_at, updated_at)
  select case when k % 2 = 0 then (
      select id from projects where id >= first + (k * 104729) % projects order by id limit 1) end,
    p.id, (${dice("k", 1)} % 3) * 10, 'How to ' || ${word("k", 2)} || ' a ' || ${word("k", 3)}, null,
    '2020-01-01T00:00:00Z'::timestamptz + k * interval '2 hours', '2020-01-01T00:00:00Z'::timestamptz + k * interval '3 hours'
  from generate_series(1, $1::bigint) k cross join bounds join people p on p.n = 1 + k * 7919 % bounds.people`;

/** Created from its first commit on its first use, as that of a snippet that somebody has just written. */
const REPOSITORIES = `
  insert into repositories (snippet_id, storage, disk_path, file_names, pushed_at, beginning)
  select s.id, coalesce(p.repository_storage, 'default'),
    '@hashed/' || left(digest, 2) || '/' || substr(digest, 3, 2) || '/' || digest, '{notes.md}', s.created_at,
    'commit refs/heads/main' || e'\\nauthor A <a@example.com> 1700000000 +0000\\n'
      || e'committer A <a@example.com> 1700000000 +0000\\ndata 4\\nAdd\\n\\nM 100644 inline notes.md\\n'
      || 'data ' || octet_length(s.title) || e'\\n' || s.title || e'\\n'
  from snippets s left join projects p on p.id = s.project_id
    cross join lateral (select encode(sha256(('snippet ' || s.id)::bytea), 'hex') as digest) named
  on conflict do nothing`;
