import Type from "typebox";
import { defineJob } from "#jobs/define.ts";

/** Creates the partitions of the coming months ahead of time; readiness warns when too few are left. */
export const createPartitions = defineJob({
  name: "partitions.keep",
  queue: "default",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "17 2 * * *",
  async run({ services }) {
    const created = await services.db.createPartitions();
    if (created.length > 0) services.log.info({ partitions: created }, "created partitions ahead");
  },
});
