import Type from "typebox";
import { administrator } from "#access/access.ts";
import type { Db } from "#db/database.ts";
import { readProcesses, readQueues, readTotals } from "#jobs/state.ts";
import { endpoint } from "#http/endpoint.ts";
import { ORIGINAL_NAMES } from "#domains/foundation/original-names.ts";
import { jobs, presentJobs, presentProcess, presentQueues, processes, queues } from "./entity.ts";

const exact = { additionalProperties: false };
const common = {
  method: "GET",
  access: administrator(),
  params: Type.Object({}),
  offering: ["self-managed", "dedicated"],
} as const;

export const jobMetrics = {
  queues: endpoint({
    ...common,
    path: "/jobqueue/queue_metrics",
    alias: `/${ORIGINAL_NAMES.jobqueue}/queue_metrics`,
    summary: "Get the backlog of each job queue",
    returns: Type.Object({ queues }, exact),
    handle: ({ db }) => queueMetrics(db),
  }),

  processes: endpoint({
    ...common,
    path: "/jobqueue/process_metrics",
    alias: `/${ORIGINAL_NAMES.jobqueue}/process_metrics`,
    summary: "List the processes that work on jobs",
    returns: Type.Object({ processes }, exact),
    handle: ({ db }) => processMetrics(db),
  }),

  stats: endpoint({
    ...common,
    path: "/jobqueue/job_stats",
    alias: `/${ORIGINAL_NAMES.jobqueue}/job_stats`,
    summary: "Get how many jobs were processed, failed, are waiting and are dead",
    returns: Type.Object({ jobs }, exact),
    handle: ({ db }) => jobStats(db),
  }),

  compound: endpoint({
    ...common,
    path: "/jobqueue/compound_metrics",
    alias: `/${ORIGINAL_NAMES.jobqueue}/compound_metrics`,
    summary: "Get the metrics of queues, processes and jobs together",
    returns: Type.Object({ queues, processes, jobs }, exact),
    async handle({ db }) {
      const states = await readQueues(db);
      return {
        queues: presentQueues(states),
        ...(await processMetrics(db)),
        jobs: presentJobs(await readTotals(db), states),
      };
    },
  }),
};

const queueMetrics = async (db: Db) => ({ queues: presentQueues(await readQueues(db)) });
const processMetrics = async (db: Db) => ({ processes: (await readProcesses(db)).map(presentProcess) });
const jobStats = async (db: Db) => ({ jobs: presentJobs(await readTotals(db), await readQueues(db)) });
