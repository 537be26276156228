import Type from "typebox";
import { authenticateJobUser } from "#access/authenticate.ts";
import { defineJob } from "#jobs/define.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { missing, Refusal } from "#lib/refusal.ts";
import type { Reauthenticate } from "#resources/repositories/caller.ts";
import { openProject, projectSeenBy } from "#resources/repositories/opening.ts";
import { deleteMergedBranches } from "./actions.ts";

/** Removes the merged branches of a project for somebody, as long as they may. */
export const removeMergedBranches = defineJob({
  name: "branches.remove_merged",
  queue: "git",
  payload: Type.Object({ project_id: Type.Integer(), user_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ project_id }) => String(project_id),
  async run({ payload: { project_id, user_id }, services, signal }) {
    const reauthenticate: Reauthenticate = async () => ({
      kind: "user",
      user: await authenticateJobUser(services.db, user_id),
    });
    try {
      const caller = await reauthenticate();
      const project = await projectSeenBy(services.db, caller, project_id);
      if (!project) throw missing("Project");
      const opened = await openProject(services, caller, project, "push", BACKGROUND);
      await deleteMergedBranches(services, { ...opened, reauthenticate }, signal);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
      services.log.info({ project_id, user_id, reason: error.message }, "stopped removing merged branches");
    }
  },
});
