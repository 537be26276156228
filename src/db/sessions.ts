import type { ClientConfig } from "pg";
import { typeParsers } from "./parsers.ts";

export interface Session {
  readonly url: string;
  /** Milliseconds after which PostgreSQL ends a statement; 0 is never. */
  readonly statementTimeout: number;
  /** Milliseconds after which PostgreSQL stops waiting for a lock; 0 is never. */
  readonly lockTimeout: number;
  /** Further settings of PostgreSQL. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** How long a caller waits for a connection, new or of the pool. */
const CONNECT_TIMEOUT = 2_000;
/** A machine that vanished without a word is noticed this long after the last word. */
const KEEP_ALIVE_DELAY = 10_000;

/** The settings that every connection starts with, sent with the first message so that they cost no round trip. */
export function connectionConfig({ url, statementTimeout, lockTimeout, settings }: Session): ClientConfig {
  const all = {
    statement_timeout: statementTimeout,
    lock_timeout: lockTimeout,
    idle_in_transaction_session_timeout: 10_000,
    // The parsers read times and bytes in exactly these forms.
    TimeZone: "UTC",
    DateStyle: "ISO",
    bytea_output: "hex",
    // Compiling a query pays for reports of seconds, never for ours.
    jit: "off",
    // Starting helpers takes longer than our statements, and requests are many enough to keep the cores busy.
    max_parallel_workers_per_gather: 0,
    ...settings,
  };
  const ours = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`);
  // The driver would let `options` of the address replace ours, so they are joined, and ours come last and win.
  const address = URL.parse(url);
  const given = address?.searchParams.get("options") ?? "";
  address?.searchParams.delete("options");
  return {
    connectionString: address?.href ?? url,
    options: [given, ...ours].join(" ").trim(),
    fallback_application_name: "fairlead",
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    types: typeParsers,
  };
}
