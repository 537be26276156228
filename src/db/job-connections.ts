import { Client, type ClientConfig, escapeIdentifier, Pool } from "pg";
import { isStalePlan } from "./errors.ts";
import type { Log } from "./log.ts";
import { connectionConfig } from "./sessions.ts";
import { statementNames } from "./statements.ts";

/** The database as the job engine uses it. */
export interface JobConnections {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
  /** Listens on a channel until it is closed; `ready` is called after each connect, since notifications may have been missed. */
  listen(channel: string, hear: (payload: string) => void, ready: () => void): Promise<{ close(): Promise<void> }>;
  close(): Promise<void>;
}

interface Options {
  readonly url: string;
  readonly log: Log;
  readonly size: number;
  /** Milliseconds. */
  readonly connectTimeout: number;
}

const STATEMENT_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 5_000;
const RECONNECT_PAUSE_MS = 1_000;

/** Connections of the job engine alone, so that heartbeats get through however busy the process is. */
export function openJobConnections({ url, log, size, connectTimeout }: Options): JobConnections {
  const config = connectionConfig({
    url,
    statementTimeout: STATEMENT_TIMEOUT_MS,
    lockTimeout: LOCK_TIMEOUT_MS,
    connectTimeout,
    // PostgreSQL expects few rows in a table that keeps being emptied, and would sort the whole backlog for each fetch
    // instead of reading the first rows of the index.
    settings: { enable_bitmapscan: "off", enable_sort: "off" },
  });
  const names = statementNames();
  const pool = new Pool({ ...config, max: size });
  const warn = (error: Error) => log.warn({ reason: error.message }, "lost a connection of the job engine");
  pool.on("error", warn);
  pool.on("connect", (client) => void client.on("error", () => {}));

  return {
    async executeSql(text, values = []) {
      // Only a single statement can be prepared.
      const name = text.includes(";") ? undefined : names.of(text);
      try {
        return await pool.query({ name, text, values });
      } catch (error) {
        if (!isStalePlan(error)) throw error;
        names.renew(text, name);
        return pool.query({ name: names.of(text), text, values });
      }
    },

    listen: async (channel, hear, ready) => listen(config, channel, hear, ready, warn),

    close: () => pool.end(),
  };
}

/** Listens on a connection that is replaced when it breaks. */
function listen(
  config: ClientConfig,
  channel: string,
  hear: (payload: string) => void,
  ready: () => void,
  warn: (error: Error) => void,
) {
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let client = connect();

  function connect(): Client {
    const fresh = new Client(config);
    fresh.on("error", warn);
    fresh.on("notification", ({ payload = "" }) => hear(payload));
    fresh.once("end", () => {
      if (!closed) timer = setTimeout(() => (client = connect()), RECONNECT_PAUSE_MS).unref();
    });
    fresh
      .connect()
      .then(() => fresh.query(`listen ${escapeIdentifier(channel)}`))
      .then(ready, (error: Error) => {
        warn(error);
        return fresh.end();
      })
      .catch(warn);
    return fresh;
  }

  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await client.end();
    },
  };
}
