import Type from "typebox";
import type { Tx } from "#db/database.ts";
import { defineJob } from "#jobs/define.ts";
import { holdTreeAlone } from "#resources/namespaces/tree.ts";
import {
  beginRemoval,
  endSomeAccounts,
  groupRemoval,
  overdueGroups,
  releaseSomeUsers,
  removeGroups,
  removeSomeGroups,
  removeSomeProjects,
  removeSomeRows,
} from "./removal.ts";
import { reauthorizeTransfer } from "./rights.ts";
import { transferGroup } from "./transfer.ts";

const exact = { additionalProperties: false };
const MOST_AT_ONCE = 1000;

/** Removes a group that is still marked as it was then, from its leaves up, with all that is in it. */
export const removeGroup = defineJob({
  ...groupRemoval,
  async run({ payload, services, step, transaction, signal }) {
    const { id } = payload;
    if (!(await step((tx) => beginRemoval(tx, payload)))) return;
    while (await step((tx) => endSomeAccounts(tx, services.jobs, id))) signal.throwIfAborted();
    const removeProjects = (tx: Tx) => removeSomeProjects(tx, services.jobs, id);
    for (const removeSome of [releaseSomeUsers, removeProjects, removeSomeGroups, removeSomeRows]) {
      while (await step((tx) => removeSome(tx, id))) signal.throwIfAborted();
    }
    await transaction((tx) => removeGroups(tx, [id]));
  },
});

/** Ends groups whose time to be restored is over. */
export const removeOverdueGroups = defineJob({
  name: "groups.remove_overdue",
  queue: "default",
  payload: Type.Object({}, exact),
  cron: "37 * * * *",
  async run({ services, transaction }) {
    const { deletion_adjourned_period: days } = await services.settings.current();
    await transaction(async (tx) => {
      for (const group of await overdueGroups(tx, days, MOST_AT_ONCE)) await services.jobs.add(tx, removeGroup, group);
    });
  },
});

/** Moves a group that is too large to be moved while a caller waits. */
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
      await holdTreeAlone(tx);
      await reauthorizeTransfer(tx, services, payload);
      await transferGroup(tx, payload);
    }),
});
