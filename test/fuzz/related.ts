import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { TOP } from "./account-data.ts";

/** Values that belong together, by path, or by method and path. */
export type Related = ReadonlyMap<string, readonly Record<string, unknown>[]>;

/** The caller of most requests. */
const CALLER = "(select id from users where username = 'root')";
const PERSON = "username like 'person-%' and user_type = 'human'";
const inState = (...states: string[]) =>
  `select id from users where ${PERSON} and state in (${states.map((state) => `'${state}'`).join(", ")})`;
const top = `select id::text from namespaces where ${TOP} union all select path from namespaces where ${TOP}`;
const robots =
  "select provisioned_by_group_id as id, id as user_id from users where provisioned_by_group_id is not null";
const robotTokens = `select u.provisioned_by_group_id as id, u.id as user_id, t.id as token_id
  from personal_access_tokens t join users u on u.id = t.user_id
  where u.provisioned_by_group_id is not null and not t.impersonation`;
const domains = "select group_id as id, id as domain_id from verified_domains";
const opened = "select project_id as id, key_id from deploy_keys_projects";
const staff = (condition: string) => `select d.group_id as id, u.id as user_id
  from users u join verified_domains d on d.domain = u.email_domain and d.verified_at is not null where ${condition}`;

const QUERIES: Readonly<Record<string, string>> = {
  "DELETE /users/:id": inState("active", "blocked", "deactivated"),
  "/users/:id/block": inState("active", "deactivated", "blocked_pending_approval", "blocked"),
  "/users/:id/unblock": inState("blocked", "banned", "active"),
  "/users/:id/ban": inState("active"),
  "/users/:id/unban": inState("banned"),
  "/users/:id/deactivate": inState("active"),
  "/users/:id/activate": inState("deactivated"),
  "/users/:id/approve": inState("blocked_pending_approval"),
  "/users/:id/reject": inState("blocked_pending_approval"),
  "/users/:id/disable_two_factor": "select id from users where two_factor_enabled and not admin",
  "/users/:id/identities/:provider": "select user_id as id, provider from identities",
  "/users/:id/unfollow": `select followed_id as id from follows where follower_id = ${CALLER}`,
  "/users/:id/emails/:email_id": "select user_id as id, id as email_id from emails",
  "/user/emails/:email_id": `select id as email_id from emails where user_id = ${CALLER}`,
  "/users/:id/custom_attributes/:key": "select user_id as id, key from user_custom_attributes",
  "/users/:id/keys/:key_id": "select user_id as id, id as key_id from keys where kind = 'user'",
  "/user/keys/:key_id": `select id as key_id from keys where kind = 'user' and user_id = ${CALLER}`,
  "/keys/:id": "select id from keys where kind = 'user'",
  "/projects/:id/deploy_keys": "select id from projects",
  "/projects/:id/deploy_keys/:key_id": opened,
  "/projects/:id/deploy_keys/:key_id/disable": opened,
  "/projects/:id/deploy_keys/:key_id/enable": `
    select p.id, k.id as key_id from projects p, keys k where k.kind = 'deploy' and (k.public or p.id % 5 = 0)`,
  "/users/:id_or_username/project_deploy_keys": "select username as id_or_username from users where id < 6",
  "/keys": "select fingerprint_sha256 as fingerprint from keys union all select fingerprint_md5 from keys",
  "/user/sessions/:id": `select id from sessions where user_id = ${CALLER}`,
  "/users/:user_id/impersonation_tokens/:impersonation_token_id": `
    select user_id, id as impersonation_token_id from personal_access_tokens where impersonation`,
  "/personal_access_tokens/:id": "select id from personal_access_tokens where not impersonation",
  "/personal_access_tokens/:id/rotate": `
    select id from personal_access_tokens where not impersonation and revoked_at is null and user_id > 5`,
  "/service_accounts/:id": "select id from users where user_type = 'service_account'",
  "/groups/:id/service_accounts": top,
  "/groups/:id/service_accounts/:user_id": robots,
  "/groups/:id/service_accounts/:user_id/personal_access_tokens": robots,
  "/groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id": robotTokens,
  "/groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id/rotate": robotTokens,
  "/groups/:id/verified_domains": top,
  "/groups/:id/verified_domains/:domain_id": domains,
  "/groups/:id/verified_domains/:domain_id/verify": domains,
  "/groups/:id/enterprise_users": top,
  "/groups/:id/saml_users": top,
  "/groups/:id/enterprise_users/:user_id": staff("true"),
  "/groups/:id/enterprise_users/:user_id/disable_two_factor": staff("u.two_factor_enabled"),
};

/** Whether a query finds the values of an endpoint, given as method and path. */
export const isQueried = (endpoint: string): boolean =>
  endpoint in QUERIES || (endpoint.split(" ")[1] ?? "") in QUERIES;

export async function readRelated(db: Db): Promise<Related> {
  const related = new Map<string, readonly Record<string, unknown>[]>();
  for (const [address, query] of Object.entries(QUERIES)) {
    const { rows } = await sql
      .raw<Record<string, unknown>>(`select found.* from (${query}) found order by found`)
      .execute(db);
    if (rows.length === 0) throw new Error(`Nothing is known for ${address}`);
    related.set(address, rows);
  }
  return related;
}
