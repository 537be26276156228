import { once } from "node:events";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { type ClientConfig, Pool, type PoolClient } from "pg";
import { BACKGROUND, type Consumer } from "#lib/consumer.ts";
import { type Claim, fairSemaphore, type Release } from "#lib/semaphore.ts";
import { isStalePlan } from "./errors.ts";
import type { Log } from "./log.ts";
import { MAX_PREPARED, type StatementNames } from "./statements.ts";
import type { CurrentWork } from "./work.ts";

const IDLE_TIMEOUT_MS = 60_000;

export interface PoolUsage {
  readonly size: number;
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Connections that callers share fairly. */
export interface SharedPool {
  /** Waits for a connection on behalf of a consumer. */
  take(consumer: Consumer): Promise<{ readonly client: PoolClient; readonly release: (destroy: boolean) => void }>;
  readonly pool: Pool;
  usage(): PoolUsage;
  end(): Promise<void>;
}

export function openPool(config: ClientConfig, size: number, maxWaitMs: number, log: Log): SharedPool {
  const pool = new Pool({ ...config, max: size, idleTimeoutMillis: IDLE_TIMEOUT_MS });
  pool.on("error", (error) => log.warn({ reason: error.message }, "lost an idle database connection"));
  const open = new Set<PoolClient>();
  pool.on("connect", (client) => {
    open.add(client);
    // The pool listens for errors only while a connection is idle; a running statement gets its own error.
    client.on("error", () => {});
  });
  pool.on("remove", (client) => open.delete(client));
  const semaphore = fairSemaphore({ slots: size, maxWaitMs });

  async function connect(release: Release) {
    try {
      return await pool.connect();
    } catch (error) {
      release();
      throw error;
    }
  }

  return {
    pool,
    usage: () => ({
      ...{ size, open: pool.totalCount, idle: pool.idleCount },
      waiting: pool.waitingCount + semaphore.usage().waiting,
    }),
    async take(consumer) {
      const release = await semaphore.acquire(claimOf(consumer, size));
      const client = await connect(release);
      return {
        client,
        release(destroy) {
          client.release(destroy);
          release();
        },
      };
    },
    async end() {
      await pool.end();
      // The pool resolves `end` before its connections are closed.
      while (open.size > 0) await once(pool, "remove");
    },
  };
}

const partOf = (size: number, numerator: number, denominator: number) =>
  Math.max(1, Math.floor((size * numerator) / denominator));

/**
 * A principal holds at most half of the connections, a network three quarters, since one person may have several
 * principals, and its anonymous callers together a quarter.
 */
function claimOf(consumer: Consumer, size: number): Claim {
  const { principal, network } = consumer;
  if (consumer === BACKGROUND) return { queue: "background", shares: [] };
  const queue = principal ?? `anonymous ${network}`;
  return {
    queue,
    shares: [
      { name: queue, max: principal === undefined ? partOf(size, 1, 4) : partOf(size, 1, 2) },
      { name: `network ${network}`, max: partOf(size, 3, 4) },
    ],
  };
}

interface NamingOptions {
  readonly names: StatementNames;
  readonly work: CurrentWork;
  /** Where reads of anonymous callers go; their statements have a shorter timeout. */
  readonly anonymous: SharedPool;
  /** Throws if a transaction asks for another connection. */
  readonly assertions: boolean;
}

/** The pool as Kysely uses it, with every statement prepared under its name. */
export function namingPool(main: SharedPool, { names, work, anonymous, assertions }: NamingOptions): PostgresPool {
  const known = new WeakMap<PoolClient, NamingClient>();
  return {
    options: main.pool.options,
    end: () => Promise.resolve(),
    async connect() {
      // Each of several such requests would hold one connection and wait for a second.
      if (assertions && work.inTransaction()) throw new Error("A transaction asked for a second connection; pass `tx`");
      const { consumer, reads } = work.current();
      const caller = consumer();
      const { client, release } = await (reads && caller.principal === undefined ? anonymous : main).take(caller);
      let naming = known.get(client);
      if (!naming) known.set(client, (naming = namingClient(client, names)));
      const { query, isFull } = naming;
      // Closing a connection drops its prepared statements; the pool opens a new one.
      return { query, release: (destroy?: boolean) => release(destroy === true || isFull()) };
    },
  };
}

interface NamingClient {
  readonly query: PostgresPoolClient["query"];
  /** Whether it has more prepared statements than a connection should. */
  isFull(): boolean;
}

function namingClient(client: PoolClient, names: StatementNames): NamingClient {
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
  return { query: query as unknown as PostgresPoolClient["query"], isFull: () => held.size > MAX_PREPARED };
}
