import { Client } from "pg";
import { DEPLOY_KEYS } from "./seed-keys.ts";
import { connectionConfig } from "./sessions.ts";

/** How large a tree is, told by its projects. */
export interface TreeSize {
  readonly projects: number;
  readonly groups: number;
  readonly memberships: number;
}

export const treeSize = (projects: number): TreeSize => ({
  projects,
  groups: Math.max(Math.floor(projects / 10), 20),
  memberships: Math.floor(projects * 2.5),
});

/** Full of subgroups and projects: what a large company would bring. */
export const LARGEST_GROUP = "harbour-works";

/** How many of the groups are at each depth, in hundredths. */
const DEPTHS = [20, 40, 25, 10, 5];
const CHUNK = 100_000;

const TABLES = ["namespaces", "projects", "routes", "members", "shares", "stars", "keys", "deploy_keys_projects"];

/**
 * Adds groups, projects and memberships to a database that has users: one group in a hundred and one project in twenty
 * belong to the largest group; the first user is a member of one project in four hundred, the second of the largest
 * group alone, and all others of whatever chance gives them. There is a deploy key for every tenth project.
 */
export async function seedTree(url: string, size: TreeSize, tell: (state: string) => void) {
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: 10_000 }));
  await client.connect();
  try {
    // Routes are made at the end and indexes again, which is many times faster than keeping them.
    for (const table of ["namespaces", "projects"]) await client.query(`alter table ${table} disable trigger user`);
    const indexes = await dropSlowIndexes(client, size);
    const run = async (state: string, text: string, values: unknown[] = []) => {
      tell(state);
      await client.query(text, values);
    };
    await run("people", PEOPLE);
    await makeGroups(run, size.groups);
    for (let done = 0; done < size.projects; done += CHUNK) {
      const until = Math.min(done + CHUNK, size.projects);
      await run(`projects ${Math.floor((done / size.projects) * 100)} %`, PROJECTS, [done + 1, until]);
    }
    await run("memberships", OWNERS);
    await run("memberships", FIRST_MEMBERS, [Math.max(Math.floor(size.projects / 400), 1)]);
    for (let done = 0; done < size.memberships; done += CHUNK) {
      const until = Math.min(done + CHUNK, size.memberships);
      await run(`memberships ${Math.floor((done / size.memberships) * 100)} %`, MEMBERS, [done + 1, until]);
    }
    await run("shares", SHARES, [Math.floor(size.groups / 10)]);
    await run("stars", STARS, [Math.floor(size.projects / 4)]);
    await run("deploy keys", DEPLOY_KEYS, [Math.floor(size.projects / 10)]);
    await run("routes", ROUTES);
    await run("domains", DOMAIN);
    for (const [at, definition] of indexes.entries()) await run(`index ${at + 1} of ${indexes.length}`, definition);
    for (const table of ["namespaces", "projects"]) await client.query(`alter table ${table} enable trigger user`);
    await run("statistics", `vacuum analyze ${TABLES.join(", ")}`);
  } finally {
    await client.end();
  }
}

type Run = (state: string, text: string, values?: unknown[]) => Promise<void>;

async function makeGroups(run: Run, groups: number) {
  await run("groups", "create temporary table seeded (n bigint, depth integer, id bigint, primary key (depth, n))");
  let from = 0;
  let above = 0;
  for (const [depth, hundredths] of DEPTHS.entries()) {
    const count = Math.max(Math.floor((groups * hundredths) / 100), 1);
    await run(`groups ${depth + 1} deep`, depth === 0 ? TOP_GROUPS : SUBGROUPS, [from + 1, from + count, depth, above]);
    from += count;
    above = count;
    await run("groups", "analyze seeded");
  }
  await run("groups", DEPTH_COUNTS);
}

async function dropSlowIndexes(client: Client, { projects }: TreeSize): Promise<string[]> {
  if (projects < CHUNK) return [];
  const { rows } = await client.query<{ indexname: string; indexdef: string }>(
    `select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename = any($1)
       and indexdef not like '%UNIQUE%'`,
    [TABLES],
  );
  for (const { indexname } of rows) await client.query(`drop index ${indexname}`);
  return rows.map(({ indexdef }) => indexdef);
}

/** A number that looks like chance and is the same in every run. */
const dice = (of: string, salt: number) => `('x' || substr(md5(${of}::text || '${salt}'), 1, 7))::bit(28)::int`;
const word = (of: string, salt: number) =>
  `(array['anchor','beacon','compass','deck','ebb','fathom','galley','harbour','islet','jetty','keel','lagoon','mast',
    'narrows','oar','port','quay','rudder','sail','tide'])[1 + ${dice(of, salt)} % 20]`;
/** Two in ten are public, two internal, the rest private. */
const visibility = (of: string) =>
  `case when ${dice(of, 1)} % 10 < 2 then 20 when ${dice(of, 1)} % 10 < 4 then 10 else 0 end`;

const PEOPLE = `
  create temporary table people as
    select row_number() over (order by id) as n, id, namespace_id from users where user_type = 'human' and not admin;
  alter table people add primary key (n);
  analyze people`;

const TOP_GROUPS = `
  with made as (
    insert into namespaces (id, kind, path, name, visibility, traversal_ids, created_at)
    select id, 'group', path, name, visibility, array[id], created_at from (
      select nextval(pg_get_serial_sequence('namespaces', 'id')) as id,
        case n when 1 then '${LARGEST_GROUP}' else ${word("n", 2)} || '-group-' || n end as path,
        case n when 1 then 'Harbour Works' else initcap(${word("n", 2)}) || ' ' || n end as name,
        case n when 1 then 0 else greatest(${visibility("n")}, case when n % 2 = 0 then 10 else 0 end) end as visibility,
        '2020-01-01T00:00:00Z'::timestamptz + n * interval '7 minutes' as created_at
      from generate_series($1::bigint, $2::bigint) n
      where $3::int = 0 and $4::int = 0
    ) g returning id
  )
  insert into seeded select row_number() over (order by id), 0, id from made`;

const SUBGROUPS = `
  with made as (
    insert into namespaces (id, kind, parent_id, path, name, visibility, traversal_ids, created_at)
    select g.id, 'group', p.id, g.path, g.name, least(p.visibility, g.visibility), p.traversal_ids || g.id, g.created_at
    from (
      select nextval(pg_get_serial_sequence('namespaces', 'id')) as id, n, ${word("n", 3)} || '-' || n as path,
        initcap(${word("n", 3)}) || ' ' || n as name, ${visibility("n")} as visibility,
        case when $3::int = 1 and (n - $1) * 100 < $4::bigint * 5 then 1 else 1 + ${dice("n", 4)} % $4::bigint end as above,
        '2021-01-01T00:00:00Z'::timestamptz + n * interval '7 minutes' as created_at
      from generate_series($1::bigint, $2::bigint) n
    ) g join seeded s on s.depth = $3::int - 1 and s.n = g.above join namespaces p on p.id = s.id
    returning id
  )
  insert into seeded select row_number() over (order by id), $3::int, id from made`;

/** How many groups there are at each depth, and how many of them are in the largest. */
const DEPTH_COUNTS = `
  create temporary table depths as
    select depth, count(*) as count, greatest((select count(*) * 5 / 100 from seeded where depth = 0), 1) as largest
    from seeded group by depth;
  analyze depths`;

const PROJECTS = `
  insert into projects (namespace_id, visibility, archived, name, path, description, topics, creator_id, created_at,
    updated_at, last_activity_at, repository_storage)
  select coalesce(s.id, p.namespace_id), least(g.visibility, ${visibility("k")}), ${dice("k", 6)} % 50 = 7,
    initcap(${word("k", 7)}) || ' ' || ${word("k", 8)} || ' ' || k, ${word("k", 7)} || '-' || ${word("k", 8)} || '-' || k,
    'What the ' || ${word("k", 9)} || ' needs', case when ${dice("k", 10)} % 20 = 3 then array[${word("k", 11)}] else '{}' end,
    p.id, made_at, made_at + ${dice("k", 12)} % 100000 * interval '1 minute',
    made_at + ${dice("k", 13)} % 200000 * interval '1 minute', case when ${dice("k", 14)} % 1000 = 5 then 'spare' else 'default' end
  from (
    select k, '2020-06-01T00:00:00Z'::timestamptz + k * interval '90 seconds' as made_at,
      case when k % 27 = 11 then 'largest' when ${dice("k", 15)} % 100 < 15 then 'person' else 'group' end as place
    from generate_series($1::bigint, $2::bigint) k
  ) wanted
  join people p on p.n = 1 + ${dice("k", 16)} % (select count(*) from people)
  join depths d on d.depth = case place when 'largest' then 1 else ${dice("k", 17)} % ${DEPTHS.length} end
  left join seeded s on place <> 'person' and s.depth = d.depth
    and s.n = 1 + ${dice("k", 18)} % case place when 'largest' then d.largest else d.count end
  join namespaces g on g.id = coalesce(s.id, p.namespace_id)
  order by k`;

const OWNERS = `
  insert into members (user_id, project_id, access_level)
  select u.id, p.id, 50 from projects p join namespaces n on n.id = p.namespace_id join users u on u.namespace_id = n.id
  where n.kind = 'user' and not exists (select from members m where m.project_id = p.id)
  on conflict do nothing`;

const FIRST_MEMBERS = `
  with first as (
    insert into members (user_id, project_id, access_level)
    select (select id from people where n = 1), p.id, 30 from projects p
    order by md5(p.id::text) limit $1 on conflict do nothing
  )
  insert into members (user_id, group_id, access_level)
  select (select id from people where n = 2), id, 30 from namespaces
  where parent_id is null and path = '${LARGEST_GROUP}' and kind = 'group' on conflict do nothing`;

/** The domain of all seeded people, so that they are the largest group's enterprise users. */
const DOMAIN = `
  insert into verified_domains (group_id, domain, verification_code, verified_at, verified_by)
  select id, 'example.com', 'seed', now(), 'administrator' from namespaces
  where parent_id is null and path = '${LARGEST_GROUP}' and kind = 'group' on conflict do nothing`;

/** Two in five memberships are of groups, the others of projects. */
const MEMBERS = `
  insert into members (user_id, group_id, project_id, access_level, expires_at)
  select p.id, s.id, case when s.id is null then pr.id end, (array[10, 15, 20, 30, 30, 30, 40, 50])[1 + ${dice("k", 20)} % 8],
    case when ${dice("k", 21)} % 20 = 3 then '2026-01-01'::date + ${dice("k", 22)} % 1000 end
  from generate_series($1::bigint, $2::bigint) k
  join people p on p.n = 3 + ${dice("k", 23)} % greatest((select count(*) from people) - 2, 1)
  join depths d on d.depth = ${dice("k", 24)} % ${DEPTHS.length}
  left join seeded s on k % 5 < 2 and s.depth = d.depth and s.n = 1 + ${dice("k", 25)} % d.count
  left join projects pr on s.id is null and pr.id = (select min(id) from projects) + ${dice("k", 26)} % (select count(*) from projects)
  where num_nonnulls(s.id, pr.id) = 1
  on conflict do nothing`;

const SHARES = `
  insert into shares (group_id, project_id, with_group_id, access_level)
  select case when k % 2 = 0 then s.id end, case when k % 2 = 1 then p.id end, w.id, (array[10, 20, 30, 40])[1 + k % 4]
  from generate_series(1, $1::bigint) k
  join seeded w on w.depth = 1 and w.n = 1 + ${dice("k", 30)} % (select count from depths where depth = 1)
  join seeded s on s.depth = 2 and s.n = 1 + ${dice("k", 31)} % (select count from depths where depth = 2)
  join projects p on p.id = (select min(id) from projects) + ${dice("k", 32)} % (select count(*) from projects)
  on conflict do nothing`;

const STARS = `
  with given as (
    insert into stars (project_id, user_id)
    select pr.id, p.id from generate_series(1, $1::bigint) k
    join people p on p.n = 1 + ${dice("k", 40)} % (select count(*) from people)
    join projects pr on pr.id = (select min(id) from projects)
      + (${dice("k", 41)}::bigint * ${dice("k", 41)} / 268435456) % (select count(*) from projects)
    on conflict do nothing returning project_id
  ), counted as (select project_id, count(*) as stars from given group by project_id)
  update projects p set star_count = stars from counted where p.id = counted.project_id`;

const ROUTES = `
  insert into routes (parent_id, path, namespace_id)
  select coalesce(parent_id, 0), lower(path), id from namespaces on conflict do nothing;
  insert into routes (parent_id, path, project_id)
  select namespace_id, lower(path), id from projects on conflict do nothing`;
