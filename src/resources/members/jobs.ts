import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { MOST_AT_ONCE, removeBelow, removeEnded } from "./actions.ts";

/** Ends what someone who left a group is still a member of below it; only what they were then, not what they became. */
export const removeMembershipsBelow = defineJob({
  name: "members.remove_below",
  queue: "bulk",
  payload: Type.Object(
    { group_id: Type.Integer(), user_id: Type.Integer(), until: Type.String({ format: "date-time" }) },
    { additionalProperties: false },
  ),
  key: ({ group_id, user_id }) => `${group_id}:${user_id}`,
  async run({ payload: { group_id, user_id, until }, step, signal }) {
    while ((await step((tx) => removeBelow(tx, group_id, user_id, until))) === MOST_AT_ONCE) signal.throwIfAborted();
  },
});

/** Memberships end by the clock; this only takes away the rows. */
export const removeEndedMemberships = defineJob({
  name: "members.remove_ended",
  queue: "bulk",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "23 2 * * *",
  async run({ step, signal }) {
    while ((await step(removeEnded)) === MOST_AT_ONCE) signal.throwIfAborted();
  },
});
