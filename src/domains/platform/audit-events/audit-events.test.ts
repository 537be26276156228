import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { LEVELS } from "#access/roles.ts";
import { recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

interface Shown {
  readonly id: number;
  readonly created_at: string;
  readonly entity_type: string;
  readonly entity_id: number | null;
}

type Entity = { readonly type: "User" | "Group" | "Project"; readonly id: number } | undefined;

describe("audit events", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  let top: number;
  let group: number;
  let project: number;
  let otherGroup: number;
  let otherProject: number;

  const insertGroup = async (path: string, parent_id: number | null = null) =>
    (
      await app.services.db.write
        .insertInto("namespaces")
        .values({ kind: "group", path, name: path, parent_id, visibility: 20 })
        .returning("id")
        .executeTakeFirstOrThrow()
    ).id;
  const insertProject = async (path: string, namespace_id: number) =>
    (
      await app.services.db.write
        .insertInto("projects")
        .values({ path, name: path, namespace_id, visibility: 20 })
        .returning("id")
        .executeTakeFirstOrThrow()
    ).id;
  const memberOf = async (place: { group_id: number } | { project_id: number }, access_level: number) => {
    const member = await app.makeUser();
    await app.services.db.write
      .insertInto("members")
      .values({ user_id: member.id, access_level, ...place })
      .execute();
    return member;
  };

  /** Inserts events as writes would, oldest first. */
  const insertEvents = async (entity: Entity, times: readonly string[]) => {
    const rows = await app.services.db.write
      .insertInto("audit_events")
      .values(
        times.map((created_at) => ({
          created_at,
          event: "thing_changed",
          actor_id: user.id,
          actor_name: user.username,
          entity_type: entity?.type ?? "Instance",
          entity_id: entity?.id ?? null,
          request_id: randomUUID(),
        })),
      )
      .returning("id")
      .execute();
    return rows.map(({ id }) => id);
  };

  const list = async (path: string, token = admin.token): Promise<Shown[]> => {
    const { status, body } = await app.get(path, { token });
    assert.equal(status, 200, path);
    return body;
  };
  const idsOf = async (path: string) => (await list(path)).map(({ id }) => id);

  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
    user = await app.makeUser();
    top = await insertGroup("fleet");
    group = await insertGroup("tugs", top);
    project = await insertProject("engine", group);
    otherGroup = await insertGroup("others");
    otherProject = await insertProject("hull", otherGroup);
  });
  after(() => app.close());

  /** A time so many seconds before a moment in the near future: future months have partitions, the past one may not. */
  const soon = Date.now() + 100_000;
  const ago = (seconds: number) => new Date(soon - seconds * 1000).toISOString();

  test("an event has its author, sudo author, name, target, address and request id", async () => {
    const other = await app.makeUser({ admin: true });
    const { headers } = await app.put(`/users/${user.id}?sudo=${other.id}`, {
      token: admin.token,
      payload: { bio: "Ahoy" },
      remoteAddress: "203.0.113.9",
    });
    const [event] = await list("/audit_events?per_page=1");
    assert.deepEqual(event, {
      id: event?.id,
      author_id: other.id,
      sudo_author_id: admin.id,
      entity_id: user.id,
      entity_type: "User",
      event_name: "user_updated",
      request_id: headers["x-request-id"],
      details: {
        author_name: other.username,
        target_id: user.id,
        target_type: "User",
        target_details: user.username,
        ip_address: "203.0.113.9",
        entity_path: user.username,
        data: { changed: ["bio"] },
      },
      created_at: event?.created_at,
    });
    assert.match(event.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual((await app.get(`/audit_events/${event.id}`, { token: admin.token })).body, event);
  });

  test("groups and projects have their current path, deleted ones none", async () => {
    const gone = await insertGroup("gone");
    await insertEvents({ type: "Group", id: gone }, [ago(10)]);
    await app.services.db.write.deleteFrom("namespaces").where("id", "=", gone).execute();
    await insertEvents({ type: "Group", id: group }, [ago(9)]);
    await insertEvents({ type: "Project", id: project }, [ago(8)]);
    const paths = async (query: string) => {
      const { body } = await app.get(`/audit_events?${query}`, { token: admin.token });
      return body.map((event: { details: { entity_path: string } }) => event.details.entity_path);
    };
    assert.deepEqual(await paths(`entity_type=Group&entity_id=${gone}`), [null]);
    assert.deepEqual(await paths(`entity_type=Group&entity_id=${group}`), ["fleet/tugs"]);
    assert.deepEqual(await paths(`entity_type=Project&entity_id=${project}`), ["fleet/tugs/engine"]);
  });

  test("filters by entity and by time, both ends included", async () => {
    const id = await insertProject("filtered", group);
    const times = [ago(50), ago(40), ago(30), ago(20)];
    const [first, second, third, fourth] = await insertEvents({ type: "Project", id }, times);
    const entity = `entity_type=Project&entity_id=${id}`;
    const at = (index: number) => encodeURIComponent(times[index] ?? "");
    assert.deepEqual(await idsOf(`/audit_events?${entity}`), [fourth, third, second, first]);
    assert.deepEqual(await idsOf(`/audit_events?${entity}&sort=asc`), [first, second, third, fourth]);
    assert.deepEqual(await idsOf(`/audit_events?${entity}&created_after=${at(2)}`), [fourth, third]);
    assert.deepEqual(await idsOf(`/audit_events?${entity}&created_before=${at(1)}`), [second, first]);
    assert.deepEqual(await idsOf(`/audit_events?${entity}&created_after=${at(1)}&created_before=${at(2)}`), [
      third,
      second,
    ]);
    assert.deepEqual(await idsOf(`/projects/${id}/audit_events?created_after=${at(3)}`), [fourth]);
    const [instance] = await insertEvents(undefined, [ago(1)]);
    for (const type of ["User", "Group", "Project", "Instance"]) {
      const found = await list(`/audit_events?entity_type=${type}&per_page=100`);
      assert.notEqual(found.length, 0);
      for (const { entity_type } of found) assert.equal(entity_type, type);
    }
    assert.ok((await idsOf("/audit_events?entity_type=Instance")).includes(instance ?? 0));
  });

  test("an id without its type, an unknown type and a malformed time are 400", async () => {
    const refused = [
      ["entity_id=1", "entity_type is missing, entity_id needs it"],
      ["entity_type=Ship", "entity_type does not have a valid value"],
      ["entity_type=User&entity_id=x", "entity_id is invalid"],
      ["created_after=yesterday", "created_after is invalid"],
      ["order_by=event", "order_by does not have a valid value"],
    ] as const;
    for (const [query, error] of refused) {
      const { status, body } = await app.get(`/audit_events?${query}`, { token: admin.token });
      assert.equal(status, 400, query);
      assert.deepEqual(body, { error });
    }
  });

  test("events of the same time are ordered by id, with offset and keyset paging", async () => {
    const id = await insertProject("paged", group);
    const times = [ago(60), ago(50), ago(50), ago(50), ago(40), ago(40), ago(30)];
    const ids = (await insertEvents({ type: "Project", id }, times)).toReversed();
    for (const list of [`/projects/${id}/audit_events?`, `/audit_events?entity_type=Project&entity_id=${id}&`]) {
      for (const order of ["", "order_by=id&sort=desc&", "order_by=created_at&"]) {
        const pages: number[] = [];
        for (const page of [1, 2, 3, 4]) pages.push(...(await idsOf(`${list}${order}per_page=2&page=${page}`)));
        assert.deepEqual(pages, ids);
        assert.deepEqual(await byPosition(`${list}${order}per_page=2&pagination=keyset`), ids);
      }
      const { headers } = await app.get(`${list}per_page=2`, { token: admin.token });
      assert.equal(headers["x-total"], "7");
    }
    assert.deepEqual(await byPosition(`/projects/${id}/audit_events?sort=asc&pagination=keyset`), ids.toReversed());
  });

  async function byPosition(path: string): Promise<number[]> {
    const ids: number[] = [];
    let next: string | undefined = path;
    for (let pages = 0; next !== undefined && pages < 20; pages++) {
      const { status, body, headers } = await app.get(next, { token: admin.token });
      assert.equal(status, 200);
      assert.equal(headers["x-total"], undefined);
      ids.push(...body.map((event: Shown) => event.id));
      next = headers["link"]?.match(/<https?:\/\/[^/]+([^>]+)>; rel="next"/)?.[1];
    }
    return ids;
  }

  test("a cursor of another list is refused", async () => {
    const positions = [
      ["id", "desc", 5, 5],
      ["id", "asc", ago(1), 5],
      ["id", "desc", "soon", 5],
      ["name", "desc", ago(1), 5],
    ];
    for (const position of positions) {
      const cursor = Buffer.from(JSON.stringify(position)).toString("base64url");
      const { status, body } = await app.get(`/audit_events?pagination=keyset&cursor=${cursor}`, {
        token: admin.token,
      });
      assert.equal(status, 400, JSON.stringify(position));
      assert.deepEqual(body, { error: "cursor is invalid" });
    }
  });

  test("pages beyond the offset limit point to keyset paging", async () => {
    const { status, body } = await app.get("/audit_events?per_page=100&page=501", { token: admin.token });
    assert.equal(status, 405);
    assert.match(body.error, /maximum allowed offset of 50000 for requests that return objects of type AuditEvent/);
  });

  test("an event of another entity is 404, byte-identical with a missing one", async () => {
    const [foreign] = await insertEvents({ type: "Group", id: otherGroup }, [ago(5)]);
    const [ofProject] = await insertEvents({ type: "Project", id: otherProject }, [ago(5)]);
    const [ofInstance] = await insertEvents(undefined, [ago(5)]);
    const [above] = await insertEvents({ type: "Group", id: top }, [ago(5)]);
    const missing = 9_000_000_000_000;
    for (const parent of [`/groups/${group}`, `/projects/${project}`]) {
      const { status, text } = await app.get(`${parent}/audit_events/${missing}`, { token: admin.token });
      assert.equal(status, 404);
      assert.equal(text, '{"message":"404 Audit Event Not Found"}');
      for (const id of [foreign, ofProject, ofInstance, above]) {
        const answer = await app.get(`${parent}/audit_events/${id}`, { token: admin.token });
        assert.equal(answer.status, 404);
        assert.equal(answer.text, text);
      }
    }
    assert.equal((await app.get(`/groups/${otherGroup}/audit_events/${foreign}`, { token: admin.token })).status, 200);
    assert.equal(
      (await app.get(`/projects/${otherProject}/audit_events/${ofProject}`, { token: admin.token })).status,
      200,
    );
    assert.equal(
      (await app.get(`/audit_events/${missing}`, { token: admin.token })).text,
      '{"message":"404 Audit Event Not Found"}',
    );
  });

  test("Owners read those of a group, Maintainers those of a project, administrators those of the instance", async () => {
    const [ofGroup] = await insertEvents({ type: "Group", id: group }, [ago(3)]);
    const [ofProject] = await insertEvents({ type: "Project", id: project }, [ago(3)]);
    for (const [role, level] of Object.entries(LEVELS)) {
      const { token } = await memberOf({ group_id: group }, level);
      const statuses = async (path: string) => (await app.get(path, { token })).status;
      const owner = level >= LEVELS.owner ? 200 : 403;
      const maintainer = level >= LEVELS.maintainer ? 200 : 403;
      assert.equal(await statuses(`/groups/${group}/audit_events`), owner, role);
      assert.equal(await statuses(`/groups/${group}/audit_events/${ofGroup}`), owner, role);
      assert.equal(await statuses("/groups/fleet%2Ftugs/audit_events"), owner, role);
      assert.equal(await statuses(`/projects/${project}/audit_events`), maintainer, role);
      assert.equal(await statuses(`/projects/${project}/audit_events/${ofProject}`), maintainer, role);
      assert.equal(await statuses("/projects/fleet%2Ftugs%2Fengine/audit_events"), maintainer, role);
      assert.equal(await statuses("/audit_events"), 403, role);
      assert.equal(await statuses(`/audit_events/${ofGroup}`), 403, role);
    }
    for (const path of [`/groups/${group}/audit_events`, `/projects/${project}/audit_events`, "/audit_events"]) {
      assert.equal((await app.get(path)).status, 401);
      assert.equal((await app.get(path, { token: admin.token })).status, 200);
    }
  });

  test("a page takes the same few statements whatever it contains", async () => {
    const { token } = await memberOf({ group_id: group }, LEVELS.owner);
    const statements = async (path: string, as: string) => {
      const recorded = await recordStatements(async () => assert.notEqual((await list(path, as)).length, 0));
      return recorded.length;
    };
    // The caller, the page, the total, and the paths of the entities.
    for (const query of ["per_page=3", "per_page=100", "entity_type=Project", "pagination=keyset"]) {
      assert.ok((await statements(`/audit_events?${query}`, admin.token)) <= 4, query);
    }
    // Also the group or project with the caller's level in it, and on first use its route.
    assert.ok((await statements(`/groups/fleet%2Ftugs/audit_events?per_page=1`, token)) <= 6);
    assert.ok((await statements(`/projects/${project}/audit_events?per_page=1`, token)) <= 5);
  });
});
