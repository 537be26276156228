import Type from "typebox";
import { authenticateJob } from "#access/authenticate.ts";
import { defineJob } from "#jobs/define.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { missing, Refusal } from "#lib/refusal.ts";
import { authorize } from "#domains/code/repository/authorize.ts";
import { ofProject, projectSeenBy } from "#domains/code/repository/project.ts";
import { reauthorized } from "#domains/code/repository/reauthorize.ts";
import { deleteMergedBranches } from "./actions.ts";

/** Deletes the merged branches of a project on behalf of a user, while that user may push. */
export const removeMergedBranches = defineJob({
  name: "branches.remove_merged",
  queue: "git",
  payload: Type.Object({ project_id: Type.Integer(), user_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ project_id }) => String(project_id),
  async run({ payload: { project_id, user_id }, services, signal }) {
    const reauthenticate = () => authenticateJob(services.db, user_id);
    try {
      const principal = await reauthenticate();
      const project = await projectSeenBy(services.db, principal, project_id);
      if (!project) throw missing("Project");
      const access = await authorize(services, principal, ofProject(project), "push", BACKGROUND);
      await deleteMergedBranches(services, reauthorized(services, access, reauthenticate), signal);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
      services.log.warn({ project_id, user_id, reason: error.message }, "stopped removing merged branches");
    }
  },
});
