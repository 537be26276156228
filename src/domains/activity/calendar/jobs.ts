import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { countDay, removeOldCounts, uncountedDays } from "./rollup.ts";

/** Counts the events of the days that are over; when nobody counts, calendars count these events on each request. */
export const countContributions = defineJob({
  name: "contributions.count",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  // Late enough that the transactions that began yesterday have ended.
  cron: "47 0 * * *",
  async run({ services, step, signal }) {
    for (const day of await uncountedDays(services.db.write)) {
      signal.throwIfAborted();
      await step((tx) => countDay(tx, day));
    }
    while ((await step(removeOldCounts)) > 0) signal.throwIfAborted();
  },
});
