import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";

/** Rows that must not exist after any requests, concurrent ones included, by what they would mean. */
const BROKEN: Readonly<Record<string, RawBuilder<unknown>>> = {
  "a group is not below its parent": sql`
    select n.id from namespaces n left join namespaces p on p.id = n.parent_id
    where n.traversal_ids <> coalesce(p.traversal_ids, '{}') || n.id`,
  "an address leads nowhere": sql`
    select r.namespace_id from routes r left join namespaces n on n.id = r.namespace_id
    where r.project_id is null and not r.moved
      and (r.parent_id, r.path) is distinct from (coalesce(n.parent_id, 0), lower(n.path))
    union all
    select r.project_id from routes r left join projects p on p.id = r.project_id
    where r.namespace_id is null and not r.moved and (r.parent_id, r.path) is distinct from (p.namespace_id, lower(p.path))`,
  "something has no address": sql`
    select n.id from namespaces n where not exists (select from routes r where r.namespace_id = n.id and not r.moved)
    union all
    select p.id from projects p where not exists (select from routes r where r.project_id = p.id and not r.moved)`,
  "something is more visible than what it is in": sql`
    select n.id from namespaces n join namespaces p on p.id = n.parent_id where n.visibility > p.visibility
    union all
    select p.id from projects p join namespaces n on n.id = p.namespace_id where p.visibility > n.visibility`,
  "a group at the top has no Owner": sql`
    select n.id from namespaces n where n.kind = 'group' and n.parent_id is null and not exists (
      select from members m where m.group_id = n.id and m.access_level = 50 and m.expires_at is null)`,
  "a project in a user's namespace is not that user's": sql`
    select p.id from projects p join users u on u.namespace_id = p.namespace_id where not exists (
      select from members m where m.project_id = p.id and m.user_id = u.id and m.access_level = 50)`,
  "followers are not counted right": sql`
    select u.id from users u
    where u.followers_count <> (select count(*) from follows f where f.followed_id = u.id)
      or u.following_count <> (select count(*) from follows f where f.follower_id = u.id)`,
  "a second factor is asked for that is not there": sql`
    select u.id from users u where u.two_factor_enabled and not exists (
      select from second_factors f where f.user_id = u.id and f.confirmed_at is not null)`,
  "a closed account has a session": sql`
    select u.id from users u join sessions s on s.user_id = u.id
    where u.state <> 'active' or u.removal_began_at is not null`,
  "an account that is removed has a token": sql`
    select u.id from users u join personal_access_tokens t on t.user_id = u.id
    where u.removal_began_at is not null and (t.revoked_at is null or t.revoked_at > now())`,
  "an address is one person's primary and another's secondary one": sql`
    select u.id from users u join emails e on lower(e.email) = lower(u.email) and e.user_id <> u.id`,
  "a group inside another has domains or service accounts of its own": sql`
    select n.id from namespaces n where n.parent_id is not null and (
      exists (select from verified_domains d where d.group_id = n.id)
      or exists (select from users u where u.provisioned_by_group_id = n.id and u.user_type = 'service_account'))`,
  "stars are not counted right": sql`
    select p.id from projects p where p.star_count <> (select count(*) from stars s where s.project_id = p.id)`,
};

/** The broken invariants of groups, projects and accounts. */
export async function brokenInvariants(db: Db): Promise<string[]> {
  const checks = Object.entries(BROKEN).map(
    ([name, rows]) => sql`select ${sql.lit(name)} as name where exists (${rows})`,
  );
  const { rows } = await sql<{ name: string }>`${sql.join(checks, sql` union all `)}`.execute(db);
  return rows.map(({ name }) => name);
}
