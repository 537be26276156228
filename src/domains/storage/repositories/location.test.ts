import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { projectRepository, type Repository } from "#git/storages/storage.ts";
import { runWorker, type Worker } from "#jobs/worker.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { Refusal } from "#lib/refusal.ts";
import { deletions } from "#domains/index.ts";
import { removeGroup } from "#domains/organization/groups/jobs.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { removeMarkedProject } from "#domains/organization/projects/jobs.ts";
import { removeUser } from "#domains/identity/users/jobs.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { maintainRepository, createRepository, removeRepositories } from "./jobs.ts";
import { PUSHES_PER_PACKING, notePush } from "./maintenance.ts";
import { repositoryLocations, repositoryOf } from "./location.ts";

const ALL = [
  createRepository,
  maintainRepository,
  removeRepositories,
  removeMarkedProject(deletions),
  removeGroup(deletions),
  removeUser(deletions),
];

describe("the repository of a project", () => {
  let app: TestApp;
  let insert: RowInserter;
  let user: TestUser;
  let admin: TestUser;
  let number = 0;
  before(async () => {
    // Weights and the deletion delay are settings of the whole instance.
    app = await testApp({ databaseUrl: await freshDatabase() });
    insert = rowInserter(app);
    [user, admin] = await Promise.all([
      app.makeUser({ name: "Ada <Lovelace>", commit_email: "ada@analytical.example" }),
      app.makeUser({ admin: true }),
    ]);
  });
  after(async () => {
    await app.close();
    await removeWorkingCopies();
  });

  const create = async (payload: object = {}, token = user.token) => {
    const answer = await app.post("/projects", { token, payload: { name: `Project ${++number}`, ...payload } });
    assert.equal(answer.status, 201, answer.text);
    return answer.body as { id: number; path_with_namespace: string; empty_repo: boolean; readme_url: string | null };
  };
  const look = async (id: number) => (await app.get(`/projects/${id}`, { token: user.token })).body;
  const rowOf = (id: number) =>
    repositoryLocations(app.services.db.write).where("r.project_id", "=", id).executeTakeFirstOrThrow();
  const handle = (id: number): Repository => app.services.git.storage("default").repository(projectRepository(id));
  const pathOf = (id: number) => join(app.services.config.dataDir, "repositories", `${projectRepository(id)}.git`);
  const used = async (id: number) => repositoryOf(app.services, await rowOf(id), BACKGROUND);
  const headOf = (id: number) => gitOutput(["--git-dir", pathOf(id), "symbolic-ref", "HEAD"], { cwd: "/" });
  const eventsOf = (id: number) =>
    app.services.db.write
      .selectFrom("events")
      .selectAll()
      .where("project_id", "=", id)
      .where("push_action", "is not", null)
      .execute();
  /** Pushes a commit with git. */
  const push = async (id: number, ...refs: string[]) => {
    await used(id);
    const copy = await workingCopy();
    await gitOutput(["push", "--quiet", pathOf(id), ...refs.map((ref) => `main:refs/heads/${ref}`)], { cwd: copy });
    const row = await rowOf(id);
    await app.services.db.transaction((tx) => notePush(tx, app.services.jobs, row));
  };
  const working = async (work: () => Promise<unknown>) => {
    const worker: Worker = await runWorker(app.services, ALL);
    try {
      await work();
    } finally {
      await worker.stop();
    }
  };

  test("is created on first use, with HEAD at the default branch", async () => {
    const { id, empty_repo, readme_url } = await create({ default_branch: "trunk" });
    assert.equal(empty_repo, true);
    assert.equal(readme_url, null);
    assert.equal(await handle(id).exists(), false);
    const all = await Promise.all(Array.from({ length: 10 }, () => used(id)));
    assert.equal(all.length, 10);
    assert.equal(await headOf(id), "refs/heads/trunk");
    assert.deepEqual(await eventsOf(id), []);
  });

  test("is created by a job if nothing used it before", async () => {
    const { id } = await create();
    await working(() => until("it is made", () => handle(id).exists()));
    await working(async () => {
      await until("nothing waits", async () => (await waiting("repositories.create")) === 0);
    });
  });

  test("starts with a README, which exists with the project, and its event", async () => {
    const project = await create({ name: "Harbour", description: "Where ships rest.", initialize_with_readme: true });
    assert.equal(project.empty_repo, false);
    assert.match(project.readme_url ?? "", new RegExp(`/${project.path_with_namespace}/-/blob/main/README.md$`));
    const repository = await used(project.id);
    const readme = await repository.objects.read("refs/heads/main:README.md");
    assert.equal(readme?.bytes.toString(), "# Harbour\n\nWhere ships rest.\n");
    const commit = await repository.objects.read("refs/heads/main");
    assert.match(commit?.bytes.toString() ?? "", /^author Ada Lovelace <ada@analytical.example> \d+ \+0000$/m);
    assert.match(commit?.bytes.toString() ?? "", /\n\nInitial commit\n$/);
    const [event, ...more] = await eventsOf(project.id);
    assert.deepEqual(more, []);
    assert.equal(event?.commit_to, commit?.id, "the event names the same commit");
    assert.equal(event?.author_id, user.id);
    assert.deepEqual(
      [event?.push_action, event?.ref_type, event?.ref, event?.commit_count, event?.commit_title],
      ["created", "branch", "main", 1, "Initial commit"],
    );
    assert.equal(await gitOutput(["--git-dir", pathOf(project.id), "fsck", "--strict"], { cwd: "/" }), "");
  });

  test("starts with a README by its owner, on the requested branch", async () => {
    const payload = { name: "Given", initialize_with_readme: true, default_branch: "feature/é" };
    const { status, body } = await app.post(`/projects/user/${user.id}`, { token: admin.token, payload });
    assert.equal(status, 201);
    assert.match(body.readme_url, /\/-\/blob\/feature\/%C3%A9\/README\.md$/);
    const repository = await used(body.id);
    const commit = await repository.objects.read("refs/heads/feature/é");
    assert.match(commit?.bytes.toString() ?? "", /^committer Ada Lovelace/m);
    assert.equal((await eventsOf(body.id))[0]?.author_id, user.id);
  });

  test("is not recreated if the storage lost it", async () => {
    for (const initialize_with_readme of [false, true]) {
      const { id } = await create({ initialize_with_readme });
      await push(id, "other");
      await rm(pathOf(id), { recursive: true });
      await assert.rejects(used(id), (error) => error instanceof Refusal && error.kind === "unavailable");
      assert.equal(await handle(id).exists(), false);
    }
  });

  test("is not recreated by a use after the project was deleted", async () => {
    const { id } = await create();
    const row = await rowOf(id);
    await app.services.db.write.deleteFrom("projects").where("id", "=", id).execute();
    await assert.rejects(
      repositoryOf(app.services, row, BACKGROUND),
      (error) => error instanceof Refusal && error.kind === "missing",
    );
    assert.equal(await handle(id).exists(), false);
  });

  test("follows the default branch of the project, which must exist unless the repository is empty", async () => {
    const { id } = await create();
    const change = (default_branch: string) =>
      app.put(`/projects/${id}`, { token: user.token, payload: { default_branch } });
    assert.equal((await change("trunk")).status, 200, "an empty one may expect any");
    await working(() => until("HEAD is trunk", async () => (await headOf(id).catch(() => "")) === "refs/heads/trunk"));
    await push(id, "trunk", "next");
    assert.equal((await look(id)).empty_repo, false);
    const refused = await change("absent");
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body, { message: { default_branch: ["is no branch of the repository"] } });
    assert.equal((await change("trunk")).status, 200);
    assert.equal((await change("next")).status, 200);
    await working(() => until("HEAD is next", async () => (await headOf(id)) === "refs/heads/next"));
    const shown = async () => (await look(id)).readme_url as string | null;
    assert.match(
      (await until("the README is known", async () => (await shown()) ?? undefined)) ?? "",
      /next\/README\.md$/,
    );
  });

  test("stays while its project can be restored, and is deleted with it", async () => {
    const { id, path_with_namespace: full_path } = await create();
    await push(id, "main");
    await app.delete(`/projects/${id}`, { token: user.token });
    assert.equal(await waiting("repositories.remove"), 0);
    await app.post(`/projects/${id}/restore`, { token: user.token });
    assert.equal(await handle(id).exists(), true);
    await app.delete(`/projects/${id}`, { token: user.token });
    const payload = { permanently_remove: true, full_path };
    assert.equal((await app.delete(`/projects/${id}`, { token: user.token, payload })).status, 202);
    assert.equal(await handle(id).exists(), true);
    await working(() => until("it is gone", async () => !(await handle(id).exists())));
    assert.deepEqual(await readdir(join(app.services.config.dataDir, "repositories", "tmp")), []);
  });

  test("is deleted with its group", async () => {
    const group = await insert.group();
    await insert.member(user, { group_id: group }, "owner");
    const below = await insert.group(group);
    const made = [await create({ namespace_id: group }), await create({ namespace_id: below })];
    for (const { id } of made) await used(id);
    await app.delete(`/groups/${group}`, { token: user.token });
    const { full_path } = (await app.get(`/groups/${group}`, { token: user.token })).body;
    const payload = { permanently_remove: true, full_path };
    assert.equal((await app.delete(`/groups/${group}`, { token: user.token, payload })).status, 202);
    await working(async () => {
      for (const { id } of made) await until("it is gone", async () => !(await handle(id).exists()));
    });
  });

  test("is deleted with the owner of its personal namespace", async () => {
    const leaving = await app.makeUser();
    const { id } = await create({ initialize_with_readme: true }, leaving.token);
    await used(id);
    assert.equal((await app.delete(`/users/${leaving.id}`, { token: admin.token })).status, 204);
    await working(() => until("it is gone", async () => !(await handle(id).exists())));
  });

  test("is packed after many pushes, or after a large first one", async () => {
    const { id } = await create();
    await push(id, "main");
    assert.equal(
      await waiting("repositories.pack", (await rowOf(id)).repository_id),
      1,
      "a first push is looked at later",
    );
    const row = await rowOf(id);
    await app.services.db.transaction(async (tx) => {
      for (let at = 1; at < PUSHES_PER_PACKING; at++) await notePush(tx, app.services.jobs, row);
    });
    const packs = () => readdir(join(pathOf(id), "objects", "pack"));
    assert.deepEqual(await packs(), []);
    await working(() => until("it is packed", async () => (await packs()).some((file) => file.endsWith(".bitmap"))));
    await until("it is counted", async () => {
      const row = await app.services.db.write
        .selectFrom("repositories")
        .select("unpacked_pushes")
        .where("project_id", "=", id)
        .executeTakeFirst();
      return row?.unpacked_pushes === 0;
    });
  });

  async function waiting(job: string, id?: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from jobs.job
      where data ->> 'job' = ${job}
        and (${id ?? null}::text is null or data -> 'payload' ->> 'repository_id' = ${id ?? null}::text)`.execute(
      app.services.db.write,
    );
    return rows[0]?.count ?? 0;
  }
});

describe("several storages", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    const root = await workingCopy();
    app = await testApp({
      databaseUrl: await freshDatabase(),
      env: { FAIRLEAD_STORAGES: `default=${root}/one, fast=${root}/two,spare=${root}/three` },
    });
    admin = await app.makeUser({ admin: true });
  });
  after(async () => {
    await app.close();
    await removeWorkingCopies();
  });

  const weigh = (repository_storages_weighted: Record<string, number>) =>
    app.put("/application/settings", { token: admin.token, payload: { repository_storages_weighted } });
  let number = 0;
  const storageOf = async (payload: object = {}) =>
    (await app.post("/projects", { token: admin.token, payload: { name: `On ${++number}`, ...payload } })).body
      .repository_storage;

  test("have weights; those of unknown storages are ignored", async () => {
    const shown = (await app.get("/application/settings", { token: admin.token })).body;
    assert.deepEqual(shown.repository_storages_weighted, { default: 100, fast: 0, spare: 0 });
    const wrong = await weigh({ fast: 1, elsewhere: 1 });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /elsewhere is no storage of this instance, which has: default, fast, spare/);
    assert.deepEqual((await weigh({ fast: 30, spare: 70 })).body.repository_storages_weighted, {
      default: 0,
      fast: 30,
      spare: 70,
    });
  });

  test("are drawn by weight, unless an administrator names one", async () => {
    await weigh({ fast: 50, spare: 50 });
    // Settings are cached for a second.
    await until("the weights are known", async () => (await storageOf()) !== "default");
    const drawn = new Set<string>();
    for (let at = 0; at < 40; at++) drawn.add(await storageOf());
    assert.deepEqual([...drawn].toSorted(), ["fast", "spare"]);
    assert.equal(await storageOf({ repository_storage: "default" }), "default", "a storage of weight 0 can be named");
  });

  test("store the repositories of their projects", async () => {
    const { body } = await app.post("/projects", {
      token: admin.token,
      payload: { name: "Spare", repository_storage: "spare", initialize_with_readme: true },
    });
    const { db } = app.services;
    const location = await repositoryLocations(db.write).where("r.project_id", "=", body.id).executeTakeFirstOrThrow();
    const repository = await repositoryOf(app.services, location, BACKGROUND);
    assert.equal(repository.storage, "spare");
    assert.ok(await repository.objects.info("refs/heads/main:README.md"));
    assert.equal(await app.services.git.storage("fast").repository(projectRepository(body.id)).exists(), false);
  });
});
