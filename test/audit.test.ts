import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { operationsOf } from "#http/app.ts";
import { resources } from "#resources/index.ts";
import { keyOf } from "#test/matrix/cells.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

interface Request {
  readonly path: string;
  readonly payload?: object;
  /** Whose audit log shows it; what is made by the request itself has its id in the answer. */
  readonly entity: readonly [type: "User" | "Group" | "Project", id: number | "made"] | "Instance";
  /** A token of its own, where the request is about the token that it is made with. */
  readonly token?: string;
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
  const toBeDeleted = { marked_for_deletion_at: new Date().toISOString() };

  const inGroup = async (action = "", payload: object = {}, columns: object = {}): Promise<Request> => {
    const id = await group(columns);
    return { path: `/groups/${id}${action}`, payload, entity: ["Group", id] };
  };
  const inProject = async (action = "", payload: object = {}, columns: object = {}): Promise<Request> => {
    const id = await project(columns);
    return { path: `/projects/${id}${action}`, payload, entity: ["Project", id] };
  };

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
    if (sudo && request.token) return;
    const { status, headers, body, text } = await app.call(key.split(" ", 1)[0] as "POST", request.path, {
      token: request.token ?? admin.token,
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
      assert.ok(found.details.target_type !== null && found.details.target_id !== null);
    }
  }

  for (const operation of operationsOf(resources)) {
    const { audit } = operation.endpoint;
    if (audit === undefined) continue;
    const key = keyOf(operation);
    test(`${key}, by an administrator`, () => written(key, audit, false));
    test(`${key}, in another's place`, () => written(key, audit, true));
  }
});
