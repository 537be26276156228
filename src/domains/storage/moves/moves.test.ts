import assert from "node:assert/strict";
import { chmod, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { copyPath, projectRepository, type RepositoryName } from "#git/storages/storage.ts";
import type { JobContext } from "#jobs/define.ts";
import { runWorker, type Worker } from "#jobs/worker.ts";
import { jobs } from "#domains/index.ts";
import type { TestUser } from "#test/support/app.ts";
import { git, gitOutput } from "#test/support/git.ts";
import { commit, type PushedProject, pushedProject, type Pushing, pushingApp } from "#test/support/pushing.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { createRepository } from "#domains/storage/repositories/jobs.ts";
import { LeaseLost, MAX_ATTEMPTS, renewLease, startAttempt, switchRepository } from "./attempt.ts";
import { cleanUpMove, moveRepository } from "./jobs.ts";

const READ_ONLY = "The repository is temporarily read-only. Please try again later.";

describe("storage moves", () => {
  let on: Pushing;
  let admin: TestUser;
  let worker: Worker | undefined;
  before(async () => {
    on = await pushingApp({ databaseUrl: await freshDatabase() });
    admin = await on.app.makeUser({ admin: true });
  });
  after(async () => {
    await worker?.stop();
    await on.close();
  });
  beforeEach(async () => {
    await worker?.stop();
    worker = undefined;
    await sql`delete from jobs.job`.execute(on.app.services.db.write);
  });

  const db = () => on.app.services.db.write;
  const work = async () => {
    worker = await runWorker(on.app.services, jobs, { queues: ["moves", "git", "bulk"] });
  };
  const post = (path: string, payload: object = {}) => on.app.post(path, { token: admin.token, payload });
  const get = async (path: string) => (await on.app.get(path, { token: admin.token })).body;
  const schedule = (project: { readonly id: number }, payload: object = {}) =>
    post(`/projects/${project.id}/repository_storage_moves`, payload);
  const stateOf = async (id: number): Promise<string> => (await get(`/project_repository_storage_moves/${id}`)).state;
  /** Cleanups wait for readers of the source; nobody reads it here. */
  const cleanUpNow = () =>
    sql`update jobs.job set start_after = now() where data->>'job' = 'storage_moves.clean_up'`.execute(db());
  const reaches = (id: number, state: string) =>
    until(state, async () => {
      await cleanUpNow();
      return (await stateOf(id)) === state;
    });
  const rowOf = async ({ id }: { readonly id: number }) => {
    const { rows } = await sql<{ storage: string; disk_path: RepositoryName; locked: boolean; shown: string }>`
      select r.storage, r.disk_path, coalesce(r.read_only_until > now(), false) as locked, p.repository_storage as shown
      from repositories r join projects p on p.id = r.project_id where p.id = ${id}`.execute(db());
    return rows[0]!;
  };
  const directory = (storage: string) =>
    join(on.app.services.config.dataDir, storage === "default" ? "repositories" : storage);
  const directoryOf = async (project: { readonly id: number }) => {
    const { storage, disk_path } = await rowOf(project);
    return join(directory(storage), `${disk_path}.git`);
  };
  const refAt = async (project: { readonly id: number }, ref: string) =>
    gitOutput(["rev-parse", "--verify", "--quiet", ref], { cwd: await directoryOf(project) });
  /** All repositories on a storage whose path begins like that of a project. */
  const copiesOf = async (project: { readonly id: number }, storage: string) => {
    const names = await Array.fromAsync(on.app.services.git.storage(storage).repositories());
    return names.filter((name) => name.startsWith(projectRepository(project.id)));
  };

  describe("one project", () => {
    test("moves with all that was pushed, stays writable before and after, and its source is removed", async () => {
      const { project, copy, first } = await pushedProject(on);
      const source = await directoryOf(project);
      const { status, body: move } = await schedule(project, { destination_storage_name: "second" });
      assert.equal(status, 201);
      assert.deepEqual(
        [move.state, move.source_storage_name, move.destination_storage_name, move.project.id, move.progress],
        ["scheduled", "default", "second", project.id, null],
      );
      assert.deepEqual(Object.keys(move.project), [
        ...["id", "description", "name", "name_with_namespace", "path", "path_with_namespace", "created_at"],
      ]);
      // It only waits, so people go on.
      assert.equal((await rowOf(project)).locked, false);
      const second = await commit(copy);
      assert.equal((await on.push(copy, project, on.owner, "main")).code, 0);

      await work();
      await reaches(move.id, "finished");
      const row = await rowOf(project);
      assert.deepEqual(row, {
        ...{ storage: "second", disk_path: copyPath(projectRepository(project.id), move.id, 1) },
        ...{ locked: false, shown: "second" },
      });
      assert.equal(await refAt(project, "refs/heads/main"), second);
      assert.equal((await git(["fsck", "--full", "--strict"], { cwd: await directoryOf(project) })).code, 0);
      await assert.rejects(readdir(source), { code: "ENOENT" });
      const done = await get(`/projects/${project.id}/repository_storage_moves/${move.id}`);
      assert.ok(done.started_at >= done.created_at && done.finished_at >= done.started_at);
      assert.deepEqual([done.error_message, done.progress], [null, null]);

      const third = await commit(copy);
      assert.equal((await on.push(copy, project, on.owner, "main", "main:next")).code, 0);
      assert.equal(await refAt(project, "refs/heads/main"), third);
      const events = (await on.events(project)).map(({ commit_to }) => commit_to);
      assert.deepEqual(events, [first, second, third, third]);

      // And back, to a path that was never used before.
      const { body: back } = await schedule(project);
      assert.equal(back.destination_storage_name, "default");
      await until("it is switched", async () => (await rowOf(project)).storage === "default");
      // The source is still there for readers, and nobody has to wait for that.
      assert.equal(await stateOf(back.id), "replicated");
      assert.equal((await schedule(project)).status, 201);
      await until("it is switched again", async () => (await rowOf(project)).storage === "second");
      const { body: last } = await schedule(project);
      await reaches(last.id, "finished");
      await reaches(back.id, "finished");
      assert.deepEqual((await rowOf(project)).disk_path, copyPath(projectRepository(project.id), last.id, 1));
      await until("only one is left", async () => {
        await cleanUpNow();
        return [await copiesOf(project, "second"), await copiesOf(project, "default")].flat().length === 1;
      });
      assert.equal(await refAt(project, "refs/heads/next"), third);
      const ids = (await get(`/projects/${project.id}/repository_storage_moves`)).map((one: { id: number }) => one.id);
      assert.deepEqual([ids[0], ids[2], ids[3]], [last.id, back.id, move.id]);
    });

    test("an empty one, one that was never created, and an archived one", async () => {
      const token = on.owner.token;
      const make = async (name: string) =>
        (await on.app.post("/projects", { token, payload: { name, default_branch: "trunk" } })).body;
      const [never, empty] = [await make("never created"), await make("empty")];
      await on.app.get(`/projects/${empty.id}/repository/branches`, { token });
      const { project: archived, first } = await pushedProject(on);
      await on.app.post(`/projects/${archived.id}/archive`, { token });
      const moves = [];
      for (const project of [never, empty, archived]) moves.push((await schedule(project)).body);
      await work();
      for (const [at, project] of [never, empty, archived].entries()) {
        await reaches(moves[at].id, "finished");
        assert.equal((await rowOf(project)).storage, "second");
        assert.deepEqual(await copiesOf(project, "default"), []);
      }
      await until("HEAD is set", async () => {
        const head = await gitOutput(["symbolic-ref", "HEAD"], { cwd: await directoryOf(never) }).catch(() => "");
        return head === "refs/heads/trunk";
      });
      assert.equal(await refAt(archived, "refs/heads/main"), first);
    });

    test("is refused to an unknown storage, to its own, by a second name of it, and twice", async () => {
      const { project } = await pushedProject(on);
      const refused = async (name: unknown, reason: string) => {
        const { status, body } = await schedule(project, { destination_storage_name: name });
        assert.deepEqual([status, body], [400, { message: { destination_storage_name: [reason] } }], String(name));
      };
      for (const name of ["nowhere", "../second", "/etc", "SECOND", "second "]) {
        await refused(name, "is not included in the list");
      }
      assert.equal((await schedule(project, { destination_storage_name: "second\0" })).status, 400);
      await refused("default", "is the storage that the project is already on");
      // The same directory under two names.
      await rename(directory("second"), directory("aside"));
      await symlink(directory("default"), directory("second"));
      await refused("second", "is the storage that the project is already on");
      await rm(directory("second"));
      await rename(directory("aside"), directory("second"));
      assert.deepEqual(await get(`/projects/${project.id}/repository_storage_moves`), []);

      const answers = await Promise.all(Array.from({ length: 20 }, () => schedule(project)));
      assert.equal(answers.filter(({ status }) => status === 201).length, 1);
      for (const { status, body } of answers.filter((answer) => answer.status !== 201)) {
        assert.deepEqual([status, body], [400, { message: { project: ["is read-only"] } }]);
      }
    });

    test("is 404 for an unknown project, and for a move of another one", async () => {
      const { project } = await pushedProject(on);
      const { project: other } = await pushedProject(on);
      const { body: move } = await schedule(project);
      const missing = await on.app.get(`/projects/${other.id}/repository_storage_moves/4503599627370495`, {
        token: admin.token,
      });
      for (const path of [
        `/projects/${other.id}/repository_storage_moves/${move.id}`,
        "/project_repository_storage_moves/0",
      ]) {
        const answer = await on.app.get(path, { token: admin.token });
        assert.deepEqual([answer.status, answer.text], [404, missing.text]);
      }
      assert.equal((await schedule({ id: 4_503_599 })).status, 404);
      const byPath = `/projects/${encodeURIComponent(project.path)}/repository_storage_moves/${move.id}`;
      assert.equal((await get(byPath)).id, move.id);
    });
  });

  describe("a whole storage", () => {
    test("is emptied in batches; what has a move already is left alone", async () => {
      await sql`delete from repository_storage_moves`.execute(db());
      const made: PushedProject[] = [];
      for (let number = 0; number < 3; number++) made.push((await pushedProject(on)).project);
      const { body: own } = await schedule(made[0]!);
      const { status, body } = await post("/project_repository_storage_moves", { source_storage_name: "default" });
      assert.deepEqual([status, body], [202, { message: "202 Accepted" }]);
      await work();
      await until("nothing is on it", async () => {
        await cleanUpNow();
        return (await get("/projects?repository_storage=default")).length === 0;
      });
      assert.deepEqual((await get(`/projects/${made[0]!.id}/repository_storage_moves`)).length, 1);
      await reaches(own.id, "finished");
      await until("nothing is left there", async () => {
        await cleanUpNow();
        return (await Promise.all(made.map((project) => copiesOf(project, "default")))).flat().length === 0;
      });
      const listed = await get("/project_repository_storage_moves?per_page=100");
      const ids = listed.map(({ id }: { id: number }) => id);
      assert.deepEqual(
        ids,
        ids.toSorted((one: number, other: number) => other - one),
      );
      await post("/project_repository_storage_moves", {
        ...{ source_storage_name: "second", destination_storage_name: "default" },
      });
      await until("all is back", async () => (await get("/projects?repository_storage=second")).length === 0);
    });

    test("is refused for unknown and equal names", async () => {
      for (const [source, destination, error] of [
        ["nowhere", undefined, "source_storage_name"],
        ["default", "nowhere", "destination_storage_name"],
        ["default", "default", "destination_storage_name"],
      ] as const) {
        const answer = await post("/project_repository_storage_moves", {
          source_storage_name: source,
          destination_storage_name: destination,
        });
        assert.deepEqual([answer.status, answer.body], [400, { error: `${error} does not have a valid value` }]);
      }
      assert.equal((await post("/project_repository_storage_moves")).status, 400);
    });
  });

  /** The parts of a job that the move's own protocol does not need. */
  const context = (payload: object, id = crypto.randomUUID()) =>
    ({
      ...{ id, payload, services: on.app.services, attempt: 1, signal: new AbortController().signal },
      step: on.app.services.db.transaction,
      transaction: on.app.services.db.transaction,
    }) as unknown as JobContext<never>;
  const scheduled = async (project: PushedProject) => {
    const { body: move } = await schedule(project);
    const payload = { move_id: move.id, path: projectRepository(project.id), destination: "second" };
    return { move, payload };
  };
  const begin = (payload: Parameters<typeof startAttempt>[2], jobId: string) =>
    on.app.services.db.transaction((tx) => startAttempt(tx, on.app.services.jobs, payload, jobId));

  describe("an attempt", () => {
    test("makes the repository read-only until it ends: pushes are refused, fetches are not", async () => {
      const { project, copy } = await pushedProject(on);
      const { payload, move } = await scheduled(project);
      const attempt = await begin(payload, crypto.randomUUID());
      assert.ok(attempt);
      assert.equal(await stateOf(move.id), "started");
      assert.equal((await rowOf(project)).locked, true);
      await commit(copy);
      const { code, stderr } = await on.push(copy, project, on.owner, "main");
      assert.deepEqual([code === 0, stderr.includes(READ_ONLY)], [false, true]);
      assert.equal(
        (await on.app.get(`/projects/${project.id}/repository/branches`, { token: admin.token })).status,
        200,
      );
      assert.equal((await schedule(project)).status, 400);
      await on.app.services.db.transaction((tx) => switchRepository(tx, on.app.services.jobs, attempt));
      assert.equal((await rowOf(project)).locked, false);
    });

    test("waits for a push that has begun, and fails if that does not end", async (t) => {
      const { project, first } = await pushedProject(on);
      const { payload, move } = await scheduled(project);
      const { id: repository_id } = (
        await sql<{ id: number }>`
        select id from repositories where project_id = ${project.id}`.execute(db())
      ).rows[0]!;
      await sql`insert into pushes (repository_id, project_id, user_id, refs, old_ids, new_ids, held_until)
        values (${repository_id}, ${project.id}, ${on.owner.id}, '{refs/heads/main}', ${[first]}, ${[first]},
          now() + interval '1 hour')`.execute(db());
      const running = moveRepository.run(context(payload));
      await until(
        "it waits",
        async () => (await get(`/project_repository_storage_moves/${move.id}`)).state === "started",
      );
      assert.equal((await get(`/project_repository_storage_moves/${move.id}`)).progress.phase, "waiting for pushes");
      // Its patience is measured by the monotonic clock.
      t.mock.method(performance, "now", () => Infinity);
      await running;
      const failed = await get(`/project_repository_storage_moves/${move.id}`);
      assert.deepEqual(
        [failed.state, failed.error_message],
        ["failed", "A push was still running after 30 seconds. Please try again later."],
      );
      assert.equal((await rowOf(project)).locked, false);
      await sql`delete from pushes where repository_id = ${repository_id}`.execute(db());
    });

    test("that fails says why, leaves the source as it was, and no copy", async () => {
      const { project, copy } = await pushedProject(on);
      const objects = join(await directoryOf(project), "objects/pack");
      const pack = join(objects, (await readdir(objects)).find((name) => name.endsWith(".pack")) ?? "");
      const bytes = await readFile(pack);
      const damaged = Buffer.from(bytes);
      damaged[bytes.length - 30]! ^= 1;
      await chmod(pack, 0o600);
      await writeFile(pack, damaged);
      const { payload, move } = await scheduled(project);
      await moveRepository.run(context(payload));
      const failed = await get(`/project_repository_storage_moves/${move.id}`);
      assert.equal(failed.state, "failed");
      assert.match(
        failed.error_message,
        /^A file of the repository on default is damaged: pack-\w+\.pack has a wrong checksum$/,
      );
      assert.deepEqual(await copiesOf(project, "second"), []);
      assert.deepEqual(await rowOf(project), {
        ...{ storage: "default", disk_path: projectRepository(project.id), locked: false, shown: "default" },
      });
      await writeFile(pack, bytes);
      await commit(copy);
      assert.equal((await on.push(copy, project, on.owner, "main")).code, 0);

      await rm(await directoryOf(project), { recursive: true });
      const again = await scheduled(project);
      await moveRepository.run(context(again.payload));
      const lost = await get(`/project_repository_storage_moves/${again.move.id}`);
      assert.equal(lost.error_message, "The repository is missing on default; restore it from a backup first");
    });

    test("is taken over after its worker died, and the one that comes late changes nothing", async () => {
      const { project, first } = await pushedProject(on);
      const { payload, move } = await scheduled(project);
      const jobId = crypto.randomUUID();
      const late = await begin(payload, jobId);
      assert.ok(late);
      assert.equal(await begin(payload, crypto.randomUUID()), undefined, "another job finds it held");
      const now = await begin(payload, jobId);
      assert.equal(now?.attempt, 2);
      const { transaction } = on.app.services.db;
      const progress = { phase: "copying", bytes: 1, total_bytes: 2 };
      await assert.rejects(
        transaction((tx) => renewLease(tx, late, progress)),
        LeaseLost,
      );
      await moveRepository.run(context(payload, jobId));
      assert.equal(await stateOf(move.id), "replicated");
      for (const held of [late, now]) {
        await assert.rejects(
          transaction((tx) => switchRepository(tx, on.app.services.jobs, held)),
          LeaseLost,
        );
      }
      await moveRepository.run(context(payload, jobId));
      await moveRepository.run(context(payload));
      const row = await rowOf(project);
      assert.equal(row.disk_path, copyPath(projectRepository(project.id), move.id, 3));
      assert.equal(await refAt(project, "refs/heads/main"), first);
      await cleanUpMove.run(context({ move_id: move.id, storage: "default", path: projectRepository(project.id) }));
      await cleanUpMove.run(context({ move_id: move.id, storage: "default", path: projectRepository(project.id) }));
      assert.equal(await stateOf(move.id), "finished");
      assert.deepEqual(await copiesOf(project, "default"), []);
    });

    test("whose lease lapsed cannot switch, because a push may have come in between", async () => {
      const { project, copy } = await pushedProject(on);
      const { payload, move } = await scheduled(project);
      const attempt = await begin(payload, crypto.randomUUID());
      assert.ok(attempt);
      await sql`update repositories set read_only_until = now() - interval '1 ms' where project_id = ${project.id}`.execute(
        db(),
      );
      const second = await commit(copy);
      assert.equal((await on.push(copy, project, on.owner, "main")).code, 0);
      const { transaction } = on.app.services.db;
      const progress = { phase: "copying", bytes: 1, total_bytes: 2 };
      for (const write of [
        () => transaction((tx) => renewLease(tx, attempt, progress)),
        () => transaction((tx) => switchRepository(tx, on.app.services.jobs, attempt)),
      ]) {
        await assert.rejects(write(), LeaseLost);
      }
      // Whoever comes next copies what was pushed.
      await moveRepository.run(context(payload));
      assert.equal(await stateOf(move.id), "replicated");
      assert.equal(await refAt(project, "refs/heads/main"), second);
    });

    test("that begins before the repository exists leaves its first commit, however late that is created", async () => {
      for (const isLate of [false, true]) {
        const payload = { name: `First ${isLate}`, initialize_with_readme: true };
        const { body: project } = await on.app.post("/projects", { token: on.owner.token, payload });
        const { payload: moving } = await scheduled(project);
        const attempt = await begin(moving, crypto.randomUUID());
        assert.ok(attempt);
        const { transaction } = on.app.services.db;
        const switchNow = () => transaction((tx) => switchRepository(tx, on.app.services.jobs, attempt));
        const creation = context({ repository_id: attempt.repository_id });
        if (isLate) {
          // The first commit is created at the source, and noted after the switch.
          await createRepository.run({
            ...creation,
            transaction: async (write) => {
              await switchNow();
              return transaction(write);
            },
          });
        } else {
          await createRepository.run(creation);
          await switchNow();
        }
        assert.deepEqual((await rowOf(project)).storage, "second");
        const files = await get(`/projects/${project.id}/repository/tree`);
        assert.equal(files[0]?.name, "README.md", `late: ${isLate}`);
      }
    });

    test("is not made forever", async () => {
      const { project } = await pushedProject(on);
      const { payload, move } = await scheduled(project);
      await sql`update repository_storage_moves set attempt = ${MAX_ATTEMPTS} where id = ${move.id}`.execute(db());
      await moveRepository.run(context(payload));
      const failed = await get(`/project_repository_storage_moves/${move.id}`);
      assert.deepEqual([failed.state, failed.error_message], ["failed", "The move was interrupted 10 times"]);
    });

    test("ends with its project, and nothing remains on either storage", async () => {
      const { project } = await pushedProject(on);
      const { payload } = await scheduled(project);
      const attempt = await begin(payload, crypto.randomUUID());
      assert.ok(attempt);
      await on.app.services.git.storage("second").repository(attempt.destination.path).create("main");
      for (const path of [
        `/projects/${project.id}`,
        `/projects/${project.id}?permanently_remove=true&full_path=${project.path}`,
      ]) {
        await on.app.delete(path, { token: admin.token });
      }
      await sql`update jobs.job set start_after = now()`.execute(db());
      await work();
      await until("the project is gone", async () => (await rowOf(project)) === undefined);
      await moveRepository.run(context(payload));
      await until("nothing remains", async () => {
        const left = [await copiesOf(project, "default"), await copiesOf(project, "second")];
        return left.flat().length === 0;
      });
    });
  });

  test("a source that cannot be removed is shown, and removed later", async () => {
    const { project } = await pushedProject(on);
    const { payload, move } = await scheduled(project);
    await moveRepository.run(context(payload));
    const cleanup = { move_id: move.id, storage: "default", path: projectRepository(project.id) };
    const { git: real } = on.app.services;
    const broken = {
      ...real,
      storage: () => ({ repository: () => ({ remove: () => Promise.reject(new Error("EIO")) }) }),
    };
    const failing = { ...context(cleanup), services: { ...on.app.services, git: broken } } as never;
    await assert.rejects(cleanUpMove.run(failing), /EIO/);
    const shown = await get(`/project_repository_storage_moves/${move.id}`);
    assert.deepEqual(
      [shown.state, shown.error_message],
      ["cleanup failed", "The source on default could not be removed; will retry"],
    );
    assert.equal((await rowOf(project)).locked, false);
    await cleanUpMove.run(context(cleanup));
    assert.equal(await stateOf(move.id), "finished");
  });
});
