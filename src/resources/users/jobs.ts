import type { Tx } from "#db/database.ts";
import { defineJob } from "#jobs/define.ts";
import { removeSomeProjects } from "#resources/groups/removal.ts";
import { ghostUser } from "./ghost.ts";
import {
  cutSomeTies,
  handOverSome,
  keepSomeDeployKeys,
  removeRows,
  removeSomeMemberships,
  removeSomeSoleGroups,
  removeSomeTokens,
  TIES,
  userLeaving,
} from "./remains.ts";
import { userRemoval } from "./removal.ts";

/** Removes a user whose removal began: what belongs to them a part at a time, and in the end what came meanwhile. */
export const removeUser = defineJob({
  ...userRemoval,
  async run({ payload: { id, hard_delete }, services, step, transaction, signal }) {
    const user = await step((tx) => userLeaving(tx, id, false));
    if (!user) return;
    const heir = hard_delete ? null : await step(ghostUser);
    const parts: readonly ((tx: Tx) => Promise<boolean>)[] = [
      async (tx) => hard_delete && removeSomeSoleGroups(tx, services.jobs, id),
      (tx) => removeSomeProjects(tx, services.jobs, user.namespace_id),
      ...TIES.map((tie) => (tx: Tx) => cutSomeTies(tx, id, tie)),
      (tx) => removeSomeMemberships(tx, id),
      (tx) => removeSomeTokens(tx, id),
      (tx) => keepSomeDeployKeys(tx, id),
      (tx) => handOverSome(tx, "projects", id, heir),
      (tx) => handOverSome(tx, "namespaces", id, heir),
      (tx) => handOverSome(tx, "users", id, heir),
    ];
    for (const removeSome of parts) {
      while (await step(removeSome)) signal.throwIfAborted();
    }
    await transaction(async (tx) => {
      if (!(await userLeaving(tx, id, true))) return;
      for (const removeSome of parts) {
        while (await removeSome(tx)) signal.throwIfAborted();
      }
      await removeRows(tx, user);
    });
  },
});
