import Type from "typebox";
import type { Tx } from "#db/database.ts";
import { defineJob } from "#jobs/define.ts";
import { lockTree } from "#domains/foundation/namespaces/tree.ts";
import { type Deletions, removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import { removeBatchOfProjects } from "#domains/organization/projects/project-deletion.ts";
import {
  beginRemoval,
  endBatchOfAccounts,
  groupRemoval,
  overdueGroups,
  releaseBatchOfUsers,
  removeBatchOfGroups,
  removeGroups,
} from "./group-deletion.ts";
import { reauthorizeTransfer } from "./rights.ts";
import { transferGroup } from "./transfer.ts";

const exact = { additionalProperties: false };
const BATCH_SIZE = 1000;

/** Deletes a group with everything in it, leaves first, unless it was restored or marked anew. */
export const removeGroup = (deletions: Deletions) =>
  defineJob({
    ...groupRemoval,
    async run({ payload, services, step, transaction, signal }) {
      const { id } = payload;
      if (!(await step((tx) => beginRemoval(tx, payload)))) return;
      const context = { jobs: services.jobs, deletions };
      const removeRows = (tx: Tx) => removeBatchOfRows(tx, [id], deletions.ofGroups, context);
      for (const removeBatch of [
        ...[endBatchOfAccounts, releaseBatchOfUsers, removeBatchOfProjects, removeBatchOfGroups],
        removeRows,
      ]) {
        while ((await step((tx) => removeBatch(tx, id, context))) > 0) signal.throwIfAborted();
      }
      await transaction((tx) => removeGroups(tx, services.jobs, [id]));
    },
  });

/** Queues the deletion of groups whose restore period is over. */
export const removeOverdueGroups = defineJob({
  name: "groups.remove_overdue",
  queue: "default",
  payload: Type.Object({}, exact),
  cron: "37 * * * *",
  async run({ services, transaction }) {
    const { deletion_adjourned_period: days } = await services.settings.current();
    await transaction(async (tx) => {
      for (const group of await overdueGroups(tx, days, BATCH_SIZE)) await services.jobs.add(tx, groupRemoval, group);
    });
  },
});

/** Moves a group that is too large to be moved within a request. */
export const moveGroup = defineJob({
  name: "groups.transfer",
  queue: "bulk",
  payload: Type.Object(
    { id: Type.Integer(), parent_id: Type.Union([Type.Integer(), Type.Null()]), by_id: Type.Integer() },
    exact,
  ),
  key: ({ id }) => String(id),
  run: ({ payload, services, transaction }) =>
    transaction(async (tx) => {
      await lockTree(tx);
      await reauthorizeTransfer(tx, services, payload);
      await transferGroup(tx, payload);
    }),
});
