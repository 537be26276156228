import type { Tx } from "#db/database.ts";
import { defineJob } from "#jobs/define.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { ghostUser } from "./ghost.ts";
import { deletingUser, removeAccount, userRemoval } from "./user-deletion.ts";

/** Deletes a user whose deletion has begun: rows in batches, and in the last transaction what was added meanwhile. */
export const removeUser = (deletions: Deletions) =>
  defineJob({
    ...userRemoval,
    async run({ payload: { id, hard_delete }, services, step, transaction, signal }) {
      const found = await step((tx) => deletingUser(tx, id, false));
      if (!found) return;
      const user = { ...found, newOwnerId: hard_delete ? null : await step(ghostUser) };
      const context = { jobs: services.jobs, deletions };
      const batches = (deletions.ofUser ?? []).map((batch) => (tx: Tx) => batch(tx, user, context));
      for (const removeBatch of batches) {
        while ((await step(removeBatch)) > 0) signal.throwIfAborted();
      }
      await transaction(async (tx) => {
        if (!(await deletingUser(tx, id, true))) return;
        for (const removeBatch of batches) {
          while ((await removeBatch(tx)) > 0) signal.throwIfAborted();
        }
        await removeAccount(tx, user);
      });
    },
  });
