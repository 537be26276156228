import {
  type CodeChild,
  inGroup,
  inProject,
  type Line,
  line,
  type More,
  READ,
  READ_CODE,
  READ_USER,
  WRITE,
} from "./line.ts";

const FOUND = [200, 200, 404] as const;
const MADE = [201, 201, 404] as const;
const ONLY_OWN = [200, 404, 404] as const;
const GONE = [204, 204, 404] as const;
const OWN_GONE = [204, 404, 404] as const;

const AVATAR = "file=default.svg";
const PICTURE = "file=avatar.gif";
const NEW_TOKEN = "name=*&scopes=k8s_proxy";
const NEW = "name=*&path=*";
const SHARE = "group_id={group}&group_access=20";
const MEMBER = "user_id={user}&access_level=20";
/** Nothing new comes into what is put away. */
const CLOSED = { archived: 403, "archived above": 403, "marked for deletion": 403 } as const;
const NOT_MARKED = { live: 400, archived: 400, "archived above": 400 } as const;
const OWNER = "user_id={user}&access_level=50";
const NEW_USER = "username=*&name=New&email=*@example.com&force_random_password=1";

const NEW_PASSWORD = "token={reset}&password=correct-horse&password_again=correct-horse";

const TOP = { top: true } as const;
const NEW_KEY = "key={ssh_key}";
const ACCOUNT = { ...TOP, child: "service account" } as const;
const ROBOT = { user_type: "service_account" } as const;
const SHUT = { archived: 403, "marked for deletion": 403 } as const;
const NEW_EMAIL = "email=*@example.com";
const PENDING = { state: "blocked_pending_approval" } as const;

const COMMIT = "branch=main&commit_message=x";
const DEPLOY_KEY = { child: "deploy key" } as const;
const NEW_DEPLOY_KEY = "title=*&key={ssh_key}";

/** Code is open to whoever sees the project, but in what is closed only to those from Reporter on. */
const readCode = (child?: CodeChild, more: More = {}) =>
  inProject("viewer", 200, READ_CODE, { code: "read", ...(child && { child }), ...more });
/** Nothing is changed in what is put away. */
const changeCode = (status: number, more: Parameters<typeof inProject>[3]) =>
  inProject("developer", status, WRITE, { code: "push", answers: CLOSED, ...more });

const FETCH = "api read_repository write_repository";
const PUSH = "api write_repository";
const OVER_GIT = { overGit: true, unaudited: true } as const;

/** One line an endpoint: for those not signed in, users, administrators, and the scopes that open it. */
export const lines: Readonly<Record<string, Line>> = {
  "GET /users": line(200, 200, 200, READ_USER, { adminsSee: "is_admin" }),
  "GET /users/:id": line(401, FOUND, FOUND, READ_USER, { object: "user", adminsSee: "email" }),
  "GET /user": line(401, 200, 200, READ_USER, { adminsSee: "is_admin" }),
  "POST /users": line(401, 403, 201, WRITE, { send: NEW_USER }),
  "PUT /users/:id": line(401, 403, FOUND, WRITE, { object: "user", send: "bio=*" }),
  "GET /uploads/-/system/user/avatar/:id/:file": line(FOUND, FOUND, FOUND, READ_USER, { object: "user", send: AVATAR }),
  "POST /users/:id/block": line(401, 403, [403, 201, 404], WRITE, { object: "newcomer" }),
  "POST /users/:id/unblock": line(401, 403, MADE, WRITE, { object: "newcomer", newcomer: { state: "blocked" } }),
  "POST /users/:id/ban": line(401, 403, [403, 201, 404], WRITE, { object: "newcomer" }),
  "POST /users/:id/unban": line(401, 403, [403, 201, 404], WRITE, {
    object: "newcomer",
    newcomer: { state: "banned" },
  }),
  "POST /users/:id/deactivate": line(401, 403, [403, 201, 404], WRITE, { object: "newcomer" }),
  "POST /users/:id/activate": line(401, 403, MADE, WRITE, { object: "newcomer", newcomer: { state: "deactivated" } }),
  "POST /users/:id/approve": line(401, 403, [409, 201, 404], WRITE, { object: "newcomer", newcomer: PENDING }),
  "POST /users/:id/reject": line(401, 403, [409, 201, 404], WRITE, { object: "newcomer", newcomer: PENDING }),
  "DELETE /users/:id": line(401, 403, [403, 204, 404], WRITE, { object: "newcomer" }),
  "PATCH /users/:id/disable_two_factor": line(401, 403, [403, 204, 404], WRITE, {
    object: "newcomer",
    newcomer: { two_factor_enabled: true },
  }),
  "DELETE /users/:id/identities/:provider": line(401, 403, GONE, WRITE, { object: "user", has: "identity" }),
  "GET /users/:id/memberships": line(401, 403, FOUND, READ_USER, { object: "user" }),
  "GET /users/:id/associations_count": line(401, [200, 403, 403], FOUND, READ_USER, { object: "user" }),

  "GET /users/:id/emails": line(401, 403, FOUND, READ_USER, { object: "user" }),
  "GET /users/:id/emails/:email_id": line(401, 403, FOUND, READ_USER, { object: "user", has: "email" }),
  "POST /users/:id/emails": line(401, 403, MADE, WRITE, { object: "user", send: NEW_EMAIL, anew: true }),
  "DELETE /users/:id/emails/:email_id": line(401, 403, GONE, WRITE, { object: "user", has: "email" }),
  "GET /user/emails": line(401, 200, 200, READ_USER),
  "GET /user/emails/:email_id": line(401, ONLY_OWN, ONLY_OWN, READ_USER, { object: "email" }),
  "POST /user/emails": line(401, 201, 201, WRITE, { send: NEW_EMAIL, anew: true }),
  "DELETE /user/emails/:email_id": line(401, OWN_GONE, OWN_GONE, WRITE, { object: "email" }),

  "GET /users/:id_or_username/status": line(FOUND, FOUND, FOUND, READ_USER, { object: "user" }),
  "GET /user/status": line(401, 200, 200, READ_USER),
  "PUT /user/status": line(401, 200, 200, WRITE, { send: "message=*", anew: true }),
  "PATCH /user/status": line(401, 200, 200, WRITE, { send: "message=*", anew: true }),
  "GET /user/preferences": line(401, 200, 200, READ_USER),
  "PUT /user/preferences": line(401, 200, 200, WRITE, { send: "view_diffs_file_by_file=true", anew: true }),
  "PUT /user/avatar": line(401, 200, 200, WRITE, { send: "avatar=" }),

  "GET /users/:id/followers": line(401, FOUND, FOUND, READ_USER, { object: "user" }),
  "GET /users/:id/following": line(401, FOUND, FOUND, READ_USER, { object: "user" }),
  "POST /users/:id/follow": line(401, [400, 201, 404], [400, 201, 404], WRITE, { object: "newcomer", anew: true }),
  "POST /users/:id/unfollow": line(401, [400, 201, 404], [400, 201, 404], WRITE, {
    object: "newcomer",
    has: "follower",
    anew: true,
  }),

  "GET /users/:id/custom_attributes": line(401, 403, FOUND, READ, { object: "user" }),
  "GET /users/:id/custom_attributes/:key": line(401, 403, FOUND, READ, { object: "user", has: "custom attribute" }),
  "PUT /users/:id/custom_attributes/:key": line(401, 403, FOUND, WRITE, { object: "user", send: "key=*&value=x" }),
  "DELETE /users/:id/custom_attributes/:key": line(401, 403, GONE, WRITE, {
    object: "user",
    has: "custom attribute",
  }),

  "POST /session": line(201, 201, 201, WRITE, { send: "login={login}&password={password}" }),
  "DELETE /session": line(401, 400, 400, WRITE, { session: 204 }),
  "GET /user/sessions": line(401, 200, 200, READ, { robots: 403 }),
  "DELETE /user/sessions/:id": line(401, OWN_GONE, OWN_GONE, WRITE, { object: "session", robots: 403 }),
  "DELETE /user/sessions": line(401, 204, 204, WRITE, { robots: 403 }),
  // Those who are let in have no password and no second factor, and so are told that they lack one.
  "PUT /user/password": line(401, 400, 400, WRITE, { send: "current_password=*&password=*", robots: 403 }),
  "GET /user/two_factor": line(401, 200, 200, READ, { robots: 403 }),
  "POST /user/two_factor": line(401, 400, 400, WRITE, { send: "current_password=*", robots: 403 }),
  "PUT /user/two_factor": line(401, 400, 400, WRITE, { send: "code=123456", robots: 403 }),
  "DELETE /user/two_factor": line(401, 400, 400, WRITE, { send: "code=123456", robots: 403 }),
  "POST /user/two_factor/recovery_codes": line(401, 400, 400, WRITE, { send: "code=123456", robots: 403 }),

  "GET /user/keys": line(401, 200, 200, READ_USER),
  "GET /user/keys/:key_id": line(401, ONLY_OWN, ONLY_OWN, READ_USER, { object: "key" }),
  "POST /user/keys": line(401, 201, 201, WRITE, { send: NEW_KEY, anew: true }),
  "DELETE /user/keys/:key_id": line(401, OWN_GONE, OWN_GONE, WRITE, { object: "key" }),
  "GET /users/:id/keys": line(FOUND, FOUND, FOUND, READ_USER, { object: "user" }),
  "GET /users/:id/keys/:key_id": line(FOUND, FOUND, FOUND, READ_USER, { object: "user", has: "key" }),
  "POST /users/:id/keys": line(401, 403, MADE, WRITE, { object: "user", send: NEW_KEY, anew: true }),
  "DELETE /users/:id/keys/:key_id": line(401, 403, GONE, WRITE, { object: "user", has: "key" }),
  "GET /keys": line(401, 403, 200, READ, { send: "fingerprint={fingerprint}" }),
  "GET /keys/:id": line(401, 403, FOUND, READ, { object: "key" }),

  "GET /users/:user_id/impersonation_tokens": line(401, 403, FOUND, READ, { object: "user" }),
  "GET /users/:user_id/impersonation_tokens/:impersonation_token_id": line(401, 403, FOUND, READ, {
    object: "user",
    has: "impersonation token",
  }),
  "POST /users/:user_id/impersonation_tokens": line(401, 403, MADE, WRITE, { object: "user", send: NEW_TOKEN }),
  "DELETE /users/:user_id/impersonation_tokens/:impersonation_token_id": line(401, 403, GONE, WRITE, {
    object: "user",
    has: "impersonation token",
  }),

  "GET /service_accounts": line(401, 403, 200, READ),
  "POST /service_accounts": line(401, 403, 201, WRITE),
  "PATCH /service_accounts/:id": line(401, 403, [400, 200, 404], WRITE, {
    ...{ object: "newcomer", newcomer: ROBOT, send: "name=*" },
  }),
  "GET /groups/:id/service_accounts": inGroup("owner", 200, READ, { ...TOP, holds: "service accounts" }),
  "POST /groups/:id/service_accounts": inGroup("owner", 201, WRITE, { ...TOP, answers: SHUT }),
  "PATCH /groups/:id/service_accounts/:user_id": inGroup("owner", 200, WRITE, { ...ACCOUNT, send: "name=*" }),
  "DELETE /groups/:id/service_accounts/:user_id": inGroup("owner", 204, WRITE, ACCOUNT),
  "GET /groups/:id/service_accounts/:user_id/personal_access_tokens": inGroup("owner", 200, READ, {
    ...{ ...ACCOUNT, holds: "service account tokens" },
  }),
  "POST /groups/:id/service_accounts/:user_id/personal_access_tokens": inGroup("owner", 201, WRITE, {
    ...{ ...ACCOUNT, send: NEW_TOKEN },
  }),
  "POST /groups/:id/service_accounts/:user_id": inGroup("owner", 201, WRITE, { ...ACCOUNT, send: NEW_TOKEN }),
  "DELETE /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id": inGroup("owner", 204, WRITE, {
    ...{ ...TOP, child: "service account token" },
  }),
  "POST /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id/rotate": inGroup("owner", 200, WRITE, {
    ...{ ...TOP, child: "service account token", endsFamily: true },
  }),

  "GET /-/account/confirm": line(200, 200, 200, READ, { send: "token={confirm}" }),
  "POST /-/account/confirm": line(200, 200, 200, WRITE, { send: "token={confirm}" }),
  "GET /-/account/password": line(200, 200, 200, READ, { send: "token={reset}" }),
  "POST /-/account/password": line(200, 200, 200, WRITE, { send: NEW_PASSWORD }),
  "GET /-/account/forgotten": line(200, 200, 200, READ),
  "POST /-/account/forgotten": line(200, 200, 200, WRITE, { send: "email=*@example.com" }),

  "GET /personal_access_tokens": line(401, [200, 403, 403], 200, READ, { object: "user", by: "user_id" }),
  "GET /personal_access_tokens/self": line(401, 200, 200, "any", { sudo: 400, session: 400 }),
  "GET /personal_access_tokens/:id": line(401, ONLY_OWN, FOUND, READ, { object: "token" }),
  "POST /users/:user_id/personal_access_tokens": line(401, 403, MADE, WRITE, { object: "user", send: NEW_TOKEN }),
  "POST /user/personal_access_tokens": line(401, 201, 201, WRITE, { send: NEW_TOKEN }),
  "POST /personal_access_tokens/self/rotate": line(401, 200, 200, "api self_rotate", {
    sudo: 400,
    session: 400,
    endsFamily: true,
  }),
  "POST /personal_access_tokens/:id/rotate": line(401, ONLY_OWN, FOUND, WRITE, { object: "token", endsFamily: true }),
  "DELETE /personal_access_tokens/self": line(401, 204, 204, "any", { sudo: 400, session: 400 }),
  "DELETE /personal_access_tokens/:id": line(401, [204, 404, 404], [204, 204, 404], WRITE, { object: "token" }),

  "GET /namespaces": inGroup("viewer", 200, READ, { foundBy: "members", signedIn: true }),
  "GET /namespaces/:id": inGroup("viewer", 200, READ, { signedIn: true }),
  "GET /namespaces/:id/exists": line(401, 200, 200, READ, { send: "id=*" }),

  "GET /groups": inGroup("viewer", 200, READ, { foundBy: "viewers", send: "all_available=true" }),
  "POST /groups": line(401, 201, 201, WRITE, { send: NEW, external: 403 }),
  "GET /groups/:id": inGroup("viewer", 200, READ),
  "PUT /groups/:id": inGroup("owner", 200, WRITE, { send: "description=*" }),
  "DELETE /groups/:id": inGroup("owner", 202, WRITE, { answers: { "marked for deletion": 400 } }),
  "POST /groups/:id/restore": inGroup("owner", 201, WRITE, { state: "marked for deletion", answers: NOT_MARKED }),
  "POST /groups/:id/archive": inGroup("owner", 201, WRITE),
  "POST /groups/:id/unarchive": inGroup("owner", 201, WRITE, { state: "archived" }),
  "POST /groups/:id/transfer": inGroup("owner", 201, WRITE, { external: 403 }),
  "POST /groups/:id/share": inGroup("owner", 201, WRITE, { send: SHARE }),
  "DELETE /groups/:id/share/:group_id": inGroup("owner", 204, WRITE, { child: "share" }),
  "GET /groups/:id/subgroups": inGroup("viewer", 200, READ, { holds: "subgroups" }),
  "GET /groups/:id/descendant_groups": inGroup("viewer", 200, READ, { holds: "subgroups" }),
  "GET /groups/:id/projects": inGroup("viewer", 200, READ, { holds: "projects" }),
  "POST /groups/:id/projects/:project_id": inGroup("administrator", 201, WRITE, { child: "project", answers: CLOSED }),

  "GET /groups/:id/verified_domains": inGroup("owner", 200, READ, { ...TOP, holds: "domains" }),
  "GET /groups/:id/verified_domains/:domain_id": inGroup("owner", 200, READ, { ...TOP, child: "domain" }),
  "POST /groups/:id/verified_domains": inGroup("owner", 201, WRITE, { ...TOP, send: "domain=*.test" }),
  "DELETE /groups/:id/verified_domains/:domain_id": inGroup("owner", 204, WRITE, { ...TOP, child: "domain" }),
  // An Owner has to prove it, an administrator's word is enough.
  "POST /groups/:id/verified_domains/:domain_id/verify": {
    ...inGroup("owner", 200, WRITE, { ...TOP, child: "domain" }),
    user: 400,
  },
  "GET /groups/:id/enterprise_users": inGroup("owner", 200, READ, { ...TOP, holds: "enterprise users" }),
  "GET /groups/:id/enterprise_users/:user_id": inGroup("owner", 200, READ, { ...TOP, child: "enterprise user" }),
  "PATCH /groups/:id/enterprise_users/:user_id/disable_two_factor": inGroup("owner", 204, WRITE, {
    ...TOP,
    child: "enterprise user",
  }),
  "GET /groups/:id/saml_users": inGroup("owner", 200, READ, { ...TOP, holds: "SAML users" }),

  "GET /projects": inProject("viewer", 200, READ, { foundBy: "viewers" }),
  "POST /projects": line(401, 201, 201, WRITE, { send: "name=*" }),
  "POST /projects/user/:user_id": line(401, 403, MADE, WRITE, { object: "user", send: "name=*" }),
  "GET /projects/:id": inProject("viewer", 200, READ),
  "PUT /projects/:id": inProject("maintainer", 200, WRITE, { send: "description=*" }),
  "DELETE /projects/:id": inProject("owner", 202, WRITE, { answers: { "marked for deletion": 400 } }),
  "POST /projects/:id/restore": inProject("owner", 201, WRITE, { state: "marked for deletion", answers: NOT_MARKED }),
  "POST /projects/:id/archive": inProject("owner", 201, WRITE),
  "POST /projects/:id/unarchive": inProject("owner", 201, WRITE, { state: "archived" }),
  "PUT /projects/:id/transfer": inProject("owner", 200, WRITE, { send: "namespace={namespace}" }),
  "POST /projects/:id/share": inProject("maintainer", 201, WRITE, { send: SHARE }),
  "DELETE /projects/:id/share/:group_id": inProject("maintainer", 204, WRITE, { child: "share" }),
  "POST /projects/:id/star": inProject("viewer", 201, WRITE, { signedIn: true }),
  "POST /projects/:id/unstar": inProject("viewer", 201, WRITE, { signedIn: true, holds: "a star of the caller" }),
  "GET /projects/:id/starrers": inProject("viewer", 200, READ, { holds: "stars" }),
  "GET /projects/:id/groups": inProject("viewer", 200, READ),
  "GET /projects/:id/users": inProject("viewer", 200, READ, { holds: "members" }),
  "GET /users/:user_id/projects": line(FOUND, FOUND, FOUND, READ, { object: "user" }),
  "GET /users/:user_id/starred_projects": line(FOUND, FOUND, FOUND, READ, { object: "user" }),

  "GET /uploads/-/system/group/avatar/:id/:file": inGroup("viewer", 200, READ, { send: PICTURE }),
  "GET /uploads/-/system/project/avatar/:id/:file": inProject("viewer", 200, READ, { send: PICTURE }),

  "GET /groups/:id/members": inGroup("viewer", 200, READ, { holds: "members" }),
  "GET /groups/:id/members/all": inGroup("viewer", 200, READ, { holds: "members" }),
  "GET /groups/:id/members/:user_id": inGroup("viewer", 200, READ, { child: "member" }),
  "GET /groups/:id/members/all/:user_id": inGroup("viewer", 200, READ, { child: "member", inherits: true }),
  "POST /groups/:id/members": inGroup("owner", 201, WRITE, { send: MEMBER }),
  "PUT /groups/:id/members/:user_id": inGroup("owner", 200, WRITE, { child: "member", send: "access_level=20" }),
  "DELETE /groups/:id/members/:user_id": inGroup("owner", 204, WRITE, { child: "member" }),

  "GET /projects/:id/members": inProject("viewer", 200, READ, { holds: "members" }),
  "GET /projects/:id/members/all": inProject("viewer", 200, READ, { holds: "members" }),
  "GET /projects/:id/members/:user_id": inProject("viewer", 200, READ, { child: "member" }),
  "GET /projects/:id/members/all/:user_id": inProject("viewer", 200, READ, { child: "member", inherits: true }),
  "POST /projects/:id/members": inProject("maintainer", 201, WRITE, { send: MEMBER }),
  "PUT /projects/:id/members/:user_id": inProject("maintainer", 200, WRITE, {
    child: "member",
    send: "access_level=20",
  }),
  "DELETE /projects/:id/members/:user_id": inProject("maintainer", 204, WRITE, { child: "member" }),

  "GET /deploy_keys": line(401, 403, 200, READ),
  "POST /deploy_keys": line(401, 403, 201, WRITE, { send: NEW_DEPLOY_KEY }),
  // Somebody new has nothing in common with anybody.
  "GET /users/:id_or_username/project_deploy_keys": line([404, 404, 404], [200, 403, 404], [200, 403, 404], READ, {
    object: "newcomer",
  }),
  "GET /projects/:id/deploy_keys": inProject("maintainer", 200, READ, { holds: "deploy keys" }),
  "GET /projects/:id/deploy_keys/:key_id": inProject("maintainer", 200, READ, DEPLOY_KEY),
  "POST /projects/:id/deploy_keys": inProject("maintainer", 201, WRITE, { send: NEW_DEPLOY_KEY }),
  "PUT /projects/:id/deploy_keys/:key_id": inProject("maintainer", 200, WRITE, { ...DEPLOY_KEY, send: "can_push=1" }),
  "POST /projects/:id/deploy_keys/:key_id/enable": inProject("maintainer", 201, WRITE, {
    ...{ ...DEPLOY_KEY, adminsFind: true },
  }),
  "POST /projects/:id/deploy_keys/:key_id/disable": inProject("maintainer", 201, WRITE, DEPLOY_KEY),
  "DELETE /projects/:id/deploy_keys/:key_id": inProject("maintainer", 204, WRITE, DEPLOY_KEY),

  "GET /*project.git/info/refs": inProject("viewer", 200, FETCH, {
    ...{ ...OVER_GIT, code: "read", send: "service=git-upload-pack" },
  }),
  "POST /*project.git/git-upload-pack": inProject("viewer", 200, FETCH, {
    ...{ ...OVER_GIT, code: "read", body: "git-upload-pack" },
  }),
  "POST /*project.git/git-receive-pack": inProject("developer", 200, PUSH, {
    ...{ ...OVER_GIT, code: "push", body: "git-receive-pack", answers: CLOSED },
  }),

  "GET /projects/:id/repository/tree": readCode(),
  "GET /projects/:id/repository/blobs/:sha": readCode("blob"),
  "GET /projects/:id/repository/blobs/:sha/raw": readCode("blob"),
  "GET /projects/:id/repository/files/:file_path": readCode("file"),
  "GET /projects/:id/repository/files/:file_path/raw": readCode("file"),
  "GET /projects/:id/repository/files/:file_path/blame": readCode("file"),
  "POST /projects/:id/repository/files/:file_path": changeCode(201, { send: `file_path=*&${COMMIT}&content=x` }),
  "PUT /projects/:id/repository/files/:file_path": changeCode(200, {
    ...{ child: "file", lacking: 400, send: `${COMMIT}&content=x` },
  }),
  "DELETE /projects/:id/repository/files/:file_path": changeCode(204, { child: "file", lacking: 400, send: COMMIT }),
  "GET /projects/:id/repository/branches": readCode(),
  "GET /projects/:id/repository/branches/:branch": readCode("branch"),
  "POST /projects/:id/repository/branches": changeCode(201, { send: "branch=*&ref=main" }),
  "DELETE /projects/:id/repository/branches/:branch": changeCode(204, { child: "branch" }),
  "DELETE /projects/:id/repository/merged_branches": changeCode(202, {}),
  "GET /projects/:id/repository/tags": readCode(),
  "GET /projects/:id/repository/tags/:tag_name": readCode("tag"),
  "POST /projects/:id/repository/tags": changeCode(201, { send: "tag_name=*&ref=main" }),
  "DELETE /projects/:id/repository/tags/:tag_name": changeCode(204, { child: "tag" }),
  "GET /projects/:id/repository/commits": readCode(),
  "GET /projects/:id/repository/commits/:sha": readCode("commit"),
  "GET /projects/:id/repository/commits/:sha/diff": readCode("commit"),
  "GET /projects/:id/repository/commits/:sha/refs": readCode("commit"),
  "GET /projects/:id/repository/commits/:sha/sequence": readCode("commit"),
  // Nothing is signed.
  "GET /projects/:id/repository/commits/:sha/signature": inProject("viewer", 404, READ_CODE, {
    ...{ code: "read", child: "commit" },
  }),
  "POST /projects/:id/repository/commits": changeCode(201, {
    send: `${COMMIT}&actions[][action]=create&actions[][file_path]=*&actions[][content]=x`,
  }),
  "POST /projects/:id/repository/commits/:sha/cherry_pick": changeCode(201, { child: "commit", send: "branch=here" }),
  "POST /projects/:id/repository/commits/:sha/revert": changeCode(201, { child: "commit", send: "branch=main" }),
  "GET /projects/:id/repository/compare": readCode(undefined, { send: "from=here&to=main" }),
  "GET /projects/:id/repository/merge_base": readCode(undefined, { send: "refs[]=here&refs[]=main" }),
  "GET /projects/:id/repository/contributors": readCode(),
  "GET /projects/:id/repository/archive": readCode(),
  "GET /projects/:id/repository/archive.tar.gz": readCode(),
  "GET /projects/:id/repository/archive.tgz": readCode(),
  "GET /projects/:id/repository/archive.tar": readCode(),
  "GET /projects/:id/repository/archive.zip": readCode(),

  "GET /application/settings": line(401, 403, 200, READ),
  "PUT /application/settings": line(401, 403, 200, WRITE, { send: "default_branch_name=main" }),
  "GET /audit_events": line(401, 403, 200, READ),
  "GET /audit_events/:id": line(401, 403, 200, READ, { send: "id={event}" }),
  "GET /groups/:id/audit_events": inGroup("owner", 200, READ, { holds: "audit events" }),
  "GET /groups/:id/audit_events/:audit_event_id": inGroup("owner", 200, READ, { child: "audit event" }),
  "GET /projects/:id/audit_events": inProject("maintainer", 200, READ, { holds: "audit events" }),
  "GET /projects/:id/audit_events/:audit_event_id": inProject("maintainer", 200, READ, { child: "audit event" }),

  "GET /jobqueue/queue_metrics": line(401, 403, 200, READ),
  "GET /jobqueue/process_metrics": line(401, 403, 200, READ),
  "GET /jobqueue/job_stats": line(401, 403, 200, READ),
  "GET /jobqueue/compound_metrics": line(401, 403, 200, READ),

  "GET /version": line(401, 200, 200, READ_USER),
  "GET /metadata": line(401, 200, 200, READ_USER),

  "GET /-/health": line(200, 200, 200, READ, { ignoresCredentials: true }),
  "GET /-/liveness": line(200, 200, 200, READ, { ignoresCredentials: true }),
  "GET /-/readiness": line(200, 200, 200, READ, { loopback: 200, adminsSee: "checks" }),
  "GET /-/metrics": line(403, 403, 200, READ, { loopback: 200 }),

  "GET /": line(302, 302, 302, READ),
  "GET /-/api": line(200, 200, 200, READ),
  "GET /-/api/openapi.json": line(200, 200, 200, READ),
  "GET /-/api/:file": line(200, 200, 200, READ, { send: "file=start.js" }),
};

/** What more is to be said where the answer depends on what is sent. */
export const furtherLines: Readonly<Record<string, readonly Line[]>> = {
  "GET /groups": [inGroup("viewer", 200, READ, { foundBy: "its own", send: "all_available=false" })],
  "POST /groups": [inGroup("maintainer", 201, WRITE, { by: "parent_id", send: NEW, answers: CLOSED })],
  "POST /projects": [inGroup("developer", 201, WRITE, { by: "namespace_id", send: "name=*", answers: CLOSED })],
  "PUT /projects/:id": [inProject("maintainer", 200, WRITE, { forThis: "owner", send: "visibility={visibility}" })],
  "DELETE /groups/:id/members/:user_id": [inGroup("viewer", 204, WRITE, { signedIn: true, child: "oneself" })],
  "DELETE /projects/:id/members/:user_id": [inProject("viewer", 204, WRITE, { signedIn: true, child: "oneself" })],
  "DELETE /groups/:id/share/:group_id": [inGroup("owner", 204, WRITE, { child: "owner share" })],
  "DELETE /projects/:id/share/:group_id": [
    inProject("maintainer", 204, WRITE, { forThis: "owner", child: "owner share" }),
  ],
  "GET /groups/:id/members/all": [inGroup("viewer", 200, READ, { holds: "hidden member" })],
  "GET /groups/:id/members/all/:user_id": [inGroup("viewer", 200, READ, { child: "hidden member" })],
  "GET /projects/:id/members/all": [inProject("viewer", 200, READ, { holds: "hidden member" })],
  "GET /projects/:id/members/all/:user_id": [inProject("viewer", 200, READ, { child: "hidden member" })],
  "GET /projects/:id/users": [inProject("viewer", 200, READ, { holds: "hidden member" })],
  "GET /*project.git/info/refs": [
    inProject("viewer", 200, FETCH, {
      ...{ ...OVER_GIT, code: "read", send: "service=git-receive-pack", answers: CLOSED },
      ...{ signedIn: true, forThis: "developer", scopesForThis: PUSH },
    }),
  ],
  "POST /projects/:id/members": [inProject("maintainer", 201, WRITE, { forThis: "owner", send: OWNER })],
  "PUT /projects/:id/members/:user_id": [
    inProject("maintainer", 200, WRITE, { forThis: "owner", child: "member", send: "access_level=50" }),
  ],
};
