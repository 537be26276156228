import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { snippetRepository } from "#git/storages/storage.ts";
import { runWorker } from "#jobs/worker.ts";
import { authenticateJob } from "#access/authenticate.ts";
import { auditEntry } from "#http/audit.ts";
import type { AuditTarget } from "#http/endpoint.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { pushEntry } from "#domains/code/repository/audit.ts";
import { createIntent } from "#domains/storage/pushes/intents.ts";
import { completePush, reconcilePushes } from "#domains/storage/pushes/reconcile.ts";
import { jobs } from "#domains/index.ts";
import type { TestUser } from "#test/support/app.ts";
import { git, gitOutput, workingCopy } from "#test/support/git.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { commit, type Pushing, pushingApp } from "#test/support/pushing.ts";
import { until } from "#test/support/until.ts";
import { requireSnippet } from "./access.ts";
import { changeSnippet } from "./actions.ts";

describe("snippets", () => {
  let on: Pushing;
  let admin: TestUser;
  before(async () => {
    on = await pushingApp({ databaseUrl: await freshDatabase() });
    admin = await on.app.makeUser({ admin: true });
  });
  after(() => on.close());

  const post = (path: string, { token }: TestUser, payload: object = {}) => on.app.post(path, { token, payload });
  const put = (path: string, { token }: TestUser, payload: object) => on.app.put(path, { token, payload });
  const get = (path: string, user?: TestUser) => on.app.get(path, user ? { token: user.token } : {});
  const make = async (payload: object = {}, by = on.owner, path = "/snippets") => {
    const answer = await post(path, by, {
      title: "Knots",
      file_name: "bowline.md",
      content: "Up the hole\n",
      ...payload,
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  };
  const address = (id: number | string, { token }: TestUser) => `http://any:${token}@127.0.0.1:${on.port}/${id}.git`;
  const cloned = async (path: string, user: TestUser) => {
    const parent = await workingCopy();
    const { code, stderr } = await git(["clone", "--quiet", address(path, user), "clone"], { cwd: parent });
    assert.equal(code, 0, stderr);
    return `${parent}/clone`;
  };
  const isStored = (id: number) => on.app.services.git.storage("default").repository(snippetRepository(id)).exists();

  /** The audit events of a snippet in order. */
  const eventsOf = async (id: number) => {
    const { rows } = await sql<{ event: string }>`
      select event from audit_events where target_type = 'Snippet' and target_id = ${id} order by id`.execute(
      on.app.services.db.write,
    );
    return rows.map(({ event }) => event);
  };

  describe("personal ones", () => {
    test("have a title, a visibility and files, which are there at once", async () => {
      const files = [
        { file_path: "b.txt", content: "second\n" },
        { file_path: "dir/a.txt", content: "é\n" },
        { file_path: "a.txt", content: "first" },
      ];
      const made = await make({ files, file_name: undefined, content: undefined, visibility: "internal" });
      const { id, author, created_at, updated_at, ...rest } = made;
      const api = `http://localhost/api/v4/snippets/${id}`;
      assert.equal(author.id, on.owner.id);
      assert.ok(created_at <= updated_at);
      assert.deepEqual(rest, {
        ...{ title: "Knots", description: null, visibility: "internal", project_id: null },
        ...{ web_url: `http://localhost/-/snippets/${id}`, raw_url: `${api}/raw` },
        ssh_url_to_repo: `ssh://git@localhost:2222/snippets/${id}.git`,
        http_url_to_repo: `http://localhost/snippets/${id}.git`,
        file_name: "a.txt",
        files: [
          { path: "a.txt", raw_url: `${api}/files/main/a.txt/raw` },
          { path: "b.txt", raw_url: `${api}/files/main/b.txt/raw` },
          { path: "dir/a.txt", raw_url: `${api}/files/main/dir%2Fa.txt/raw` },
        ],
        ...{ expires_at: null, imported: false, imported_from: "none" },
      });
      assert.equal((await get(`/snippets/${id}/raw`, on.owner)).text, "first");
      assert.equal((await get(`/snippets/${id}/files/main/dir%2Fa.txt/raw`, on.owner)).text, "é\n");
      assert.equal((await get(`/snippets/${id}/files/main/nothing/raw`, on.owner)).status, 404);
      assert.equal((await get(`/snippets/${id}/files/nothing/a.txt/raw`, on.owner)).status, 404);
      const { body: shown } = await get(`/snippets/${id}`, admin);
      assert.deepEqual({ ...made, repository_storage: "default" }, shown);
    });

    test("are private unless they say otherwise, and then for those whom they say", async () => {
      const mate = await on.app.makeUser();
      const external = await on.app.makeUser({ external: true });
      const [closed, inner, open] = [
        await make(),
        await make({ visibility: "internal" }),
        await make({ visibility: "public" }),
      ];
      assert.equal(closed.visibility, "private");
      const seen = async (user?: TestUser) => {
        const statuses = await Promise.all([closed, inner, open].map(({ id }) => get(`/snippets/${id}`, user)));
        return statuses.map(({ status }) => status);
      };
      assert.deepEqual(await seen(), [404, 404, 200]);
      assert.deepEqual(await seen(mate), [404, 200, 200]);
      assert.deepEqual(await seen(external), [404, 404, 200]);
      assert.deepEqual(await seen(on.owner), [200, 200, 200]);
      assert.deepEqual(await seen(admin), [200, 200, 200]);
      const missing = await get(`/snippets/${closed.id + 1000}`, mate);
      assert.deepEqual((await get(`/snippets/${closed.id}`, mate)).body, missing.body);
      const ids = async (path: string, user?: TestUser) =>
        (await get(path, user)).body.map(({ id }: { id: number }) => id).slice(0, 3);
      assert.deepEqual(await ids("/snippets", on.owner), [open.id, inner.id, closed.id]);
      assert.deepEqual(await ids("/snippets", mate), []);
      assert.deepEqual((await ids("/snippets/public"))[0], open.id);
      assert.deepEqual((await ids("/snippets/all", mate)).slice(0, 2), [open.id, inner.id]);
      assert.deepEqual(await ids("/snippets/all", admin), [open.id, inner.id, closed.id]);
      assert.deepEqual(await ids(`/snippets/all?repository_storage=second`, admin), []);
      assert.deepEqual(await ids(`/snippets?created_after=${open.created_at}`, on.owner), [open.id]);
      assert.equal((await put(`/snippets/${open.id}`, mate, { title: "Mine" })).status, 403);
      assert.equal((await post("/snippets", external, { title: "x", file_name: "x", content: "x" })).status, 403);
    });

    test("change their title, description, visibility and files", async () => {
      const { id } = await make();
      const path = `/snippets/${id}`;
      const { body: renamed } = await put(path, on.owner, {
        title: "Hitches",
        description: "Rope",
        visibility: "public",
      });
      assert.deepEqual([renamed.title, renamed.description, renamed.visibility], ["Hitches", "Rope", "public"]);
      const { body: moved } = await put(path, on.owner, { file_name: "clove.md", content: "Twice around\n" });
      assert.deepEqual(
        moved.files.map((file: { path: string }) => file.path),
        ["clove.md"],
      );
      assert.equal((await get(`${path}/raw`)).text, "Twice around\n");
      const files = [
        { action: "create", file_path: "z.md", content: "z" },
        { action: "move", previous_path: "clove.md", file_path: "half.md" },
        { action: "create", file_path: "a.md", content: "a" },
        { action: "update", file_path: "a.md", content: "A" },
        { action: "delete", file_path: "z.md" },
      ];
      const { body: changed } = await put(path, on.owner, { title: "All", files });
      assert.deepEqual([changed.title, changed.files.length, changed.file_name], ["All", 2, "a.md"]);
      assert.equal((await get(`${path}/raw`)).text, "A");
      assert.equal((await get(`${path}/files/main/half.md/raw`)).text, "Twice around\n");
      const refused: [object, RegExp][] = [
        [{ content: "which?" }, /use the files parameter/],
        [{ files: [{ action: "update", file_path: "nothing", content: "x" }] }, /doesn't exist/],
        [{ files: [{ action: "create", file_path: "a.md", content: "x" }] }, /already exists/],
        [{ files: [{ action: "create", file_path: "../up", content: "x" }] }, /directory traversal/],
        [{ files: [{ action: "create", file_path: "new" }] }, /files\[0\]\[content\] is missing/],
        [
          {
            files: [
              { action: "delete", file_path: "a.md" },
              { action: "delete", file_path: "half.md" },
            ],
          },
          /at least one file/,
        ],
        [{ files: [], title: "x" }, /files/],
        [{}, /at least one parameter/],
      ];
      for (const [payload, reason] of refused) {
        const { status, body } = await put(path, on.owner, payload);
        assert.equal(status, 400, JSON.stringify(payload));
        assert.match(JSON.stringify(body), reason);
      }
      assert.deepEqual((await get(path, on.owner)).body, { ...changed, updated_at: (await get(path)).body.updated_at });
    });

    test("need a title and content, in valid files", async () => {
      const refused: [object, RegExp][] = [
        [{ title: "x" }, /files, content are missing/],
        [{ title: "x", content: "y" }, /provide all or none/],
        [{ file_name: "x", content: "y" }, /title is missing/],
        [{ title: "x", file_name: ".git/config", content: "y" }, /git's own directory/],
        [{ title: "x", file_name: "x", content: "y", files: [{ file_path: "x", content: "y" }] }, /mutually exclusive/],
        [
          {
            title: "x",
            files: [
              { file_path: "x", content: "y" },
              { file_path: "x", content: "y" },
            ],
          },
          /already exists/,
        ],
      ];
      for (const [payload, reason] of refused) {
        const { status, body } = await post("/snippets", on.owner, payload);
        assert.equal(status, 400, JSON.stringify([payload, body]));
        assert.match(JSON.stringify(body), reason);
      }
    });

    test("are cloned and pushed to, by those who may", async () => {
      const mate = await on.app.makeUser();
      const { id } = await make({ visibility: "internal" });
      const copy = await cloned(`snippets/${id}`, mate);
      assert.deepEqual(await gitOutput(["ls-files"], { cwd: copy }), "bowline.md");
      await commit(copy);
      const push = (user: TestUser, ...what: string[]) =>
        git(["push", address(`snippets/${id}`, user), ...what], { cwd: copy });
      assert.match((await push(mate, "main")).stderr, /You are not allowed to change this snippet/);
      assert.equal((await push(on.owner, "main")).code, 0);
      const { body: pushed } = await get(`/snippets/${id}`, on.owner);
      assert.deepEqual(
        pushed.files.map((file: { path: string }) => file.path),
        ["bowline.md", "log"],
      );
      assert.match((await push(on.owner, "main:other")).stderr, /a snippet has only the branch main/);
      assert.match((await push(on.owner, "main:refs/tags/v1")).stderr, /a snippet has only the branch main/);
      assert.match((await push(on.owner, ":main")).stderr, /must have the branch main/);
      // Its author may rewrite it.
      await gitOutput(["reset", "--quiet", "--hard", "HEAD~1"], { cwd: copy });
      assert.equal((await push(on.owner, "--force", "main")).code, 0);
      assert.equal((await get(`/snippets/${id}`, on.owner)).body.files.length, 1);
      assert.deepEqual(await eventsOf(id), ["snippet_created", "repository_pushed", "repository_pushed"]);
      const stranger = await on.app.makeUser({ external: true });
      const refused = await git(["ls-remote", address(`snippets/${id}`, stranger)], { cwd: copy });
      const missing = await git(["ls-remote", address(`snippets/${id + 1000}`, stranger)], { cwd: copy });
      assert.equal(refused.stderr.replaceAll(/\d+/g, ""), missing.stderr.replaceAll(/\d+/g, ""));
    });

    test("show what a push brought whose process died, and audit it once", async () => {
      const { id } = await make();
      const path = `snippets/${id}`;
      const copy = await cloned(path, on.owner);
      const newId = await commit(copy);
      const access = await on.open(on.owner, { id, path, directory: "" });
      const oldId = await gitOutput(["rev-parse", "HEAD~1"], { cwd: copy });
      const changes = [{ ref: "refs/heads/main", oldId, newId }];
      const audit = pushEntry(access, { address: null, requestId: "one" });
      const intent = await createIntent(on.app.services, access, changes, audit);
      assert.ok(intent);
      intent.releaseLease();
      const directory = join(on.app.services.config.dataDir, "repositories", `${snippetRepository(id)}.git`);
      await gitOutput(["push", "--quiet", directory, "main"], { cwd: copy });
      assert.equal((await get(`/${path}`, on.owner)).body.files.length, 1);
      const { write } = on.app.services.db;
      await sql`update pushes set held_until = now() - interval '1 ms' where id = ${intent.id}`.execute(write);
      await reconcilePushes(on.app.services);
      assert.equal((await get(`/${path}`, on.owner)).body.files.length, 2);
      // The process was only slow.
      await completePush(on.app.services, { intent, repository: access.repository, done: changes });
      assert.deepEqual(await eventsOf(id), ["snippet_created", "repository_pushed"]);
    });

    test("show names of files only so far, however long those are that were pushed", async () => {
      const { id } = await make();
      const copy = await cloned(`snippets/${id}`, on.owner);
      for (let at = 0; at < 30; at++) await writeFile(join(copy, `${at}-${"n".repeat(200)}.md`), "x");
      await commit(copy);
      assert.equal((await git(["push", "--quiet", "origin", "main"], { cwd: copy })).code, 0);
      const { body } = await get(`/snippets/${id}`, on.owner);
      assert.ok(body.files.length >= 15 && body.files.length < 20, String(body.files.length));
      const file_name = "n".repeat(256);
      assert.equal((await post("/snippets", on.owner, { title: "x", file_name, content: "x" })).status, 400);
    });

    test("keep their title if their author may no longer change them after the commit", async () => {
      const project = await on.project();
      const author = await on.member(project, "reporter");
      const { id } = await make({}, author, `/projects/${project.id}/snippets`);
      const { db } = on.app.services;
      const seen = await requireSnippet(db, { actor: await authenticateJob(db, author.id) }, id);
      const removeAuthor = () => db.write.deleteFrom("members").where("user_id", "=", author.id).execute();
      let asked = 0;
      const write = {
        services: on.app.services,
        databases: db,
        actor: await authenticateJob(db, author.id),
        consumer: BACKGROUND,
        // The commit asks first, and then the change of the title.
        async reauthenticate() {
          if (++asked === 2) await removeAuthor();
          return authenticateJob(db, author.id);
        },
        auditEntry: (target: AuditTarget) =>
          auditEntry("snippet_updated", null, { address: null, requestId: "one" }, target),
      };
      await assert.rejects(changeSnippet(seen, write, { title: "Too late", content: "In time\n" }), /Not Found/);
      const { body } = await get(`/snippets/${id}`, on.owner);
      assert.equal(body.title, "Knots");
      assert.equal((await get(`/snippets/${id}/raw`, on.owner)).text, "In time\n");
    });

    test("go with their repository", async () => {
      const { id } = await make();
      await get(`/snippets/${id}/raw`, on.owner);
      assert.ok(await isStored(id));
      assert.equal((await on.app.delete(`/snippets/${id}`, { token: on.owner.token })).status, 204);
      assert.equal((await get(`/snippets/${id}`, on.owner)).status, 404);
      const worker = await runWorker(on.app.services, jobs, { queues: ["git"] });
      await until("it is gone", async () => !(await isStored(id)));
      await worker.stop();
    });
  });

  describe("those of a project", () => {
    test("are for whoever may use the snippets of the project, and written from Reporter on", async () => {
      const project = await on.project();
      const list = `/projects/${project.id}/snippets`;
      const [guest, reporter, maintainer, stranger] = [
        await on.member(project, "guest"),
        await on.member(project, "reporter"),
        await on.member(project, "maintainer"),
        await on.app.makeUser(),
      ];
      assert.equal((await post(list, guest, { title: "x", file_name: "x", content: "x" })).status, 403);
      const open = await make({ visibility: "public" }, reporter, list);
      const closed = await make({ title: "Closed" }, reporter, list);
      assert.equal(open.project_id, project.id);
      assert.equal(open.web_url, `http://localhost/${project.path}/-/snippets/${open.id}`);
      assert.equal(open.http_url_to_repo, `http://localhost/${project.path}/snippets/${open.id}.git`);
      assert.equal(open.raw_url, `http://localhost/api/v4/projects/${project.id}/snippets/${open.id}/raw`);
      assert.equal((await get(`${list}/${open.id}`, stranger)).status, 404);
      await put(`/projects/${project.id}`, on.owner, { visibility: "public" });
      assert.equal((await get(`${list}/${open.id}`)).status, 200);
      assert.equal((await get(`/snippets/${open.id}`)).status, 200);
      assert.equal((await get(`${list}/${closed.id}`, stranger)).status, 404);
      assert.equal((await get(`/snippets/${closed.id}`, stranger)).status, 404);
      assert.equal((await get(`${list}/${closed.id}/raw`, guest)).text, "Up the hole\n");
      const listed = async (user?: TestUser, path = list) =>
        (await get(path, user)).body.map((one: { id: number }) => one.id);
      assert.deepEqual(await listed(), [open.id]);
      assert.deepEqual(await listed(guest), [closed.id, open.id]);
      assert.ok((await listed(stranger, "/snippets/all")).includes(open.id));
      assert.ok(!(await listed(stranger, "/snippets/all")).includes(closed.id));
      assert.ok((await listed(guest, "/snippets/all")).includes(closed.id));
      const elsewhere = await on.project();
      assert.equal((await get(`/projects/${elsewhere.id}/snippets/${open.id}`, on.owner)).status, 404);

      assert.equal((await put(`${list}/${open.id}`, guest, { title: "x" })).status, 403);
      assert.equal((await put(`${list}/${open.id}`, maintainer, { title: "By another" })).status, 200);
      assert.equal((await put(`/snippets/${open.id}`, reporter, { content: "New\n" })).status, 200);
      const copy = await cloned(`${project.path}/snippets/${open.id}`, maintainer);
      await commit(copy);
      assert.equal((await git(["push", "--quiet", "origin", "main"], { cwd: copy })).code, 0);
      assert.equal((await get(`${list}/${open.id}`)).body.files.length, 2);
      // Only at its own address.
      for (const path of [`snippets/${open.id}`, `${elsewhere.path}/snippets/${open.id}`]) {
        assert.notEqual((await git(["ls-remote", address(path, on.owner)], { cwd: copy })).code, 0);
      }
      await post(`/projects/${project.id}/archive`, on.owner);
      assert.match(JSON.stringify((await put(`${list}/${open.id}`, reporter, { title: "x" })).body), /archived/);
      await post(`/projects/${project.id}/unarchive`, on.owner);
      await put(`/projects/${project.id}`, on.owner, { snippets_access_level: "disabled" });
      assert.equal((await get(`${list}/${open.id}`, reporter)).status, 403);
      assert.equal((await get(`/snippets/${open.id}`, reporter)).status, 404);
      assert.equal((await get(`/snippets/${open.id}`, admin)).status, 404);
      assert.ok(!(await listed(admin, "/snippets/all")).includes(open.id));
      await put(`/projects/${project.id}`, on.owner, { snippets_access_level: "enabled" });
      assert.ok((await listed(admin, "/snippets/all")).includes(closed.id));
      assert.equal((await on.app.delete(`/snippets/${open.id}`, { token: admin.token })).status, 204);
    });

    test("go with the project, their repositories too", async () => {
      const project = await on.project();
      const { id } = await make({}, on.owner, `/projects/${project.id}/snippets`);
      await get(`/snippets/${id}/raw`, on.owner);
      await on.app.delete(`/projects/${project.id}`, { token: on.owner.token });
      const payload = { permanently_remove: true, full_path: project.path };
      await on.app.call("DELETE", `/projects/${project.id}`, { token: on.owner.token, payload });
      const worker = await runWorker(on.app.services, jobs, { queues: ["git", "bulk", "default"] });
      await until("both are gone", async () => !(await isStored(id)));
      await worker.stop();
    });

    test("stay when their author goes, but personal ones go with them", async () => {
      const author = await on.app.makeUser();
      const project = await on.project();
      await post(`/projects/${project.id}/members`, on.owner, { user_id: author.id, access_level: 30 });
      const shared = await make({}, author, `/projects/${project.id}/snippets`);
      const own = await make({}, author);
      await get(`/snippets/${own.id}/raw`, author);
      assert.equal((await on.app.delete(`/users/${author.id}`, { token: admin.token })).status, 204);
      const worker = await runWorker(on.app.services, jobs, { queues: ["git", "bulk", "default"] });
      await until("the personal one is gone", async () => !(await isStored(own.id)));
      await worker.stop();
      const { body } = await get(`/snippets/${shared.id}`, on.owner);
      assert.equal(body.author.username, "ghost");
    });
  });

  test("move between storages by their administrators", async () => {
    const { id } = await make();
    const path = `/snippets/${id}/repository_storage_moves`;
    assert.equal((await post(path, on.owner)).status, 403);
    const { status, body: move } = await post(path, admin, { destination_storage_name: "second" });
    assert.equal(status, 201);
    const { author, file_name, files, expires_at, imported, imported_from, ...identity } = (
      await get(`/snippets/${id}`, on.owner)
    ).body;
    assert.deepEqual([move.state, move.snippet], ["scheduled", identity]);
    assert.ok(author && file_name && files && expires_at === null && imported === false && imported_from);
    assert.deepEqual((await post(path, admin)).body, { message: { snippet: ["is read-only"] } });
    const worker = await runWorker(on.app.services, jobs, { queues: ["moves", "git", "bulk"] });
    await until("it has moved", async () => (await get(`/snippets/${id}`, admin)).body.repository_storage === "second");
    const copy = await cloned(`snippets/${id}`, on.owner);
    await commit(copy);
    assert.equal((await git(["push", "--quiet", "origin", "main"], { cwd: copy })).code, 0);
    const all = (await get("/snippet_repository_storage_moves", admin)).body;
    assert.deepEqual(
      all.map((one: { id: number }) => one.id),
      [move.id],
    );
    assert.equal((await get(`/snippet_repository_storage_moves/${move.id}`, admin)).body.snippet.id, id);
    assert.equal((await get(`/project_repository_storage_moves/${move.id}`, admin)).status, 404);
    const other = await make();
    assert.equal((await get(`/snippets/${other.id}/repository_storage_moves/${move.id}`, admin)).status, 404);
    const back = { source_storage_name: "second", destination_storage_name: "default" };
    assert.equal((await post("/snippet_repository_storage_moves", admin, back)).status, 202);
    await until("it is back", async () => (await get(`/snippets/${id}`, admin)).body.repository_storage === "default");
    await worker.stop();
    assert.equal((await get(path, admin)).body.length, 2);
    assert.equal((await get(`/snippets/${id}/files/main/log/raw`, on.owner)).status, 200);
  });
});
