import { Client } from "pg";
import { connectionConfig } from "./sessions.ts";

const EACH = 5;
const CHUNK = 10_000;
/** What the service account with the most tokens has. */
const MOST_OF_ONE = 10_000;

/**
 * Adds tokens to a database that has users: five to everybody, in the order of their ids, until there are so many. Most
 * are revoked or past their time, and one in fifty never expires. A few groups get service accounts, one of which has a
 * tenth of all tokens, as far as that is not more than ten thousand.
 */
export async function seedTokens(url: string, count: number, tell: (state: string) => void) {
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: 10_000 }));
  await client.connect();
  try {
    // The indexes are built again at the end, which is several times faster than keeping them.
    const indexes = await dropSlowIndexes(client, count);
    const { rows } = await client.query<{ id: number }>(ACCOUNTS);
    const [first] = rows;
    let done = first ? Math.min(Math.floor(count / 10), MOST_OF_ONE) : 0;
    if (first) await client.query(TOKENS, [[first.id], done]);
    for (let last = 0; done < count;) {
      tell(`${Math.floor((done / count) * 100)} %`);
      const people = await client.query<{ id: number }>("select id from users where id > $1 order by id limit $2", [
        last,
        Math.min(CHUNK, Math.ceil((count - done) / EACH)),
      ]);
      const ids = people.rows.map(({ id }) => id);
      const next = ids.at(-1);
      if (next === undefined) break;
      await client.query(TOKENS, [ids, EACH]);
      done += ids.length * EACH;
      last = next;
    }
    for (const [at, definition] of indexes.entries()) {
      tell(`index ${at + 1} of ${indexes.length}`);
      await client.query(definition);
    }
    tell("statistics");
    await client.query("vacuum analyze users, namespaces, routes, personal_access_tokens");
  } finally {
    await client.end();
  }
}

async function dropSlowIndexes(client: Client, count: number): Promise<string[]> {
  if (count < 100_000) return [];
  const { rows } = await client.query<{ indexname: string; indexdef: string }>(
    `select indexname, indexdef from pg_indexes
     where schemaname = 'public' and tablename = 'personal_access_tokens' and indexdef not like '%UNIQUE%'`,
  );
  for (const { indexname } of rows) await client.query(`drop index ${indexname}`);
  return rows.map(({ indexdef }) => indexdef);
}

/** Ten service accounts for each of ten groups at the top. */
const ACCOUNTS = `
  with named as (
    select g.id as group_id, format('service_account_group_%s_%s', g.id, md5(g.id || ' ' || n)) as username
    from (select id from namespaces where kind = 'group' and parent_id is null order by id limit 10) g
      cross join generate_series(1, 10) n
  ), spaces as (
    insert into namespaces (path, name) select username, 'Service account user' from named returning id, path
  )
  insert into users (username, name, email, user_type, provisioned_by_group_id, namespace_id, confirmed_at)
  select n.username, 'Service account user', n.username || '@noreply.localhost', 'service_account', n.group_id, s.id, now()
  from named n join spaces s on s.path = n.username order by n.group_id, n.username
  returning id`;

/** Of the last thousand days; whatever ended did so between then and now. */
const TOKENS = `
  with numbered as (
    select person, n, md5(person || ' ' || n) as dice
    from unnest($1::bigint[]) person cross join generate_series(1, $2::int) n
  ), thrown as (
    select person, n, ('x' || substr(dice, 1, 7))::bit(28)::int as called, ('x' || substr(dice, 8, 7))::bit(28)::int as born,
      ('x' || substr(dice, 15, 7))::bit(28)::int as fate, ('x' || substr(dice, 22, 7))::bit(28)::int as share
    from numbered
  ), made as (
    select *, current_date::timestamptz - (born % 86400000) * interval '1 second' as created_at,
      case when fate % 50 = 0 then null when fate % 50 < 20 then 7 + fate % 83 else 365 end as days
    from thrown
  ), lived as (
    select *, (created_at + days * interval '1 day')::date as expires_at,
      least(now(), created_at + coalesce(days, 365) * interval '1 day') - created_at as life
    from made
  )
  insert into personal_access_tokens (user_id, name, scopes, token_digest, impersonation, created_at, expires_at,
    revoked_at, last_used_at)
  select person,
    (array['deploy', 'backup', 'laptop', 'mirror', 'release', 'import', 'monitoring', 'nightly'])[1 + called % 8] || ' '
      || (array['harbour', 'keel', 'mast', 'anchor', 'rudder', 'lantern', 'sail'])[1 + called % 7] || ' ' || called % 100000,
    case when called % 3 = 0 then '{read_api}' else '{api}' end::text[],
    sha256(convert_to('seed ' || person || ' ' || n, 'UTF8')), fate % 1000 = 500, created_at, expires_at,
    case when fate % 20 < 9 then created_at + life * (share % 1000 / 1000.0) end,
    case when fate % 4 > 0 then created_at + life * (share % 1000 / 1000.0) * (share % 997 / 1000.0) end
  from lived`;
