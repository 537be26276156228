import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, type Transaction } from "kysely";
import { type ClientConfig, Pool, type PoolClient } from "pg";
import { isStalePlan, worthRetrying } from "./errors.ts";
import type { Log } from "./log.ts";
import { createPartitions, partitionsAhead, type PartitionsAhead } from "./partitions.ts";
import { openPointConnections, type PointReads } from "./point.ts";
import { connectionConfig } from "./sessions.ts";
import { MAX_PREPARED, noNames, statementNames, type StatementNames } from "./statements.ts";
import type { Database } from "./types.ts";

export type Db = Kysely<Database>;
export type Tx = Transaction<Database>;

export interface Databases {
  /** For lists. A replica may answer, so no decision may be based on what is read here. */
  readonly read: Db;
  /** Like `read`, for lists whose best plan depends on the values: PostgreSQL plans every execution. */
  readonly readAnew: Db;
  /** The primary, one statement at a time. */
  readonly write: Db;
  readonly point: PointReads;
  /** Runs `work` in one transaction; after a deadlock or a serialization failure all of it runs again. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  createPartitions(): Promise<string[]>;
  partitionsAhead(): Promise<PartitionsAhead[]>;
  /** The number of named statements. */
  statementCount(): number;
  /** Connections for lists and transactions. */
  poolUsage(): PoolUsage;
  close(): Promise<void>;
}

interface PoolUsage {
  readonly size: number;
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly log: Log;
  /** Connections for lists and transactions. */
  readonly poolSize?: number;
  /** Connections that point reads share. */
  readonly pipelined?: number;
  /** Milliseconds, as are the next two. */
  readonly statementTimeout?: number;
  /** Longer than PostgreSQL's `deadlock_timeout` of 1 s; otherwise both sides of a deadlock fail before a victim is chosen. */
  readonly lockTimeout?: number;
  readonly connectTimeout?: number;
}

const IDLE_TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 3;

export function openDatabase({
  url,
  log,
  poolSize = 8,
  pipelined = 2,
  statementTimeout = 5_000,
  lockTimeout = 1_500,
  connectTimeout = 2_000,
}: DatabaseOptions): Databases {
  const session = { url, statementTimeout, lockTimeout, connectTimeout };
  const names = statementNames();
  const { pool, end } = openPool(connectionConfig(session), poolSize, log);
  const kyselyWith = (named: StatementNames) =>
    new Kysely<Database>({ dialect: new PostgresDialect({ pool: namingPool(pool, named) }) });
  const db = kyselyWith(names);
  // PostgreSQL estimates an array of one key as cheaper than the generic plan and would plan every execution.
  const pointConfig = connectionConfig({ ...session, settings: { plan_cache_mode: "force_generic_plan" } });
  const point = openPointConnections(pointConfig, pipelined, names, log);

  return {
    read: db,
    readAnew: kyselyWith(noNames),
    write: db,
    point,
    async transaction(work) {
      for (let tries = 1; ; tries++) {
        try {
          return await db.transaction().execute(work);
        } catch (error) {
          if (tries === MAX_ATTEMPTS || !(worthRetrying(error) || isStalePlan(error))) throw error;
          // Transactions that collided once would collide again after equal pauses.
          await sleep(Math.random() * 20 * tries);
        }
      }
    },
    async createPartitions() {
      const client = await pool.connect();
      try {
        return await createPartitions(client);
      } finally {
        client.release();
      }
    },
    partitionsAhead: () => partitionsAhead(pool),
    statementCount: () => names.count(),
    poolUsage: () => ({ size: poolSize, open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    async close() {
      await Promise.all([end(), point.close()]);
    },
  };
}

function openPool(config: ClientConfig, size: number, log: Log) {
  const pool = new Pool({ ...config, max: size, idleTimeoutMillis: IDLE_TIMEOUT_MS });
  pool.on("error", (error) => log.warn({ reason: error.message }, "lost an idle database connection"));
  const open = new Set<PoolClient>();
  pool.on("connect", (client) => {
    open.add(client);
    // The pool listens for errors only while a connection is idle; a running statement gets its own error.
    client.on("error", () => {});
  });
  pool.on("remove", (client) => open.delete(client));
  return {
    pool,
    async end() {
      await pool.end();
      // The pool resolves `end` before its connections are closed.
      while (open.size > 0) await once(pool, "remove");
    },
  };
}

/** The pool as Kysely uses it, with every statement prepared under its name. */
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
  // Closing a connection drops its prepared statements; the pool opens a new one.
  const release = (destroy?: boolean) => client.release(destroy === true || held.size > MAX_PREPARED);
  return { query: query as unknown as PostgresPoolClient["query"], release };
}
