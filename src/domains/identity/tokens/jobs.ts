import Type from "typebox";
import { removeExpiredResponses } from "#http/idempotency/responses.ts";
import { defineJob } from "#jobs/define.ts";

/** Removes stored responses that can no longer be replayed. */
export const removeStoredResponses = defineJob({
  name: "tokens.forget_answers",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "*/5 * * * *",
  run: ({ transaction }) => transaction(removeExpiredResponses),
});
