import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect, type Transaction } from "kysely";
import { BACKGROUND, type Consumer } from "#lib/consumer.ts";
import { type Batches, openBatches } from "./batches.ts";
import { isStalePlan, worthRetrying } from "./errors.ts";
import type { Log } from "./log.ts";
import { createPartitions, partitionsAhead, type PartitionsAhead } from "./partitions.ts";
import { openPointConnections, type PointReads } from "./point.ts";
import { namingPool, openPool, type PoolUsage } from "./pool.ts";
import { connectionConfig } from "./sessions.ts";
import { noNames, statementNames, type StatementNames } from "./statements.ts";
import type { Database } from "./types.ts";
import { currentWork } from "./work.ts";

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
  /** Writes a row together with others that arrive at the same time. */
  readonly batched: Batches["write"];
  /** Runs `work` in one transaction; after a deadlock or a serialization failure all of it runs again. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Runs `work` on behalf of a consumer, who is charged for the connections that it takes. */
  onBehalfOf<T>(request: { consumer(): Consumer; readonly reads: boolean }, work: () => T): T;
  createPartitions(): Promise<string[]>;
  partitionsAhead(): Promise<PartitionsAhead[]>;
  /** The number of named statements. */
  statementCount(): number;
  /** Connections for lists and transactions. */
  poolUsage(): PoolUsage;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly log: Log;
  /** Connections for lists and transactions. */
  readonly poolSize?: number;
  /** Connections that point reads share. */
  readonly pipelined?: number;
  /** Connections for reads of anonymous callers. */
  readonly anonymousPoolSize?: number;
  /** Milliseconds, as are the next four. */
  readonly statementTimeout?: number;
  /** For reads of anonymous callers. */
  readonly anonymousTimeout?: number;
  /** For point reads: every request waits behind one that takes long. */
  readonly pointTimeout?: number;
  /** Longer than PostgreSQL's `deadlock_timeout` of 1 s; otherwise both sides of a deadlock fail before a victim is chosen. */
  readonly lockTimeout?: number;
  readonly connectTimeout?: number;
  /** Throws if a transaction asks the pool for another connection, which under load would wait for itself. */
  readonly assertions?: boolean;
}

const MAX_ATTEMPTS = 3;

export function openDatabase({
  url,
  log,
  poolSize = 8,
  anonymousPoolSize = 4,
  pipelined = 2,
  statementTimeout = 5_000,
  anonymousTimeout = 1_500,
  pointTimeout = 250,
  lockTimeout = 1_500,
  connectTimeout = 2_000,
  assertions = false,
}: DatabaseOptions): Databases {
  const session = { url, statementTimeout, lockTimeout, connectTimeout };
  const names = statementNames();
  const main = openPool(connectionConfig(session), poolSize, connectTimeout, log);
  const anonymousConfig = connectionConfig({ ...session, statementTimeout: anonymousTimeout });
  const anonymous = openPool(anonymousConfig, anonymousPoolSize, connectTimeout, log);
  const work = currentWork();
  const kyselyWith = (names: StatementNames) =>
    new Kysely<Database>({
      dialect: new PostgresDialect({ pool: namingPool(main, { names, work, anonymous, assertions }) }),
    });
  const db = kyselyWith(names);
  // PostgreSQL estimates an array of one key as cheaper than the generic plan and would plan every execution.
  const pointConfig = connectionConfig({
    ...session,
    statementTimeout: pointTimeout,
    settings: { plan_cache_mode: "force_generic_plan" },
  });
  const point = openPointConnections(pointConfig, pipelined, names, log);

  const batches = openBatches(connectionConfig(session), names, log);

  return {
    read: db,
    readAnew: kyselyWith(noNames),
    write: db,
    point,
    batched: batches.write,
    transaction: (inner) => retried(() => db.transaction().execute((tx) => work.runInTransaction(() => inner(tx)))),
    onBehalfOf: work.run,
    async createPartitions() {
      const { client, release } = await main.take(BACKGROUND);
      try {
        return await createPartitions(client);
      } finally {
        release(false);
      }
    },
    partitionsAhead: () => partitionsAhead(main.pool),
    statementCount: () => names.count(),
    poolUsage: main.usage,
    async close() {
      await Promise.all([main.end(), anonymous.end(), point.close(), batches.close()]);
    },
  };
}

/** Runs a transaction again after a deadlock or a serialization failure. */
async function retried<T>(transaction: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction();
    } catch (error) {
      if (tries === MAX_ATTEMPTS || !(worthRetrying(error) || isStalePlan(error))) throw error;
      // Transactions that collided once would collide again after equal pauses.
      await sleep(Math.random() * 20 * tries);
    }
  }
}
