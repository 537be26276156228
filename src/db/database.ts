import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, type Transaction } from "kysely";
import { Pool, type PoolClient } from "pg";
import { isStalePlan, worthRetrying } from "./errors.ts";
import type { Log } from "./log.ts";
import { keepPartitions, partitionsAhead, type PartitionsAhead } from "./partitions.ts";
import { openPointConnections, type PointReads } from "./point.ts";
import { connectionConfig } from "./sessions.ts";
import { MOST_HELD, noNames, statementNames, type StatementNames } from "./statements.ts";
import type { Database } from "./types.ts";

export type Db = Kysely<Database>;
export type Tx = Transaction<Database>;

export interface Databases {
  /** For lists: a replica may answer, so nothing that decides is read here. */
  readonly read: Db;
  /** The same for a list whose best plan hangs on its values: PostgreSQL plans each statement anew. */
  readonly readAnew: Db;
  /** The primary, one statement at a time. */
  readonly write: Db;
  readonly point: PointReads;
  /** Runs `work` in one transaction; after a deadlock or a serialization failure all of it runs again. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  keepPartitions(): Promise<string[]>;
  partitionsAhead(): Promise<PartitionsAhead[]>;
  /** How many statements have names. */
  statementCount(): number;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly log: Log;
  /** Connections for lists and transactions. */
  readonly poolSize?: number;
  /** Connections that point reads share. */
  readonly pipelined?: number;
  /** Milliseconds. */
  readonly statementTimeout?: number;
}

/** Longer than PostgreSQL's `deadlock_timeout` of 1 s: else both sides of a deadlock fail before one is chosen to. */
const LOCK_TIMEOUT = 1_500;
const IDLE_TIMEOUT = 60_000;
const MOST_TRIES = 3;

export function openDatabase({
  url,
  log,
  poolSize = 8,
  pipelined = 2,
  statementTimeout = 5_000,
}: DatabaseOptions): Databases {
  const session = { url, statementTimeout, lockTimeout: LOCK_TIMEOUT };
  const names = statementNames();
  const pool = new Pool({ ...connectionConfig(session), max: poolSize, idleTimeoutMillis: IDLE_TIMEOUT });
  pool.on("error", (error) => log.warn({ reason: error.message }, "An idle database connection broke"));
  const open = new Set<PoolClient>();
  pool.on("connect", (client) => {
    open.add(client);
    // The pool listens only while a connection idles; the statement that runs is told of the break on its own.
    client.on("error", () => {});
  });
  pool.on("remove", (client) => open.delete(client));
  const speaking = (named: StatementNames) =>
    new Kysely<Database>({ dialect: new PostgresDialect({ pool: namingPool(pool, named) }) });
  const db = speaking(names);
  // PostgreSQL takes a list of one key for cheaper than its general plan and would plan every one of them anew.
  const pointConfig = connectionConfig({ ...session, settings: { plan_cache_mode: "force_generic_plan" } });
  const point = openPointConnections(pointConfig, pipelined, names, log);

  return {
    read: db,
    readAnew: speaking(noNames),
    write: db,
    point,
    async transaction(work) {
      for (let tries = 1; ; tries++) {
        try {
          return await db.transaction().execute(work);
        } catch (error) {
          if (tries === MOST_TRIES || !(worthRetrying(error) || isStalePlan(error))) throw error;
          // Two that met once would meet again if both waited equally long.
          await sleep(Math.random() * 20 * tries);
        }
      }
    },
    async keepPartitions() {
      const client = await pool.connect();
      try {
        return await keepPartitions(client);
      } finally {
        client.release();
      }
    },
    partitionsAhead: () => partitionsAhead(pool),
    statementCount: () => names.count(),
    async close() {
      await Promise.all([pool.end(), point.close()]);
      // The pool says that it ended before its connections did.
      while (open.size > 0) await once(pool, "remove");
    },
  };
}

/** The pool as Kysely uses it, where every statement goes out under its name. */
function namingPool(pool: Pool, names: StatementNames): PostgresPool {
  const known = new WeakMap<PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      let naming = known.get(client);
      if (!naming) known.set(client, (naming = namingClient(client, names)));
      return naming;
    },
  };
}

function namingClient(client: PoolClient, names: StatementNames): PostgresPoolClient {
  const held = new Set<string>();
  async function query(text: string, values: unknown[]) {
    const name = names.of(text);
    if (name !== undefined) held.add(name);
    try {
      return await client.query({ name, text, values });
    } catch (error) {
      if (!isStalePlan(error)) throw error;
      names.renew(text, name);
      // Inside a transaction only all of it can run again.
      if (client.getTransactionStatus() !== "I") throw error;
      return client.query({ name: names.of(text), text, values });
    }
  }
  // What a connection holds ends with it, and the pool opens another.
  const release = (destroy?: boolean) => client.release(destroy === true || held.size > MOST_HELD);
  return { query: query as unknown as PostgresPoolClient["query"], release };
}
