import Type from "typebox";
import { defineJob } from "#jobs/define.ts";

/** Makes the coming months' partitions while there is time; readiness warns where it fails for long. */
export const keepPartitions = defineJob({
  name: "partitions.keep",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "17 2 * * *",
  async run({ services }) {
    const made = await services.db.keepPartitions();
    if (made.length > 0) services.log.info({ partitions: made }, "made partitions ahead");
  },
});
