import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { completeBatch } from "./actions.ts";

/** Marks all to-dos of a user as done that were pending when they asked for it. */
export const completeTodos = defineJob({
  name: "todos.complete",
  queue: "default",
  payload: Type.Object({ user_id: Type.Integer(), up_to: Type.Integer() }, { additionalProperties: false }),
  key: ({ user_id }) => String(user_id),
  async run({ payload: { user_id, up_to }, step, signal }) {
    while ((await step((tx) => completeBatch(tx, user_id, up_to))) > 0) signal.throwIfAborted();
  },
});
