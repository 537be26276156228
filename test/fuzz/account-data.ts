import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { readSshKey } from "#lib/ssh-keys.ts";
import { newTotpSecret } from "#lib/totp.ts";
import { sealingContext } from "#domains/identity/credentials/codes.ts";
import type { TestApp } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";

/** Creates the data of accounts: keys, sessions, tokens, service accounts, domains and enterprise users. */
export async function makeAccountData(app: TestApp) {
  const { services } = app;
  const db = services.db.write;
  await makeGroupUsers(app);
  await makeKeys(db);
  await makeDeployKeys(db);
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  const { rows } = await sql<{ id: number }>`
    select id from users where state = 'active' and user_type = 'human' and not admin and id > 5 and id % 4 < 2`.execute(
    db,
  );
  for (const { id } of rows) {
    const sealed_secret = await services.sealing.seal(newTotpSecret(), sealingContext(id));
    await sql`insert into second_factors (user_id, sealed_secret, confirmed_at) values (${id}, ${sealed_secret}, now())`.execute(
      db,
    );
    await sql`update users set two_factor_enabled = true where id = ${id}`.execute(db);
  }
}

/** Creates two service accounts for each top-level group, and two people with addresses in its domain. */
async function makeGroupUsers({ makeUser, services }: TestApp) {
  const { rows: groups } = await sql<{ id: number; path: string }>`
    select id, path from namespaces where ${sql.raw(TOP)} order by id`.execute(services.db.write);
  for (const { id: provisioned_by_group_id, path } of groups) {
    for (const turn of [1, 2]) {
      await makeUser({ username: `${path}-robot-${turn}`, user_type: "service_account", provisioned_by_group_id });
      await makeUser({ username: `${path}-staff-${turn}`, email: `staff-${turn}@${path}.example` });
    }
  }
}

/** Groups that can have service accounts and domains. */
export const TOP = "kind = 'group' and parent_id is null and marked_for_deletion_at is null";

const STATEMENTS: readonly string[] = [
  `insert into follows (follower_id, followed_id)
    select a.id, b.id from users a, users b where a.id <> b.id and (a.id + b.id) % 3 = 0`,
  `update users u set followers_count = (select count(*) from follows where followed_id = u.id),
    following_count = (select count(*) from follows where follower_id = u.id)`,
  `insert into emails (user_id, email, confirmed_at)
    select id, username || turn || '@third.example', now() from users, generate_series(1, 3) turn
    where username in ('root', 'user')`,
  `insert into user_statuses (user_id, emoji, message, availability, clear_status_at)
    select id, 'coffee', '<b>away</b>', (array['busy', 'not_set'])[1 + id % 2],
      case id % 3 when 0 then now() - interval '1 day' when 1 then now() + interval '1 day' end
    from users where id % 2 = 0`,
  `insert into personal_access_tokens (user_id, name, scopes, token_digest, impersonation, expires_at)
    select id, 'impersonation', array['api'], sha256(concat('impersonation', id)::bytea), true, current_date + 30 from users
    union all
    select id, 'robot', array['api'], sha256(concat('robot', id, turn)::bytea), false, current_date + 30
    from users, generate_series(1, 3) turn where provisioned_by_group_id is not null`,
  `insert into sessions (user_id, digest, ip_address, user_agent)
    select id, sha256(concat('session', id, turn)::bytea), '127.0.0.1', 'browser' from users, generate_series(1, 6) turn
    where username in ('root', 'user')`,
  `insert into verified_domains (group_id, domain, verification_code, verified_at, verified_by, last_checked_at)
    select id, path || '.example', 'known', now(), 'dns', now() - interval '1 day' from namespaces where ${TOP}
    union all
    select id, path || turn || '.example', 'known', null, null, null from namespaces, generate_series(1, 2) turn
    where ${TOP}`,
  `insert into identities (user_id, provider, extern_uid, saml_provider_id)
    select u.id, 'group_saml', 'saml-' || u.id, g.id from users u, namespaces g
    where g.kind = 'group' and g.parent_id is null and (u.id + g.id) % 5 = 0`,
];

async function makeKeys(db: Db) {
  const users = await db.selectFrom("users").select("id").execute();
  const rows = users.flatMap(({ id: user_id }) => [1, 2, 3].map((turn) => ({ user_id, ...newKey(`key ${turn}`) })));
  await db.insertInto("keys").values(rows).execute();
}

function newKey(comment: string) {
  const line = newSshKey(comment);
  const read = readSshKey(line);
  if (!("key" in read)) throw new Error(read.problem);
  const { fingerprintMd5: fingerprint_md5, fingerprintSha256: fingerprint_sha256, comment: title } = read.key;
  return { key: line, title, fingerprint_md5, fingerprint_sha256 };
}

const DEPLOY_KEYS = 12;

/** Deploy keys, every third of them public, each for some projects. */
async function makeDeployKeys(db: Db) {
  const rows = Array.from({ length: DEPLOY_KEYS }, (_, turn) => ({
    ...{ user_id: 1 + (turn % 4), kind: "deploy" as const, public: turn % 3 === 0, ...newKey(`deploy ${turn}`) },
  }));
  await db.insertInto("keys").values(rows).execute();
  await sql`insert into deploy_keys_projects (project_id, key_id, can_push)
    select p.id, k.id, (p.id + k.id) % 2 = 0 from projects p, keys k
    where k.kind = 'deploy' and (p.id + k.id) % 6 = 0`.execute(db);
}
