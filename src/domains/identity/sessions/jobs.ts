import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { removeOldAttempts } from "./attempts.ts";
import { BATCH_SIZE, removeBatchOfEndedSessions } from "./actions.ts";

/** Sessions end by the clock; this only deletes the rows that are no longer needed to recognise a browser. */
export const removeEndedSessions = defineJob({
  name: "sessions.remove_ended",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "37 2 * * *",
  async run({ step, signal }) {
    while ((await step(removeBatchOfEndedSessions)) === BATCH_SIZE) signal.throwIfAborted();
    while (await step(removeOldAttempts)) signal.throwIfAborted();
  },
});
