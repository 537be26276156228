import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { AnyJob, JobContext } from "./define.ts";
import { type Engine, type HeldJob, onKysely } from "./engine.ts";
import { misfit } from "./payloads.ts";

/** What an attempt that failed leaves to the engine. */
export interface Failure {
  readonly id: string;
  readonly status: "failed" | "deadletter";
  readonly output: { readonly message: string };
}

/** What a worker's attempts share. */
export interface Shift {
  readonly services: Services;
  readonly engine: Engine;
  readonly jobs: ReadonlyMap<string, AnyJob>;
  /** Ends a job whose work is done; false if this attempt no longer held it. */
  end(held: HeldJob): Promise<boolean>;
  /** Waits for a turn, so that jobs leave connections to others. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** Never to be tried again. */
class Hopeless extends Error {}

class LostJob extends Error {
  constructor() {
    super("The attempt no longer holds its job");
  }
}

/** Jobs may take longer over a statement than requests. */
const STATEMENT_TIMEOUT = sql`set local statement_timeout = '60s'`;

/** Runs a job once; an attempt that succeeds has ended its job before it returns. */
export async function attempt(shift: Shift, held: HeldJob): Promise<Failure | undefined> {
  const { log } = shift.services;
  const line = { job: held.data.job, job_id: held.id, attempt: held.retryCount + 1 };
  const began = performance.now();
  let ended = false;
  try {
    await run(shift, held, () => (ended = true));
    if (!ended && !(await shift.end(held))) throw new LostJob();
    log.info({ ...line, ms: Math.round(performance.now() - began) }, "job done");
    return undefined;
  } catch (error) {
    if (ended) {
      log.error({ ...line, err: error }, "job failed after it was done");
      return undefined;
    }
    const dead = isFinal(error);
    log.warn({ ...line, err: error, dead }, "job failed");
    // An attempt that lost its job says so too, and the engine takes no notice of it.
    return { id: held.id, status: dead ? "deadletter" : "failed", output: { message: String(error) } };
  }
}

/** What is refused will be refused again, unless what refused it was only busy. */
const isFinal = (error: unknown) =>
  error instanceof Hopeless || (error instanceof Refusal && error.kind !== "unavailable" && error.kind !== "too many");

async function run({ services, engine, jobs, inTurn }: Shift, held: HeldJob, onEnd: () => void) {
  const { job: name, payload } = held.data;
  const job = jobs.get(name);
  // Another release may know it, so this one leaves it its retries.
  if (!job) throw new Error(`There is no job ${name}`);
  const wrong = misfit(job.payload, payload);
  if (wrong !== undefined) throw new Hopeless(`The payload no longer fits: ${wrong}`);

  const fenced = <T>(work: (tx: Tx) => Promise<T>, settle: "touch" | "deleteJob"): Promise<T> =>
    inTurn(() =>
      services.db.transaction(async (tx) => {
        await STATEMENT_TIMEOUT.execute(tx);
        const result = await work(tx);
        // Last, because the job's row is locked from here on and its heartbeat has to wait.
        const { settled } = (await engine[settle](held.name, held, { db: onKysely(tx) })) as { settled: string[] };
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
      onEnd();
      return result;
    },
  };
  await job.run(context as never);
}
