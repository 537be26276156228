import Type, { type Static } from "typebox";
import { DEAD, QUEUES } from "#jobs/queues.ts";
import type { JobTotals, QueueStates, WorkerProcess } from "#jobs/state.ts";

const exact = { additionalProperties: false };

const QueueMetrics = Type.Object({ backlog: Type.Integer(), latency: Type.Integer() }, exact);
export const queues = Type.Object(Object.fromEntries(QUEUES.map((name) => [name, QueueMetrics])), exact);

/** One process that works on jobs. */
const JobProcess = Type.Object(
  {
    hostname: Type.String(),
    pid: Type.Integer(),
    tag: Type.String(),
    started_at: Type.String({ format: "date-time" }),
    queues: Type.Array(Type.String()),
    labels: Type.Array(Type.String()),
    concurrency: Type.Integer(),
    busy: Type.Integer(),
  },
  { ...exact, title: "JobProcess" },
);
export const processes = Type.Array(JobProcess);

export const jobs = Type.Object(
  {
    processed: Type.Integer({ description: "Attempts at jobs that have ended since the installation" }),
    failed: Type.Integer({ description: "Those of them that failed" }),
    enqueued: Type.Integer(),
    dead: Type.Integer(),
  },
  { ...exact, title: "JobStatistics" },
);

export const presentQueues = (states: QueueStates): Static<typeof queues> =>
  Object.fromEntries(QUEUES.map((name) => [name, states[name]]));

export const presentProcess = ({ host, ...rest }: WorkerProcess): Static<typeof JobProcess> => ({
  hostname: host,
  pid: rest.pid,
  tag: rest.tag,
  started_at: rest.started_at,
  queues: rest.queues,
  labels: [],
  concurrency: rest.concurrency,
  busy: rest.busy,
});

export const presentJobs = ({ processed, failed }: JobTotals, states: QueueStates): Static<typeof jobs> => ({
  processed,
  failed,
  enqueued: QUEUES.reduce((sum, name) => sum + states[name].backlog, 0),
  dead: states[DEAD].backlog,
});
