import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { runWorker, type Worker } from "#jobs/worker.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { deletions } from "#domains/index.ts";
import { removeMarkedProject, removeOverdueProjects } from "./jobs.ts";
import { projectRemoval } from "./project-deletion.ts";

describe("the lifecycle of a project", () => {
  let app: TestApp;
  let insert: RowInserter;
  let owner: TestUser;
  let maintainer: TestUser;
  let admin: TestUser;
  let group: number;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    [owner, maintainer, admin] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser({ admin: true })]);
    group = await insert.group(undefined, { visibility: VISIBILITIES.internal });
    await insert.member(owner, { group_id: group }, "owner");
    await insert.member(maintainer, { group_id: group }, "maintainer");
  });
  after(() => app.close());

  const look = async (id: number, token = owner.token) => (await app.get(`/projects/${id}`, { token })).body;
  const post = (id: number, action: string, token = owner.token) => app.post(`/projects/${id}/${action}`, { token });
  const remove = (id: number, payload: object = {}, token = owner.token) =>
    app.delete(`/projects/${id}`, { token, payload });

  test("it is archived and unarchived by its Owner", async () => {
    const id = await insert.project(group);
    for (const action of ["archive", "unarchive"]) {
      assert.equal((await post(id, action, maintainer.token)).status, 403);
      for (const _ of [1, 2]) {
        const { status, body } = await post(id, action);
        assert.equal(status, 201);
        assert.equal(body.archived, action === "archive");
      }
    }
  });

  test("it is archived while a group above it is", async () => {
    const top = await insert.group(undefined, { archived: true });
    await insert.member(owner, { group_id: top }, "owner");
    const id = await insert.project(await insert.group(top));
    assert.equal((await look(id)).archived, true);
    assert.equal((await post(id, "unarchive")).body.archived, true);
  });

  test("a deletion marks it, and its Owner can restore it", async () => {
    const id = await insert.project(group);
    assert.equal((await remove(id, {}, maintainer.token)).status, 403);
    const { status, body } = await remove(id);
    assert.equal(status, 202);
    assert.deepEqual(body, { message: "202 Accepted" });
    const today = new Date().toISOString().slice(0, 10);
    const marked = await look(id);
    assert.equal(marked.marked_for_deletion_on, today);
    assert.equal(marked.marked_for_deletion_at, today);
    assert.equal((await remove(id)).status, 400, "once is enough");
    assert.equal((await post(id, "restore", maintainer.token)).status, 403);
    const restored = await post(id, "restore");
    assert.equal(restored.status, 201);
    assert.equal(restored.body.marked_for_deletion_on, null);
    assert.equal((await post(id, "restore")).status, 400);
  });

  test("it is deleted at once only if marked and named by its full path", async () => {
    const id = await insert.project(group);
    const { path_with_namespace: full_path } = await look(id);
    const now = { permanently_remove: true, full_path };
    assert.equal((await remove(id, now)).status, 400, "not marked yet");
    await remove(id);
    for (const wrong of [undefined, "", full_path.toUpperCase(), full_path.split("/")[1]]) {
      assert.equal((await remove(id, { ...now, full_path: wrong })).status, 400, String(wrong));
    }
    assert.equal(await waiting(id), 0);
    assert.equal((await remove(id, now)).status, 202);
    assert.equal(await waiting(id), 1);
  });

  /** How many jobs wait to remove a project. */
  async function waiting(id: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from jobs.job
      where data ->> 'job' = 'projects.remove' and data -> 'payload' ->> 'id' = ${String(id)}`.execute(
      app.services.db.write,
    );
    return rows[0]?.count ?? 0;
  }

  describe("with a worker", () => {
    let worker: Worker;
    before(async () => {
      worker = await runWorker(app.services, [removeMarkedProject(deletions), removeOverdueProjects]);
    });
    after(() => worker.stop());

    const gone = (id: number) =>
      until(
        `project ${id} is gone`,
        async () => (await app.get(`/projects/${id}`, { token: admin.token })).status === 404,
      );
    const markedAt = async (id: number, at: string) => {
      await app.services.db.write
        .updateTable("projects")
        .set({ marked_for_deletion_at: at })
        .where("id", "=", id)
        .execute();
    };
    test("it is removed with everything in it, and its path becomes free", async () => {
      const other = await insert.group();
      const id = await insert.project(group, { path: "removed", name: "Removed" });
      await insert.member(maintainer, { project_id: id }, "owner");
      await insert.share({ project_id: id }, other, "developer");
      await post(id, "star");
      const { path_with_namespace: full_path } = await look(id);
      await remove(id);
      assert.equal((await remove(id, { permanently_remove: true, full_path })).status, 202);
      await gone(id);
      const payload = { name: "Removed", namespace_id: group };
      assert.equal((await app.post("/projects", { token: owner.token, payload })).status, 201);
    });

    test("a project that was restored or marked anew stays", async () => {
      const [restored, again, last] = [
        await insert.project(group),
        await insert.project(group),
        await insert.project(group),
      ];
      const before = "2026-01-01T00:00:00.000Z";
      await markedAt(again, "2026-02-02T00:00:00.000Z");
      await markedAt(last, before);
      const { db, jobs } = app.services;
      for (const id of [restored, again, last, last]) {
        await db.transaction((tx) => jobs.add(tx, projectRemoval, { id, marked_at: before }));
      }
      await gone(last);
      for (const id of [restored, again]) await until("its job is done", async () => (await waiting(id)) === 0);
      assert.equal((await look(restored)).id, restored);
      assert.equal((await look(again)).id, again);
    });

    test("it is removed when the restore period is over, and not before", async () => {
      const [over, young, unmarked] = [
        await insert.project(group),
        await insert.project(group),
        await insert.project(group),
      ];
      const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
      await markedAt(over, daysAgo(7.1));
      await markedAt(young, daysAgo(6.9));
      await app.services.db.transaction((tx) => app.services.jobs.add(tx, removeOverdueProjects, {}));
      await gone(over);
      assert.equal((await look(young)).id, young);
      assert.equal((await look(unmarked)).id, unmarked);
    });
  });

  describe("moved to another namespace", () => {
    const move = (id: number, namespace: unknown, token = owner.token) =>
      app.put(`/projects/${id}/transfer`, { token, payload: { namespace } });

    test("it is found there, and its previous path redirects", async () => {
      const target = await insert.group(undefined, { visibility: VISIBILITIES.internal });
      await insert.member(owner, { group_id: target }, "maintainer");
      const id = await insert.project(group, { path: "mover", name: "Mover" });
      const before = await look(id);
      const { status, body } = await move(id, target);
      assert.equal(status, 200);
      assert.equal(body.namespace.id, target);
      assert.equal(body.permissions.group_access.access_level, 40);
      const { status: old, headers } = await app.get(`/projects/${encodeURIComponent(before.path_with_namespace)}`, {
        token: owner.token,
      });
      assert.equal(old, 301);
      assert.equal(headers["location"], `http://localhost/api/v4/projects/${id}`);
      const posted = await app.post(`/projects/${encodeURIComponent(before.path_with_namespace)}/star`, {
        token: owner.token,
      });
      assert.equal(posted.status, 308);
      assert.equal(posted.headers["location"], `http://localhost/api/v4/projects/${id}/star`);
    });

    test("its Owner must be allowed to create projects there", async () => {
      const id = await insert.project(group);
      assert.equal((await move(id, group, maintainer.token)).status, 403);
      const seen = await insert.group(undefined, { visibility: VISIBILITIES.internal });
      assert.equal((await move(id, seen)).status, 403);
      const hidden = await insert.group(undefined, { visibility: VISIBILITIES.private });
      for (const namespace of [hidden, maintainer.username, "no/such", 999_999_999]) {
        const { status, body } = await move(id, namespace);
        assert.equal(status, 404);
        assert.deepEqual(body, { message: "404 Namespace Not Found" });
      }
      assert.equal((await move(id, hidden, admin.token)).status, 200, "administrators anywhere");
      assert.equal((await move(id, undefined)).status, 404, "the former Owner is no longer there");
    });

    test("the current namespace, a taken path and a lower visibility are refused", async () => {
      const target = await insert.group(undefined, { visibility: VISIBILITIES.private });
      await insert.member(owner, { group_id: target }, "owner");
      await insert.project(target, { path: "taken", name: "Taken" });
      const id = await insert.project(group, { path: "TAKEN", name: "Other" });
      assert.equal((await move(id, group)).status, 400);
      const { status, body } = await move(id, target);
      assert.equal(status, 400);
      assert.deepEqual(body.message, { name: ["has already been taken"], path: ["has already been taken"] });
      const open = await insert.project(group, { visibility: VISIBILITIES.internal });
      assert.deepEqual(Object.keys((await move(open, target)).body.message), ["visibility_level"]);
      assert.equal((await look(id)).namespace.id, group);
      for (const columns of [{ archived: true }, { marked_for_deletion_at: "2026-01-01T00:00:00.000Z" }]) {
        const closed = await insert.group(undefined, columns);
        await insert.member(owner, { group_id: closed }, "owner");
        assert.equal((await move(id, closed)).status, 403);
      }
    });

    test("moving it into a personal namespace makes the user its Owner, up to the limit", async () => {
      const few = await app.makeUser({ projects_limit: 1 });
      const from = await insert.group();
      await insert.member(few, { group_id: from }, "owner");
      const [first, second] = [await insert.project(from), await insert.project(from)];
      await insert.member(few, { project_id: first }, "guest");
      const { status, body } = await move(first, few.username, few.token);
      assert.equal(status, 200);
      assert.equal(body.permissions.project_access.access_level, 50);
      assert.equal(body.owner.id, few.id);
      assert.equal((await move(second, few.username, few.token)).status, 403);
    });

    test("an administrator moves it from there into a group", async () => {
      const target = await insert.group();
      await insert.member(owner, { group_id: target }, "owner");
      const id = await insert.project(group);
      const { path_with_namespace } = await look(id);
      const into = (token?: string, project: string | number = id, place = target) =>
        app.post(`/groups/${place}/projects/${encodeURIComponent(project)}`, { token });
      assert.equal((await into()).status, 401);
      assert.equal((await into(owner.token)).status, 403);
      const hidden = await insert.group(undefined, { visibility: VISIBILITIES.private });
      assert.equal((await into(maintainer.token, id, hidden)).status, 404);
      const unknown = await into(admin.token, "no/such");
      assert.equal(unknown.status, 404);
      assert.deepEqual(unknown.body, { message: "404 Project Not Found" });
      const { status, body } = await into(admin.token, path_with_namespace);
      assert.equal(status, 201);
      assert.equal(body.id, target);
      assert.equal((await look(id)).namespace.id, target);
    });

    test("of two concurrent moves to one path one succeeds", async () => {
      const target = await insert.group();
      await insert.member(owner, { group_id: target }, "owner");
      const sources = await Promise.all([insert.group(), insert.group(), insert.group()]);
      const ids = await Promise.all(
        sources.map(async (source) => {
          await insert.member(owner, { group_id: source }, "owner");
          return insert.project(source, { path: "same", name: "Same" });
        }),
      );
      const answers = await Promise.all(ids.map((id) => move(id, target)));
      assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ["200", "400", "400"]);
    });
  });
});
