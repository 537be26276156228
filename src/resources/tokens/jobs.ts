import Type from "typebox";
import { removeOldAnswers } from "#http/kept-answers.ts";
import { defineJob } from "#jobs/define.ts";

/** Removes answers that were kept for whoever might ask again. */
export const forgetAnswers = defineJob({
  name: "tokens.forget_answers",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "*/5 * * * *",
  run: ({ transaction }) => transaction(removeOldAnswers),
});
