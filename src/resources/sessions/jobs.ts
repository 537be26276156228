import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { MOST_AT_ONCE, removeEnded } from "./actions.ts";

/** Sessions end by the clock; this only takes away the rows, once the browser need not be known any more. */
export const removeEndedSessions = defineJob({
  name: "sessions.remove_ended",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "37 2 * * *",
  async run({ step, signal }) {
    while ((await step(removeEnded)) === MOST_AT_ONCE) signal.throwIfAborted();
  },
});
