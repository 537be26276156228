import type { Static, TSchema } from "typebox";
import type { Databases, Tx } from "#db/database.ts";
import type { Log } from "#db/log.ts";
import type { JobKind } from "./kind.ts";

interface AddOptions {
  /** A time, or seconds from now. */
  readonly startAfter?: Date | number;
}

export interface Jobs {
  /** Queues a job in the caller's transaction: it runs once that has committed, and never otherwise. */
  add<Payload extends TSchema>(
    tx: Tx,
    job: JobKind<Payload>,
    payload: Static<Payload>,
    options?: AddOptions,
  ): Promise<void>;
}

export function openJobs(db: Databases, log: Log): Jobs {
  let loading: ReturnType<typeof load> | undefined;
  return {
    async add(tx, job, payload, options = {}) {
      const { payloadProblem, engine, onKysely } = await (loading ??= load(db, log));
      const problem = payloadProblem(job.payload, payload);
      if (problem !== undefined) throw new TypeError(`The payload of the job ${job.name} is invalid: ${problem}`);
      const key = job.key?.(payload);
      const data = { job: job.name, payload };
      const settings = { ...retriesOf(job), ...options, db: onKysely(tx) };
      if (key === undefined) await engine.send(job.queue, data, settings);
      else await engine.upsert(job.queue, data, { ...settings, singletonKey: `${job.name}:${key}` });
    },
  };
}

/** How often and when the engine retries a job, if its kind overrides its queue. */
export const retriesOf = ({ retries, backoff }: Pick<JobKind, "retries" | "backoff">) => ({
  ...(retries !== undefined && { retryLimit: retries }),
  ...(backoff && { retryBackoff: true, retryDelay: backoff.first, retryDelayMax: backoff.max }),
});

/** Loads the engine, which takes a tenth of a second, only in a process that adds jobs. */
async function load(db: Databases, log: Log) {
  const [{ makeEngine, onKysely, onPointReads }, { payloadProblem }] = await Promise.all([
    import("./engine.ts"),
    import("./payloads.ts"),
  ]);
  return { engine: makeEngine(onPointReads(db), log), onKysely, payloadProblem };
}
