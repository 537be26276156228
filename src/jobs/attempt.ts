import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { AnyJob, JobContext } from "./define.ts";
import { type Engine, type HeldJob, onKysely } from "./engine.ts";
import { payloadProblem } from "./payloads.ts";

/** What a failed attempt reports to the engine. */
export interface Failure {
  readonly id: string;
  readonly status: "failed" | "deadletter";
  readonly output: { readonly message: string };
}

/** What the attempts of a worker share. */
export interface WorkerContext {
  readonly services: Services;
  readonly engine: Engine;
  readonly jobs: ReadonlyMap<string, AnyJob>;
  /** Completes a job; false if this attempt no longer held it. */
  complete(held: HeldJob): Promise<boolean>;
  /** Limits concurrent transactions, so that jobs leave connections to requests. */
  limited<T>(work: () => Promise<T>): Promise<T>;
}

/** Never retried. */
class Permanent extends Error {}

class LostJob extends Error {
  constructor() {
    super("The attempt no longer holds its job");
  }
}

/** Statements of jobs may take longer than those of requests. */
const STATEMENT_TIMEOUT = sql`set local statement_timeout = '60s'`;

/** Runs a job once; a successful attempt has completed its job before it returns. */
export async function attempt(worker: WorkerContext, held: HeldJob): Promise<Failure | undefined> {
  const { log } = worker.services;
  const line = { job: held.data.job, job_id: held.id, attempt: held.retryCount + 1 };
  const began = performance.now();
  let completed = false;
  try {
    await run(worker, held, () => (completed = true));
    if (!completed && !(await worker.complete(held))) throw new LostJob();
    log.info({ ...line, ms: Math.round(performance.now() - began) }, "job done");
    return undefined;
  } catch (error) {
    if (completed) {
      log.error({ ...line, err: error }, "job failed after it was completed");
      return undefined;
    }
    const dead = isFinal(error);
    log.warn({ ...line, err: error, dead }, "job failed");
    // The engine ignores the failure of an attempt that lost its job.
    return { id: held.id, status: dead ? "deadletter" : "failed", output: { message: String(error) } };
  }
}

/** A refusal is final, unless the cause was load. */
const isFinal = (error: unknown) =>
  error instanceof Permanent || (error instanceof Refusal && error.kind !== "unavailable" && error.kind !== "too many");

async function run({ services, engine, jobs, limited }: WorkerContext, held: HeldJob, onComplete: () => void) {
  const { job: name, payload } = held.data;
  const job = jobs.get(name);
  // Another release may know the job, so it keeps its retries.
  if (!job) throw new Error(`There is no job ${name}`);
  const problem = payloadProblem(job.payload, payload);
  if (problem !== undefined) throw new Permanent(`The payload is no longer valid: ${problem}`);

  const fenced = <T>(work: (tx: Tx) => Promise<T>, settlement: "touch" | "deleteJob"): Promise<T> =>
    limited(() =>
      services.db.transaction(async (tx) => {
        await STATEMENT_TIMEOUT.execute(tx);
        const result = await work(tx);
        // Last, since from here on the row of the job is locked and its heartbeat has to wait.
        const { settled } = (await engine[settlement](held.name, held, { db: onKysely(tx) })) as { settled: string[] };
        if (settled.length === 0) throw new LostJob();
        return result;
      }),
    );
  const context: JobContext<unknown> = {
    id: held.id,
    payload,
    services,
    signal: held.signal,
    attempt: held.retryCount + 1,
    step: (work) => fenced(work, "touch"),
    async transaction(work) {
      const result = await fenced(work, "deleteJob");
      onComplete();
      return result;
    },
  };
  await job.run(context as never);
}
