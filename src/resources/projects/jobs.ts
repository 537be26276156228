import { sql } from "kysely";
import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { overdueProjects, removeProject } from "./lifecycle.ts";

/** A project with many stars and members takes longer than a request may. */
const LONGEST = "10min";
const MOST_AT_ONCE = 1000;

export const removeMarkedProject = defineJob({
  name: "projects.remove",
  queue: "bulk",
  payload: Type.Object({ id: Type.Integer(), marked_at: Type.String() }, { additionalProperties: false }),
  key: ({ id }) => String(id),
  run: ({ payload, services, transaction }) =>
    transaction(async (tx) => {
      await sql`set local statement_timeout = ${sql.lit(LONGEST)}`.execute(tx);
      await removeProject(tx, services.jobs, payload.id, payload.marked_at);
    }),
});

/** Ends projects whose time to be restored is over. */
export const removeOverdueProjects = defineJob({
  name: "projects.remove_overdue",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "41 * * * *",
  async run({ services, transaction }) {
    const { deletion_adjourned_period: days } = await services.settings.current();
    await transaction(async (tx) => {
      for (const project of await overdueProjects(tx, days, MOST_AT_ONCE)) {
        await services.jobs.add(tx, removeMarkedProject, project);
      }
    });
  },
});
