import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { BATCH_SIZE, removeBelow, removeEnded } from "./actions.ts";

/** Removes a former member's memberships below the group, except those added since they left. */
export const removeMembershipsBelow = defineJob({
  name: "members.remove_below",
  queue: "bulk",
  payload: Type.Object(
    { group_id: Type.Integer(), user_id: Type.Integer(), until: Type.String({ format: "date-time" }) },
    { additionalProperties: false },
  ),
  key: ({ group_id, user_id }) => `${group_id}:${user_id}`,
  async run({ payload: { group_id, user_id, until }, step, signal }) {
    while ((await step((tx) => removeBelow(tx, group_id, user_id, until))) === BATCH_SIZE) signal.throwIfAborted();
  },
});

/** Expired memberships already have no effect; this only deletes their rows. */
export const removeEndedMemberships = defineJob({
  name: "members.remove_ended",
  queue: "bulk",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "23 2 * * *",
  async run({ step, signal }) {
    while ((await step(removeEnded)) === BATCH_SIZE) signal.throwIfAborted();
  },
});
