import type { AnyJob } from "#jobs/define.ts";
import { mailResetLink, removeEndedLinks, sendExpiryNotices, sendMail } from "./mails/jobs.ts";
import { createPartitions } from "./partitions/jobs.ts";

export const foundationJobs: readonly AnyJob[] = [
  createPartitions,
  sendMail,
  mailResetLink,
  sendExpiryNotices,
  removeEndedLinks,
];
