import { setTimeout as pause } from "node:timers/promises";
import { type JobContext } from "#jobs/define.ts";
import type { RepositoryName } from "#git/storages/storage.ts";
import { LeaseLost, startAttempt, switchRepository } from "#domains/storage/moves/attempt.ts";
import { cleanUpMove, moveRepository } from "#domains/storage/moves/jobs.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { pushingApp, pushedProject } from "#test/support/pushing.ts";
import { sql } from "kysely";

/**
 * The same job twice at once, and a worker that wakes up after another one took its move over: neither has any effect.
 */
export async function runLate(times: number): Promise<{ passed: number; problems: string[] }> {
  const on = await pushingApp({ databaseUrl: await freshDatabase() });
  const problems: string[] = [];
  let passed = 0;
  try {
    const admin = await on.app.makeUser({ admin: true });
    const { project, first } = await pushedProject(on);
    const { services } = on.app;
    const context = (payload: object, id = crypto.randomUUID()) =>
      ({
        ...{ id, payload, services, attempt: 1, signal: new AbortController().signal },
        step: services.db.transaction,
        transaction: services.db.transaction,
      }) as unknown as JobContext<never>;
    const locationOf = async () => {
      const { rows } = await sql<{ id: number; storage: string; disk_path: RepositoryName }>`
        select id, storage, disk_path from repositories where project_id = ${project.id}`.execute(services.db.write);
      return rows[0]!;
    };
    for (let time = 1; time <= times; time++) {
      const before = await locationOf();
      const path = `/projects/${project.id}/repository_storage_moves`;
      const { body: move } = await on.app.post(path, { token: admin.token });
      const payload = { move_id: move.id, path: before.disk_path, destination: move.destination_storage_name };
      const jobId = crypto.randomUUID();
      const sleeper = await services.db.transaction((tx) => startAttempt(tx, services.jobs, payload, jobId));
      // The engine gives the job to another worker, and to a third one by mistake.
      await Promise.all([moveRepository.run(context(payload, jobId)), moveRepository.run(context(payload))]);
      const woken = await services.db
        .transaction((tx) => switchRepository(tx, services.jobs, sleeper!))
        .then(
          () => "switched",
          (error: unknown) => (error instanceof LeaseLost ? undefined : String(error)),
        );
      if (woken !== undefined) problems.push(`${time}: the worker that came late: ${woken}`);
      const cleanup = { move_id: move.id, storage: before.storage, path: before.disk_path };
      await Promise.all([cleanUpMove.run(context(cleanup)), cleanUpMove.run(context(cleanup))]);
      const after = await locationOf();
      const repository = services.git.storage(after.storage).repository(after.disk_path);
      const head = (await repository.objects.info("refs/heads/main"))?.id;
      const { body: ended } = await on.app.get(`${path}/${move.id}`, { token: admin.token });
      if (after.storage !== move.destination_storage_name) problems.push(`${time}: it is on ${after.storage}`);
      if (head !== first) problems.push(`${time}: main is ${head}`);
      if (ended.state !== "finished") problems.push(`${time}: the move is ${ended.state}`);
      if (problems.length === 0) passed++;
      await pause(0);
    }
  } finally {
    await on.close();
  }
  console.log(
    `late: ${passed} of ${times} moves with a job twice and a worker that woke up late had the effect of one`,
  );
  return { passed, problems };
}
