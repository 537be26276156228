import Type from "typebox";
import { actingUserByIdOrName } from "#access/callers.ts";
import { visibleProject } from "#access/containers.ts";
import { defineJob } from "#jobs/define.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { Refusal } from "#lib/refusal.ts";
import { openProject } from "#resources/repositories/opening.ts";
import { deleteMergedBranches } from "./actions.ts";

/** Removes the merged branches of a project for somebody, if they still may. */
export const removeMergedBranches = defineJob({
  name: "branches.remove_merged",
  queue: "git",
  payload: Type.Object({ project_id: Type.Integer(), user_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ project_id }) => String(project_id),
  async run({ payload, services, signal }) {
    const user = await actingUserByIdOrName(services.db, String(payload.user_id));
    const project = user && (await visibleProject(services.db, { user }, payload.project_id));
    if (!project) return;
    try {
      const opened = await openProject(services, { kind: "user", user }, project, "push", BACKGROUND);
      await deleteMergedBranches(services, opened, signal);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    }
  },
});
