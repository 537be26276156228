import { Client } from "pg";
import { connectionConfig } from "./sessions.ts";

const FIRST_NAMES =
  "Ada,Alan,Amara,Anders,Aoife,Bela,Bruno,Carla,Chen,Chidi,Dario,Diana,Edsger,Elif,Emeka,Fatima,Femi,Grace,Hana,Haruto," +
  "Ines,Ivan,Jamal,Jana,Joan,Kaito,Karim,Ken,Lars,Leila,Linus,Lucia,Mahsa,Margaret,Maria,Mateo,Mei,Milan,Nadia,Nils," +
  "Noor,Olga,Omar,Paolo,Priya,Quentin,Radia,Rosa,Sana,Selma,Sofia,Tariq,Tomas,Uma,Vera,Wei,Xenia,Yara,Yusuf,Zoe";
const LAST_NAMES =
  "Abe,Adeyemi,Ahmed,Andersen,Bauer,Berg,Bianchi,Castro,Costa,Dijkstra,Diaz,Eriksen,Fischer,Garcia,Gupta,Haddad,Hansen," +
  "Hopper,Ivanova,Jansen,Kaya,Khan,Kim,Knuth,Kovacs,Lamarr,Larsen,Lee,Lovelace,Marino,Martin,Meyer,Mori,Moreau,Nagy," +
  "Nguyen,Novak,Okafor,Olsen,Park,Patel,Perez,Perlman,Petrov,Popa,Rossi,Sato,Schmidt,Silva,Singh,Suzuki,Tanaka,Turing," +
  "Vargas,Virtanen,Wagner,Wang,Weber,Yilmaz,Zhang";

const CHUNK = 20_000;

/** Adds users of every kind: about two in a hundred are blocked, two external, one a bot, ten have a second factor. */
export async function seedUsers(url: string, count: number, tell: (state: string) => void) {
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: 10_000 }));
  await client.connect();
  try {
    // The indexes are built again at the end, which is several times faster than keeping them.
    const indexes = await dropSlowIndexes(client, count);
    for (let done = 0; done < count; done += CHUNK) {
      await client.query(INSERT, [
        done + 1,
        Math.min(done + CHUNK, count),
        FIRST_NAMES.split(","),
        LAST_NAMES.split(","),
      ]);
      tell(`${Math.floor(((done + CHUNK) / count) * 100)} %`);
    }
    for (const [at, definition] of indexes.entries()) {
      tell(`index ${at + 1} of ${indexes.length}`);
      await client.query(definition);
    }
    tell("statistics");
    await client.query("vacuum analyze users, namespaces, personal_access_tokens");
  } finally {
    await client.end();
  }
}

async function dropSlowIndexes(client: Client, count: number): Promise<string[]> {
  if (count < 5 * CHUNK) return [];
  const { rows } = await client.query<{ indexname: string; indexdef: string }>(
    "select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename = 'users' and indexdef not like '%UNIQUE%'",
  );
  for (const { indexname } of rows) await client.query(`drop index ${indexname}`);
  return rows.map(({ indexdef }) => indexdef);
}

const INSERT = `
  with numbered as (
    select n, ('x' || substr(md5(n::text), 1, 7))::bit(28)::int as name_dice,
      ('x' || substr(md5(n::text), 9, 7))::bit(28)::int as dice
    from generate_series($1::int, $2::int) n
  ), named as (
    select n, dice, ($3::text[])[1 + name_dice % cardinality($3::text[])] as first,
      ($4::text[])[1 + (name_dice / 64) % cardinality($4::text[])] as last
    from numbered
  ), spaces as (
    insert into namespaces (path, name)
    select lower(first || '.' || last) || '.' || n, first || ' ' || last from named
    returning id, path
  )
  insert into users (username, name, email, public_email, state, user_type, external, admin, auditor, two_factor_enabled,
    bio, location, organization, job_title, confirmed_at, created_at, updated_at, last_activity_on, namespace_id)
  select s.path, first || ' ' || last, s.path || '@example.com',
    case when dice % 20 = 1 then s.path || '@public.example.com' end,
    case dice % 200 when 0 then 'blocked' when 1 then 'blocked' when 2 then 'blocked' when 3 then 'blocked'
      when 4 then 'deactivated' when 5 then 'banned' else 'active' end,
    case when dice % 100 = 50 then 'project_bot' when dice % 500 = 51 then 'service_account' else 'human' end,
    dice % 50 = 7, dice % 10000 = 13, dice % 5000 = 17, dice % 10 = 3,
    'Made-up person number ' || n, last || 'ville', (array['Harbour', 'Mast', 'Keel', 'Anchor'])[1 + dice % 4] || ' Works',
    (array['Engineer', 'Designer', 'Operator', 'Writer'])[1 + dice % 4],
    '2020-01-01T00:00:00Z'::timestamptz + n * interval '3 minutes', '2020-01-01T00:00:00Z'::timestamptz + n * interval '3 minutes',
    '2020-01-01T00:00:00Z'::timestamptz + n * interval '3 minutes' + (dice % 100000) * interval '1 minute',
    '2026-01-01'::date + dice % 300, s.id
  from named join spaces s on s.path = lower(first || '.' || last) || '.' || n
  order by n`;
