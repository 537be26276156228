import { dice, word } from "#domains/foundation/seed.ts";

/** The largest group, with many subgroups and projects, like a large company. */
export const LARGEST_GROUP = "harbour-works";

/** The percentage of groups at each depth. */
export const DEPTHS = [20, 40, 25, 10, 5];

/** Two in ten are public, two internal, the rest private. */
const visibility = (of: string) =>
  `case when ${dice(of, 1)} % 10 < 2 then 20 when ${dice(of, 1)} % 10 < 4 then 10 else 0 end`;

export const TOP_GROUPS = `
  insert into namespaces (id, kind, path, name, visibility, traversal_ids, created_at)
  select id, 'group', path, name, visibility, array[id], created_at from (
    select nextval(pg_get_serial_sequence('namespaces', 'id')) as id,
      case n when 1 then '${LARGEST_GROUP}' else ${word("n", 2)} || '-group-' || n end as path,
      case n when 1 then 'Harbour Works' else initcap(${word("n", 2)}) || ' ' || n end as name,
      case n when 1 then 0 else greatest(${visibility("n")}, case when n % 2 = 0 then 10 else 0 end) end as visibility,
      '2020-01-01T00:00:00Z'::timestamptz + n * interval '7 minutes' as created_at
    from generate_series($1::bigint, $2::bigint) n
  ) g`;

/** The first twentieth of the groups below the top are in the largest. */
export const SUBGROUPS = `
  with above as (
    select row_number() over (order by id) as n, id, visibility, traversal_ids from namespaces
    where kind = 'group' and cardinality(traversal_ids) = $3::int
  )
  insert into namespaces (id, kind, parent_id, path, name, visibility, traversal_ids, created_at)
  select g.id, 'group', p.id, g.path, g.name, least(p.visibility, g.visibility), p.traversal_ids || g.id, g.created_at
  from (
    select nextval(pg_get_serial_sequence('namespaces', 'id')) as id, n, ${word("n", 3)} || '-' || n as path,
      initcap(${word("n", 3)}) || ' ' || n as name, ${visibility("n")} as visibility,
      case when $3::int = 1 and (n - $1) * 100 < $4::bigint * 5 then 1 else 1 + ${dice("n", 4)} % $4::bigint end as above,
      '2021-01-01T00:00:00Z'::timestamptz + n * interval '7 minutes' as created_at
    from generate_series($1::bigint, $2::bigint) n
  ) g join above p on p.n = g.above`;

/** Numbers the groups at each depth, and counts them and those in the largest group. */
export const GROUPS = `
  create temporary table seeded as
    select row_number() over (partition by cardinality(traversal_ids) order by id) as n,
      cardinality(traversal_ids) - 1 as depth, id
    from namespaces where kind = 'group';
  alter table seeded add primary key (depth, n);
  analyze seeded;
  create temporary table depths as
    select depth, count(*) as count, greatest((select count(*) * 5 / 100 from seeded where depth = 0), 1) as largest
    from seeded group by depth;
  analyze depths`;

export const PROJECTS = `
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

export const OWNERS = `
  insert into members (user_id, project_id, access_level)
  select u.id, p.id, 50 from projects p join namespaces n on n.id = p.namespace_id join users u on u.namespace_id = n.id
  where n.kind = 'user' and not exists (select from members m where m.project_id = p.id)
  on conflict do nothing`;

export const FIRST_MEMBERS = `
  with first as (
    insert into members (user_id, project_id, access_level)
    select (select id from people where n = 1), p.id, 30 from projects p
    order by md5(p.id::text) limit $1 on conflict do nothing
  )
  insert into members (user_id, group_id, access_level)
  select (select id from people where n = 2), id, 30 from namespaces
  where parent_id is null and path = '${LARGEST_GROUP}' and kind = 'group' on conflict do nothing`;

/** Verifies the domain of all seeded people, which makes them enterprise users of the largest group. */
export const DOMAIN = `
  insert into verified_domains (group_id, domain, verification_code, verified_at, verified_by)
  select id, 'example.com', 'seed', now(), 'administrator' from namespaces
  where parent_id is null and path = '${LARGEST_GROUP}' and kind = 'group' on conflict do nothing`;

/** Two memberships in five are in groups, the others in projects. */
export const MEMBERS = `
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

export const SHARES = `
  insert into shares (group_id, project_id, with_group_id, access_level)
  select case when k % 2 = 0 then s.id end, case when k % 2 = 1 then p.id end, w.id, (array[10, 20, 30, 40])[1 + k % 4]
  from generate_series(1, $1::bigint) k
  join seeded w on w.depth = 1 and w.n = 1 + ${dice("k", 30)} % (select count from depths where depth = 1)
  join seeded s on s.depth = 2 and s.n = 1 + ${dice("k", 31)} % (select count from depths where depth = 2)
  join projects p on p.id = (select min(id) from projects) + ${dice("k", 32)} % (select count(*) from projects)
  on conflict do nothing`;

export const STARS = `
  with given as (
    insert into stars (project_id, user_id)
    select pr.id, p.id from generate_series(1, $1::bigint) k
    join people p on p.n = 1 + ${dice("k", 40)} % (select count(*) from people)
    join projects pr on pr.id = (select min(id) from projects)
      + (${dice("k", 41)}::bigint * ${dice("k", 41)} / 268435456) % (select count(*) from projects)
    on conflict do nothing returning project_id
  ), counted as (select project_id, count(*) as stars from given group by project_id)
  update projects p set star_count = stars from counted where p.id = counted.project_id`;

/** Ten service accounts for each of ten groups at the top. */
export const SERVICE_ACCOUNTS = `
  with named as (
    select g.id as group_id, format('service_account_group_%s_%s', g.id, md5(g.id || ' ' || n)) as username
    from (select id from namespaces where kind = 'group' and parent_id is null order by id limit 10) g
      cross join generate_series(1, 10) n
  ), spaces as (
    insert into namespaces (path, name) select username, 'Service account user' from named returning id, path
  )
  insert into users (username, name, email, user_type, provisioned_by_group_id, namespace_id, confirmed_at)
  select n.username, 'Service account user', n.username || '@noreply.localhost', 'service_account', n.group_id, s.id, now()
  from named n join spaces s on s.path = n.username order by n.group_id, n.username`;
