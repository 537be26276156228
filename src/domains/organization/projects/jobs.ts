import { sql } from "kysely";
import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { type Deletions, removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import { deleteProjects } from "#domains/storage/repositories/removal.ts";
import { overdueProjects } from "./lifecycle.ts";
import { lockMarkedProject, projectRemoval } from "./project-deletion.ts";

/** Deleting a project with many stars and members takes longer than a request may. */
const JOB_STATEMENT_TIMEOUT = "10min";
const BATCH_SIZE = 1000;

/** Deletes a project unless it was restored or marked anew; one transaction, so that a restore finds all or nothing. */
export const removeMarkedProject = (deletions: Deletions) =>
  defineJob({
    ...projectRemoval,
    run: ({ payload, services, transaction, signal }) =>
      transaction(async (tx) => {
        await sql`set local statement_timeout = ${sql.lit(JOB_STATEMENT_TIMEOUT)}`.execute(tx);
        if (!(await lockMarkedProject(tx, payload))) return;
        while ((await removeBatchOfRows(tx, [payload.id], deletions.ofProjects, services)) > 0) signal.throwIfAborted();
        await deleteProjects(tx, services.jobs, sql`id = ${payload.id}`);
      }),
  });

/** Queues the deletion of projects whose restore period is over. */
export const removeOverdueProjects = defineJob({
  name: "projects.remove_overdue",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "41 * * * *",
  async run({ services, transaction }) {
    const { deletion_adjourned_period: days } = await services.settings.current();
    await transaction(async (tx) => {
      for (const project of await overdueProjects(tx, days, BATCH_SIZE)) {
        await services.jobs.add(tx, projectRemoval, project);
      }
    });
  },
});
