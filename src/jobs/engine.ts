import { CompiledQuery } from "kysely";
import { type ConstructorOptions, type Job, PgBoss } from "pg-boss";
import type { Databases, Db, Tx } from "#db/database.ts";
import type { Log } from "#db/log.ts";

export type Engine = PgBoss;

/** A job as the engine keeps it: queues hold jobs of many kinds. */
export interface JobData {
  readonly job: string;
  readonly payload: unknown;
}
export type HeldJob = Job<JobData>;

/** What runs the engine's statements. */
interface Sql {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

const WARNING_INTERVAL_MS = 10_000;

/** The engine on these connections. Before it is started it has no timers, but can add, move and list jobs. */
export function makeEngine(db: Sql, log: Log, options: ConstructorOptions = {}): Engine {
  const engine = new PgBoss({ db, schema: "jobs", migrate: false, openTelemetry: { enabled: false }, ...options });
  const warn = throttled((reason) => log.warn({ reason }, "the job engine reported a problem"));
  // The engine appends the name of the fetcher.
  engine.on("error", ({ message }) => warn(message.replace(/ \(Queue: .*\)$/, "")));
  engine.on("warning", ({ message }) => warn(message));
  return engine;
}

/** Repeats a reason at most once per interval: without a database every fetcher reports it twice a second. */
function throttled(warn: (reason: string) => void): (reason: string) => void {
  const warnedAt = new Map<string, number>();
  return (reason) => {
    const now = Date.now();
    for (const [known, at] of warnedAt) if (now - at > WARNING_INTERVAL_MS) warnedAt.delete(known);
    if (warnedAt.has(reason)) return;
    warnedAt.set(reason, now);
    warn(reason);
  };
}

/** Runs the engine's statements in a transaction of ours, or on our pool. */
export const onKysely = (db: Tx | Db): Sql => ({
  executeSql: async (text, values = []) => ({ rows: (await db.executeQuery(CompiledQuery.raw(text, values))).rows }),
});

/** For lookups of the engine while a transaction waits for it: they must not wait for a connection of the same pool. */
export const onPointReads = ({ point }: Databases): Sql => ({
  executeSql: async (text, values = []) => ({ rows: await point.query(text, values) }),
});
