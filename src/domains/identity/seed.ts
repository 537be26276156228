import type { SeedStep } from "#db/seed.ts";
import type { SeedSize } from "#domains/foundation/seed.ts";

const FIRST_NAMES =
  "Ada,Alan,Amara,Anders,Aoife,Bela,Bruno,Carla,Chen,Chidi,Dario,Diana,Edsger,Elif,Emeka,Fatima,Femi,Grace,Hana,Haruto," +
  "Ines,Ivan,Jamal,Jana,Joan,Kaito,Karim,Ken,Lars,Leila,Linus,Lucia,Mahsa,Margaret,Maria,Mateo,Mei,Milan,Nadia,Nils," +
  "Noor,Olga,Omar,Paolo,Priya,Quentin,Radia,Rosa,Sana,Selma,Sofia,Tariq,Tomas,Uma,Vera,Wei,Xenia,Yara,Yusuf,Zoe";
const LAST_NAMES =
  "Abe,Adeyemi,Ahmed,Andersen,Bauer,Berg,Bianchi,Castro,Costa,Dijkstra,Diaz,Eriksen,Fischer,Garcia,Gupta,Haddad,Hansen," +
  "Hopper,Ivanova,Jansen,Kaya,Khan,Kim,Knuth,Kovacs,Lamarr,Larsen,Lee,Lovelace,Marino,Martin,Meyer,Mori,Moreau,Nagy," +
  "Nguyen,Novak,Okafor,Olsen,Park,Patel,Perez,Perlman,Petrov,Popa,Rossi,Sato,Schmidt,Silva,Singh,Suzuki,Tanaka,Turing," +
  "Vargas,Virtanen,Wagner,Wang,Weber,Yilmaz,Zhang";

/** A temporary table of the users who can own things, numbered from 1. */
export const PEOPLE = `
  create temporary table people as
    select row_number() over (order by id) as n, id, namespace_id from users where user_type = 'human' and not admin;
  alter table people add primary key (n);
  analyze people`;

/** Users of every kind: about two in a hundred are blocked, two external, one a bot, ten have a second factor. */
export const seedUsers: SeedStep<SeedSize> = {
  name: "users",
  tables: ["users", "namespaces"],
  statements: ({ users }) => [
    { text: USERS, values: [FIRST_NAMES.split(","), LAST_NAMES.split(",")], chunks: { count: users, size: 20_000 } },
  ],
};

const TOKENS_PER_USER = 5;
const MAX_TOKENS_OF_ONE = 10_000;

/**
 * Five tokens for each user, in the order of ids, until there are enough. Most are revoked or expired, and one in fifty
 * never expires. The first service account of a group has a tenth of all, but at most ten thousand.
 */
export const seedTokens: SeedStep<SeedSize> = {
  name: "tokens",
  tables: ["personal_access_tokens"],
  statements({ tokens, trial }) {
    if (tokens === 0) return [];
    const ofOne = Math.min(Math.floor(tokens / 10), MAX_TOKENS_OF_ONE);
    const holders = Math.ceil((tokens - ofOne) / TOKENS_PER_USER);
    return [
      { text: HOLDERS },
      { text: tokensOf(FIRST_ACCOUNT, "$1::int", trial), values: [ofOne] },
      {
        text: tokensOf("select id as person from holders where n between $1::int and $2::int", "$3::int", trial),
        values: [TOKENS_PER_USER],
        chunks: { count: holders, size: 10_000 },
      },
    ];
  },
};

/** An SSH key for every fourth user. */
export const seedKeys: SeedStep<SeedSize> = {
  name: "SSH keys",
  tables: ["keys"],
  statements: ({ users }) =>
    users === 0 ? [] : [{ text: PEOPLE }, { text: KEYS, chunks: { count: Math.floor(users / 4), size: 100_000 } }],
  clear: "delete from keys where kind = 'user'",
};

/** A session for every tenth user. */
export const seedSessions: SeedStep<SeedSize> = {
  name: "sessions",
  tables: ["sessions"],
  statements: ({ users, trial }) =>
    users === 0
      ? []
      : [{ text: PEOPLE }, { text: sessionsOf(trial), chunks: { count: Math.floor(users / 10), size: 100_000 } }],
  clear: "delete from sessions",
};

const USERS = `
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

const HOLDERS = `
  create temporary table holders as select row_number() over (order by id) as n, id from users;
  alter table holders add primary key (n);
  analyze holders`;

const FIRST_ACCOUNT = `
  select id as person from users
  where user_type = 'service_account' and provisioned_by_group_id is not null order by id limit 1`;

/** Benches sign in with seeded secrets, so theirs follow from the number of the row. */
const unguessable = (trial: SeedSize["trial"]) => (trial ? " || gen_random_uuid()" : "");

/** Tokens created in the last thousand days, and revoked or expired since then. */
const tokensOf = (people: string, each: string, trial: SeedSize["trial"]) => `
  with numbered as (
    select person, n, md5(person || ' ' || n) as dice
    from (${people}) holders cross join generate_series(1, ${each}) n
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
    sha256(convert_to('seed ' || person || ' ' || n${unguessable(trial)}, 'UTF8')), fate % 1000 = 500, created_at, expires_at,
    case when fate % 20 < 9 then created_at + life * (share % 1000 / 1000.0) end,
    case when fate % 4 > 0 then created_at + life * (share % 1000 / 1000.0) * (share % 997 / 1000.0) end
  from lived
  on conflict do nothing`;

const KEYS = `
  insert into keys (user_id, title, key, fingerprint_md5, fingerprint_sha256, created_at)
  select p.id, 'Laptop ' || k, 'ssh-ed25519 laptop ' || k, regexp_replace(md5('laptop ' || k), '(..)(?!$)', '\\1:', 'g'),
    'SHA256:' || rtrim(encode(sha256(('laptop ' || k)::bytea), 'base64'), '='),
    '2020-01-01T00:00:00Z'::timestamptz + k * interval '9 minutes'
  from generate_series($1::bigint, $2::bigint) k join people p on p.n = k * 4`;

const sessionsOf = (trial: SeedSize["trial"]) => `
  insert into sessions (user_id, digest, ends_at, user_agent)
  select p.id, sha256(convert_to('session ' || k${unguessable(trial)}, 'UTF8')), '2100-01-01', 'Browser ' || k % 20
  from generate_series($1::bigint, $2::bigint) k join people p on p.n = k * 10`;
