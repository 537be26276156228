import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { Tx } from "#db/database.ts";
import { operationsOf } from "#http/app.ts";
import { totpCode } from "#lib/totp.ts";
import { resources } from "#resources/index.ts";
import { startLink } from "#resources/mails/links.ts";
import { beginSecondFactor, confirmSecondFactor, removeSecondFactor } from "#resources/second-factor/actions.ts";
import { beginSession } from "#resources/sessions/actions.ts";
import { sessionsOf } from "#resources/sessions/queries.ts";
import { PASSWORD, signIn } from "#resources/sessions/test-support.ts";
import { keyOf } from "#test/matrix/cells.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";

interface Request {
  readonly path: string;
  readonly payload?: object;
  /** Whose audit log shows it; what is made by the request itself has its id in the answer. */
  readonly entity: readonly [type: "User" | "Group" | "Project", id: number | "made"] | "Instance";
  /** A token of its own, where the request is about the token that it is made with. */
  readonly token?: string;
  /** A session, where the request is about that. */
  readonly headers?: Record<string, string>;
  /** That nobody was looked up, so that the log cannot tell either. */
  readonly untold?: true;
}

interface AuditEvent {
  readonly request_id: string;
  readonly event_name: string;
  readonly author_id: number;
  readonly sudo_author_id: number | null;
  readonly entity_type: string;
  readonly entity_id: number | null;
  readonly details: {
    readonly ip_address: string;
    readonly target_type: string | null;
    readonly target_id: number | null;
  };
}

const ADDRESS = "203.0.113.42";

/** Each write is made by an administrator, and by one in another's place, and then looked for in the log over HTTP. */
describe("every write leaves its event", () => {
  let app: TestApp;
  let admin: TestUser;
  let acted: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
    acted = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const name = () => `made-${randomUUID().slice(0, 13)}`;
  const group = async (columns: object = {}) => {
    const path = name();
    const values = { kind: "group", path, name: path, visibility: 20, ...columns } as const;
    const made = app.services.db.write.insertInto("namespaces").values(values).returning("id");
    return (await made.executeTakeFirstOrThrow()).id;
  };
  const project = async (columns: object = {}) => {
    const path = name();
    const values = { path, name: path, visibility: 20, namespace_id: await group(), ...columns };
    const made = app.services.db.write.insertInto("projects").values(values).returning("id");
    return (await made.executeTakeFirstOrThrow()).id;
  };
  const member = async (place: { group_id: number } | { project_id: number }) => {
    const { id: user_id } = await app.makeUser();
    await app.services.db.write
      .insertInto("members")
      .values({ ...place, user_id, access_level: 30 })
      .execute();
    return user_id;
  };
  const shared = async (place: { group_id: number } | { project_id: number }) => {
    const with_group_id = await group();
    await app.services.db.write
      .insertInto("shares")
      .values({ ...place, with_group_id, access_level: 30 })
      .execute();
    return with_group_id;
  };
  const starred = async () => {
    const id = await project();
    const stars = [admin, acted].map((user) => ({ project_id: id, user_id: user.id }));
    await app.services.db.write.insertInto("stars").values(stars).execute();
    return id;
  };
  const token = async () => {
    const { id: userId } = await app.makeUser();
    return { userId, ...(await app.makeToken(userId)) };
  };
  const inTransaction = <T>(work: (tx: Tx) => Promise<T>) => app.services.db.transaction(work);
  const withPassword = async ({ id }: TestUser) => {
    const password_digest = await app.services.passwords.hash(PASSWORD);
    await app.services.db.write.updateTable("users").set({ password_digest }).where("id", "=", id).execute();
  };
  /** Makes somebody's second factor anew, not confirmed yet, and gives a code of it. */
  const withCode = ({ id }: TestUser) =>
    inTransaction(async (tx) => {
      await removeSecondFactor(tx, id);
      const secret = await beginSecondFactor(tx, app.services.sealing, id);
      return totpCode(secret, Math.floor(Date.now() / 30_000));
    });
  const withRecoveryCode = async (user: TestUser) => {
    const code = await withCode(user);
    const [recovery] = await inTransaction((tx) => confirmSecondFactor(tx, app.services.sealing, user.id, code));
    return recovery;
  };
  const toBeDeleted = { marked_for_deletion_at: new Date().toISOString() };

  const inGroup = async (action = "", payload: object = {}, columns: object = {}): Promise<Request> => {
    const id = await group(columns);
    return { path: `/groups/${id}${action}`, payload, entity: ["Group", id] };
  };
  const committing = { branch: "main", commit_message: "Work" };
  const creating = (file_path: string) => ({ ...committing, actions: [{ action: "create", file_path, content: "" }] });
  /** A write to the code of a project that has a tag, a branch `main` and one further on. */
  const inCode = async (path: string, payload: object = {}): Promise<Request> => {
    const id = await project();
    const code = `/projects/${id}/repository`;
    for (const [below, payload] of [
      ["/commits", creating("held")],
      ["/commits", { ...creating("more"), branch: "side", start_branch: "main" }],
      ["/tags", { tag_name: "v1", ref: "main" }],
    ] as const) {
      assert.equal((await app.post(code + below, { token: admin.token, payload })).status, 201);
    }
    return { path: code + path, payload, entity: ["Project", id] };
  };
  const inProject = async (action = "", payload: object = {}, columns: object = {}): Promise<Request> => {
    const id = await project(columns);
    return { path: `/projects/${id}${action}`, payload, entity: ["Project", id] };
  };

  const onUser = async (
    action: string,
    columns: Parameters<TestApp["makeUser"]>[0] = {},
    payload: object = {},
  ): Promise<Request> => {
    const { id } = await app.makeUser(columns);
    return { path: `/users/${id}${action}`, payload, entity: ["User", id] };
  };
  const onOneself = (action: string, { id }: TestUser, payload: object = {}): Request => ({
    path: `/user${action}`,
    payload,
    entity: ["User", id],
  });
  const email = async (user_id: number) => {
    const values = { user_id, email: `${name()}@example.com` };
    const made = app.services.db.write.insertInto("emails").values(values).returning("id");
    return (await made.executeTakeFirstOrThrow()).id;
  };

  /** A request about a service account, which has a token. */
  async function ofAccount(rest = "", payload: object = {}): Promise<Request> {
    const id = await group();
    const account = await app.makeUser({ user_type: "service_account", provisioned_by_group_id: id });
    const path = `/groups/${id}/service_accounts/${account.id}${rest.replace(":token_id", String(account.tokenId))}`;
    return { path, payload, entity: ["Group", id] };
  }

  /** The secret of a link that was mailed to somebody. */
  const mailed = async (purpose: "confirm" | "reset") => {
    const user = await app.makeUser({ ...(purpose === "confirm" && { confirmed_at: null }) });
    const secret = name();
    await inTransaction((tx) => startLink(tx, secret, { purpose, user_id: user.id, email: user.email }));
    return { id: user.id, secret };
  };
  const key = async (user_id: number) => {
    const fingerprint_sha256 = `SHA256:${name()}`;
    const values = { user_id, title: "laptop", key: newSshKey(), fingerprint_sha256 };
    const made = app.services.db.write.insertInto("keys").values(values).returning("id");
    return (await made.executeTakeFirstOrThrow()).id;
  };
  /** A request about a deploy key, which opens a project. */
  async function ofDeployKey(action = "", payload: object = {}): Promise<Request> {
    const id = await project();
    const made = await app.post(`/projects/${id}/deploy_keys`, { token: admin.token, payload: newDeployKey() });
    return { path: `/projects/${id}/deploy_keys/${made.body.id}${action}`, payload, entity: ["Project", id] };
  }
  const newDeployKey = () => ({ title: "robot", key: newSshKey() });
  /** A request about a domain of a group at the top. */
  async function ofDomain(action = ""): Promise<Request> {
    const id = await group();
    const values = { group_id: id, domain: `${name()}.example`, verification_code: "x" };
    const made = app.services.db.write.insertInto("verified_domains").values(values).returning("id");
    const domain = await made.executeTakeFirstOrThrow();
    return { path: `/groups/${id}/verified_domains/${domain.id}${action}`, entity: ["Group", id] };
  }

  /** Every write there is, on something of its own; `user` is who will have made it. */
  const requests: Record<string, (user: TestUser) => Request | Promise<Request>> = {
    "POST /users": () => {
      const username = name();
      const payload = { username, name: username, email: `${username}@example.com`, force_random_password: true };
      return { path: "/users", payload, entity: ["User", "made"] };
    },
    "PUT /users/:id": async () => {
      const { id } = await app.makeUser();
      return { path: `/users/${id}`, payload: { bio: "Ahoy" }, entity: ["User", id] };
    },
    "POST /users/:id/block": () => onUser("/block"),
    "POST /users/:id/unblock": () => onUser("/unblock", { state: "blocked" }),
    "POST /users/:id/ban": () => onUser("/ban"),
    "POST /users/:id/unban": () => onUser("/unban", { state: "banned" }),
    "POST /users/:id/deactivate": () => onUser("/deactivate"),
    "POST /users/:id/activate": () => onUser("/activate", { state: "deactivated" }),
    "POST /users/:id/approve": () => onUser("/approve", { state: "blocked_pending_approval" }),
    "POST /users/:id/reject": () => onUser("/reject", { state: "blocked_pending_approval" }),
    "DELETE /users/:id": () => onUser(""),
    "PATCH /users/:id/disable_two_factor": () => onUser("/disable_two_factor", { two_factor_enabled: true }),
    "DELETE /users/:id/identities/:provider": async () => {
      const { id } = await app.makeUser();
      const values = { user_id: id, provider: "github", extern_uid: name() };
      await app.services.db.write.insertInto("identities").values(values).execute();
      return { path: `/users/${id}/identities/github`, entity: ["User", id] };
    },
    "POST /users/:id/emails": () => onUser("/emails", {}, { email: `${name()}@example.com` }),
    "DELETE /users/:id/emails/:email_id": async () => {
      const { id } = await app.makeUser();
      return { path: `/users/${id}/emails/${await email(id)}`, entity: ["User", id] };
    },
    "POST /user/emails": (user) => onOneself("/emails", user, { email: `${name()}@example.com` }),
    "DELETE /user/emails/:email_id": async (user) => onOneself(`/emails/${await email(user.id)}`, user),
    "PUT /user/status": (user) => onOneself("/status", user, { message: "Ashore" }),
    "PATCH /user/status": (user) => onOneself("/status", user, { message: "Aboard" }),
    "PUT /user/preferences": (user) => onOneself("/preferences", user, { view_diffs_file_by_file: true }),
    "PUT /user/avatar": (user) => onOneself("/avatar", user, { avatar: null }),
    "POST /users/:id/follow": () => onUser("/follow"),
    "POST /users/:id/unfollow": async (user) => {
      const { id } = await app.makeUser();
      const values = { follower_id: user.id, followed_id: id };
      await app.services.db.write.insertInto("follows").values(values).execute();
      return { path: `/users/${id}/unfollow`, entity: ["User", id] };
    },
    "PUT /users/:id/custom_attributes/:key": () => onUser("/custom_attributes/desk", {}, { value: "window" }),
    "DELETE /users/:id/custom_attributes/:key": async () => {
      const { id } = await app.makeUser();
      const values = { user_id: id, key: "desk", value: "window" };
      await app.services.db.write.insertInto("user_custom_attributes").values(values).execute();
      return { path: `/users/${id}/custom_attributes/desk`, entity: ["User", id] };
    },
    "POST /-/account/confirm": async () => {
      const { id, secret } = await mailed("confirm");
      return { path: "/-/account/confirm", payload: { token: secret }, entity: ["User", id] };
    },
    "POST /-/account/password": async () => {
      const { id, secret } = await mailed("reset");
      const payload = { token: secret, password: PASSWORD, password_again: PASSWORD };
      return { path: "/-/account/password", payload, entity: ["User", id] };
    },
    "POST /-/account/forgotten": () => {
      const payload = { email: `${name()}@example.com` };
      return { path: "/-/account/forgotten", payload, entity: "Instance", untold: true };
    },
    "POST /user/keys": (user) => onOneself("/keys", user, { title: "laptop", key: newSshKey() }),
    "DELETE /user/keys/:key_id": async (user) => onOneself(`/keys/${await key(user.id)}`, user),
    "POST /users/:id/keys": () => onUser("/keys", {}, { title: "laptop", key: newSshKey() }),
    "DELETE /users/:id/keys/:key_id": async () => {
      const { id } = await app.makeUser();
      return { path: `/users/${id}/keys/${await key(id)}`, entity: ["User", id] };
    },
    "POST /users/:user_id/personal_access_tokens": async () => {
      const { id } = await app.makeUser();
      const payload = { name: "ci", scopes: ["api"] };
      return { path: `/users/${id}/personal_access_tokens`, payload, entity: ["User", id] };
    },
    "POST /user/personal_access_tokens": ({ id }) => ({
      path: "/user/personal_access_tokens",
      payload: { name: "mine", scopes: ["self_rotate"] },
      entity: ["User", id],
    }),
    "POST /personal_access_tokens/self/rotate": async () => {
      const own = await app.makeToken(admin.id);
      return { path: "/personal_access_tokens/self/rotate", token: own.token, entity: ["User", admin.id] };
    },
    "POST /personal_access_tokens/:id/rotate": async () => {
      const { id, userId } = await token();
      return { path: `/personal_access_tokens/${id}/rotate`, entity: ["User", userId] };
    },
    "DELETE /personal_access_tokens/self": async () => {
      const own = await app.makeToken(admin.id);
      return { path: "/personal_access_tokens/self", token: own.token, entity: ["User", admin.id] };
    },
    "DELETE /personal_access_tokens/:id": async () => {
      const { id, userId } = await token();
      return { path: `/personal_access_tokens/${id}`, entity: ["User", userId] };
    },
    "POST /session": async () => {
      await withPassword(admin);
      const payload = { login: admin.username, password: PASSWORD };
      return { path: "/session", payload, token: admin.token, entity: ["User", admin.id] };
    },
    "DELETE /session": async () => {
      await withPassword(admin);
      const { headers } = await signIn(app, { ...admin, password: PASSWORD });
      return { path: "/session", headers, entity: ["User", admin.id] };
    },
    "DELETE /user/sessions/:id": async ({ id }) => {
      const origin = { address: ADDRESS, requestId: "", agent: "" };
      await inTransaction((tx) => beginSession(tx, id, origin));
      const [session] = await sessionsOf(app.services.db.write, id).execute();
      return { path: `/user/sessions/${session?.id}`, entity: ["User", id] };
    },
    "DELETE /user/sessions": ({ id }) => ({ path: "/user/sessions", entity: ["User", id] }),
    "PUT /user/password": async (user) => {
      await withPassword(user);
      const payload = { current_password: PASSWORD, password: `${PASSWORD}-2` };
      return { path: "/user/password", payload, entity: ["User", user.id] };
    },
    "POST /user/two_factor": async (user) => {
      await withPassword(user);
      return { path: "/user/two_factor", payload: { current_password: PASSWORD }, entity: ["User", user.id] };
    },
    "PUT /user/two_factor": async (user) => {
      const payload = { code: await withCode(user) };
      return { path: "/user/two_factor", payload, entity: ["User", user.id] };
    },
    "DELETE /user/two_factor": async (user) => {
      const payload = { code: await withRecoveryCode(user) };
      return { path: "/user/two_factor", payload, entity: ["User", user.id] };
    },
    "POST /user/two_factor/recovery_codes": async (user) => {
      const payload = { code: await withRecoveryCode(user) };
      return { path: "/user/two_factor/recovery_codes", payload, entity: ["User", user.id] };
    },
    "POST /users/:user_id/impersonation_tokens": ({ id }) => ({
      path: `/users/${id}/impersonation_tokens`,
      payload: { name: name(), scopes: ["api"] },
      entity: ["User", id],
    }),
    "DELETE /users/:user_id/impersonation_tokens/:impersonation_token_id": async ({ id }) => {
      const token = await app.makeToken(id, { impersonation: true });
      return { path: `/users/${id}/impersonation_tokens/${token.id}`, entity: ["User", id] };
    },
    "POST /service_accounts": () => ({ path: "/service_accounts", entity: ["User", "made"] }),
    "PATCH /service_accounts/:id": async () => {
      const { id } = await app.makeUser({ user_type: "service_account" });
      return { path: `/service_accounts/${id}`, payload: { name: "Robot" }, entity: ["User", id] };
    },
    "POST /groups/:id/service_accounts": () => inGroup("/service_accounts"),
    "PATCH /groups/:id/service_accounts/:user_id": () => ofAccount("", { name: "Robot" }),
    "DELETE /groups/:id/service_accounts/:user_id": () => ofAccount(),
    "POST /groups/:id/service_accounts/:user_id": () => ofAccount("", { name: name(), scopes: ["api"] }),
    "POST /groups/:id/service_accounts/:user_id/personal_access_tokens": () =>
      ofAccount("/personal_access_tokens", { name: name(), scopes: ["api"] }),
    "DELETE /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id": () =>
      ofAccount("/personal_access_tokens/:token_id"),
    "POST /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id/rotate": () =>
      ofAccount("/personal_access_tokens/:token_id/rotate"),
    "POST /groups/:id/verified_domains": () => inGroup("/verified_domains", { domain: `${name()}.example` }),
    "POST /groups/:id/verified_domains/:domain_id/verify": () => ofDomain("/verify"),
    "DELETE /groups/:id/verified_domains/:domain_id": () => ofDomain(),
    "PATCH /groups/:id/enterprise_users/:user_id/disable_two_factor": async () => {
      const id = await group();
      const user = await app.makeUser({ provisioned_by_group_id: id, two_factor_enabled: true });
      return { path: `/groups/${id}/enterprise_users/${user.id}/disable_two_factor`, entity: ["Group", id] };
    },
    "PUT /application/settings": () => ({
      path: "/application/settings",
      payload: { default_branch_name: "main" },
      entity: "Instance",
    }),

    "POST /groups": () => ({ path: "/groups", payload: { name: name(), path: name() }, entity: ["Group", "made"] }),
    "PUT /groups/:id": () => inGroup("", { description: "Tugs" }),
    "DELETE /groups/:id": () => inGroup(),
    "POST /groups/:id/restore": () => inGroup("/restore", {}, toBeDeleted),
    "POST /groups/:id/archive": () => inGroup("/archive"),
    "POST /groups/:id/unarchive": () => inGroup("/unarchive", {}, { archived: true }),
    "POST /groups/:id/transfer": async () => inGroup("/transfer", {}, { parent_id: await group() }),
    "POST /groups/:id/share": async () => inGroup("/share", { group_id: await group(), group_access: 30 }),
    "DELETE /groups/:id/share/:group_id": async () => {
      const id = await group();
      return { path: `/groups/${id}/share/${await shared({ group_id: id })}`, entity: ["Group", id] };
    },
    "POST /groups/:id/projects/:project_id": async () => {
      const [id, moved] = [await group(), await project()];
      return { path: `/groups/${id}/projects/${moved}`, entity: ["Project", moved] };
    },
    "POST /groups/:id/members": async () =>
      inGroup("/members", { user_id: (await app.makeUser()).id, access_level: 30 }),
    "PUT /groups/:id/members/:user_id": async () => {
      const id = await group();
      const path = `/groups/${id}/members/${await member({ group_id: id })}`;
      return { path, payload: { access_level: 20 }, entity: ["Group", id] };
    },
    "DELETE /groups/:id/members/:user_id": async () => {
      const id = await group();
      return { path: `/groups/${id}/members/${await member({ group_id: id })}`, entity: ["Group", id] };
    },

    "POST /projects": async () => ({
      path: "/projects",
      payload: { name: name(), namespace_id: await group() },
      entity: ["Project", "made"],
    }),
    "POST /projects/user/:user_id": async () => ({
      path: `/projects/user/${(await app.makeUser()).id}`,
      payload: { name: name() },
      entity: ["Project", "made"],
    }),
    "PUT /projects/:id": () => inProject("", { description: "Engine" }),
    "DELETE /projects/:id": () => inProject(),
    "POST /projects/:id/restore": () => inProject("/restore", {}, toBeDeleted),
    "POST /projects/:id/archive": () => inProject("/archive"),
    "POST /projects/:id/unarchive": () => inProject("/unarchive", {}, { archived: true }),
    "PUT /projects/:id/transfer": async () => inProject("/transfer", { namespace: await group() }),
    "POST /projects/:id/share": async () => inProject("/share", { group_id: await group(), group_access: 30 }),
    "DELETE /projects/:id/share/:group_id": async () => {
      const id = await project();
      return { path: `/projects/${id}/share/${await shared({ project_id: id })}`, entity: ["Project", id] };
    },
    "POST /projects/:id/star": () => inProject("/star"),
    "POST /projects/:id/unstar": async () => {
      const id = await starred();
      return { path: `/projects/${id}/unstar`, entity: ["Project", id] };
    },
    "POST /projects/:id/members": async () =>
      inProject("/members", { user_id: (await app.makeUser()).id, access_level: 30 }),
    "PUT /projects/:id/members/:user_id": async () => {
      const id = await project();
      const path = `/projects/${id}/members/${await member({ project_id: id })}`;
      return { path, payload: { access_level: 20 }, entity: ["Project", id] };
    },
    "DELETE /projects/:id/members/:user_id": async () => {
      const id = await project();
      return { path: `/projects/${id}/members/${await member({ project_id: id })}`, entity: ["Project", id] };
    },
    "POST /deploy_keys": () => ({ path: "/deploy_keys", payload: newDeployKey(), entity: "Instance" }),
    "POST /projects/:id/deploy_keys": () => inProject("/deploy_keys", newDeployKey()),
    "PUT /projects/:id/deploy_keys/:key_id": () => ofDeployKey("", { can_push: true }),
    "POST /projects/:id/deploy_keys/:key_id/enable": () => ofDeployKey("/enable"),
    "POST /projects/:id/deploy_keys/:key_id/disable": () => ofDeployKey("/disable"),
    "DELETE /projects/:id/deploy_keys/:key_id": () => ofDeployKey(),
    "POST /projects/:id/repository/commits": () => inCode("/commits", creating("new")),
    "POST /projects/:id/repository/commits/:sha/cherry_pick": () => inCode("/commits/side/cherry_pick", committing),
    "POST /projects/:id/repository/commits/:sha/revert": () => inCode("/commits/main/revert", committing),
    "POST /projects/:id/repository/files/:file_path": () => inCode("/files/new", { ...committing, content: "" }),
    "PUT /projects/:id/repository/files/:file_path": () => inCode("/files/held", { ...committing, content: "x" }),
    "DELETE /projects/:id/repository/files/:file_path": () => inCode("/files/held", committing),
    "POST /projects/:id/repository/branches": () => inCode("/branches", { branch: "new", ref: "main" }),
    "DELETE /projects/:id/repository/branches/:branch": () => inCode("/branches/side"),
    "DELETE /projects/:id/repository/merged_branches": () => inCode("/merged_branches"),
    "POST /projects/:id/repository/tags": () => inCode("/tags", { tag_name: "v2", ref: "main" }),
    "DELETE /projects/:id/repository/tags/:tag_name": () => inCode("/tags/v1"),
  };

  const eventsIn = async (list: string, requestId: string | undefined): Promise<AuditEvent[]> => {
    const { status, body } = await app.get(`${list}${list.includes("?") ? "&" : "?"}per_page=100`, admin);
    assert.equal(status, 200);
    return body.filter((event: AuditEvent) => event.request_id === requestId);
  };

  /** Makes a write and finds its one event in the logs of all that it concerns. */
  async function written(key: string, event: string, sudo: boolean) {
    const request = await requests[key]?.(sudo ? acted : admin);
    assert.ok(request, `no request for ${key}`);
    if (sudo && (request.token || request.headers)) return;
    const { status, headers, body, text } = await app.call(key.split(" ", 1)[0] as "POST", request.path, {
      ...(request.headers ? { headers: request.headers } : { token: request.token ?? admin.token }),
      ...(request.payload && { payload: request.payload }),
      ...(sudo && { headers: { sudo: acted.username } }),
      remoteAddress: ADDRESS,
    });
    assert.ok(status >= 200 && status < 300, `${status} ${text}`);
    const [type, named] = request.entity === "Instance" ? ["Instance", null] : request.entity;
    const id = named === "made" ? Number(body.id) : named;
    const lists = ["/audit_events", `/audit_events?entity_type=${type}`];
    if (type === "Group") lists.push(`/groups/${id}/audit_events`);
    if (type === "Project") lists.push(`/projects/${id}/audit_events`);
    for (const list of lists) {
      const [found, ...more] = await eventsIn(list, headers["x-request-id"]);
      assert.ok(found, `not in ${list}`);
      assert.deepEqual(more, []);
      assert.equal(found.event_name, event);
      assert.equal(found.author_id, (sudo ? acted : admin).id);
      assert.equal(found.sudo_author_id, sudo ? admin.id : null);
      assert.deepEqual([found.entity_type, found.entity_id], [type, id]);
      assert.equal(found.details.ip_address, ADDRESS);
      assert.equal(found.details.target_type === null || found.details.target_id === null, request.untold === true);
    }
  }

  for (const operation of operationsOf(resources)) {
    const { audit } = operation.endpoint;
    if (typeof audit !== "string") continue;
    const key = keyOf(operation);
    test(`${key}, by an administrator`, () => written(key, audit, false));
    test(`${key}, in another's place`, () => written(key, audit, true));
  }
});
