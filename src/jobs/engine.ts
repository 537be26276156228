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

const SELDOM = 10_000;

/** The engine over these connections. Until it is started it has no timers; it can add, move and list jobs. */
export function makeEngine(db: Sql, log: Log, options: ConstructorOptions = {}): Engine {
  const engine = new PgBoss({ db, schema: "jobs", migrate: false, openTelemetry: { enabled: false }, ...options });
  const tell = seldom((reason) => log.warn({ reason }, "The job engine has trouble"));
  // The engine adds which of its fetchers it was.
  engine.on("error", ({ message }) => tell(message.replace(/ \(Queue: .*\)$/, "")));
  engine.on("warning", ({ message }) => tell(message));
  return engine;
}

/** Without a database every fetcher says so twice a second. */
function seldom(tell: (reason: string) => void): (reason: string) => void {
  const told = new Map<string, number>();
  return (reason) => {
    const now = Date.now();
    for (const [known, at] of told) if (now - at > SELDOM) told.delete(known);
    if (told.has(reason)) return;
    told.set(reason, now);
    tell(reason);
  };
}

/** Lets the engine's statements be part of a transaction of ours, or run on our pool. */
export const onKysely = (db: Tx | Db): Sql => ({
  executeSql: async (text, values = []) => ({ rows: (await db.executeQuery(CompiledQuery.raw(text, values))).rows }),
});

/** For what the engine looks up while a transaction waits for it, which must not wait for a connection of the same pool. */
export const onPointReads = ({ point }: Databases): Sql => ({
  executeSql: async (text, values = []) => ({ rows: await point.query(text, values) }),
});
