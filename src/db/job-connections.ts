import { Client, escapeIdentifier, Pool } from "pg";
import { isStalePlan } from "./errors.ts";
import type { Log } from "./log.ts";
import { connectionConfig } from "./sessions.ts";
import { statementNames } from "./statements.ts";

/** What the job engine asks of a database. */
export interface JobConnections {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
  /** Hears a channel until it is closed; `ready` follows every connection, after which something may have been missed. */
  listen(channel: string, hear: (payload: string) => void, ready: () => void): Promise<{ close(): Promise<void> }>;
  close(): Promise<void>;
}

interface Options {
  readonly url: string;
  readonly log: Log;
  readonly size: number;
}

const STATEMENT_TIMEOUT = 60_000;
const LOCK_TIMEOUT = 5_000;
const PAUSE = 1_000;

/** Connections of the job engine alone: however busy a process is, its jobs' heartbeats get through. */
export function openJobConnections({ url, log, size }: Options): JobConnections {
  const config = connectionConfig({
    url,
    statementTimeout: STATEMENT_TIMEOUT,
    lockTimeout: LOCK_TIMEOUT,
    // Of a table that empties all the time PostgreSQL expects few rows, and would sort the whole backlog for each fetch
    // instead of taking the first rows of the index.
    settings: { enable_bitmapscan: "off", enable_sort: "off" },
  });
  const names = statementNames();
  const pool = new Pool({ ...config, max: size });
  const tell = (error: Error) => log.warn({ reason: error.message }, "A connection of the job engine broke");
  pool.on("error", tell);
  pool.on("connect", (client) => void client.on("error", () => {}));

  return {
    async executeSql(text, values = []) {
      // Only a text of one statement can be prepared.
      const name = text.includes(";") ? undefined : names.of(text);
      try {
        return await pool.query({ name, text, values });
      } catch (error) {
        if (!isStalePlan(error)) throw error;
        names.renew(text, name);
        return pool.query({ name: names.of(text), text, values });
      }
    },

    async listen(channel, hear, ready) {
      let closed = false;
      let timer: NodeJS.Timeout | undefined;
      let client = connect();

      function connect(): Client {
        const fresh = new Client(config);
        fresh.on("error", tell);
        fresh.on("notification", ({ payload = "" }) => hear(payload));
        fresh.once("end", () => {
          if (!closed) timer = setTimeout(() => (client = connect()), PAUSE).unref();
        });
        fresh
          .connect()
          .then(() => fresh.query(`listen ${escapeIdentifier(channel)}`))
          .then(ready, (error: Error) => {
            tell(error);
            return fresh.end();
          })
          .catch(tell);
        return fresh;
      }

      return {
        async close() {
          closed = true;
          clearTimeout(timer);
          await client.end();
        },
      };
    },

    close: () => pool.end(),
  };
}
