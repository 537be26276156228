import type { ClientConfig } from "pg";
import { typeParsers } from "./parsers.ts";

export interface Session {
  readonly url: string;
  /** Milliseconds after which PostgreSQL ends a statement; 0 is never. */
  readonly statementTimeout: number;
  /** Milliseconds after which PostgreSQL stops waiting for a lock; 0 is never. */
  readonly lockTimeout: number;
  /** Milliseconds that a caller waits for a connection, new or pooled. */
  readonly connectTimeout?: number;
  /** Further settings of PostgreSQL. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** For commands, which have no request waiting for them. */
const CONNECT_TIMEOUT_MS = 10_000;
/** TCP keep-alive notices a vanished machine after this much silence. */
const KEEP_ALIVE_DELAY_MS = 10_000;

/** The settings of every connection, sent in the startup message so that they cost no round trip. */
export function connectionConfig({
  url,
  statementTimeout,
  lockTimeout,
  connectTimeout = CONNECT_TIMEOUT_MS,
  settings,
}: Session): ClientConfig {
  const all = {
    statement_timeout: statementTimeout,
    lock_timeout: lockTimeout,
    idle_in_transaction_session_timeout: 10_000,
    // The parsers expect exactly these formats.
    TimeZone: "UTC",
    DateStyle: "ISO",
    bytea_output: "hex",
    // JIT compilation pays off for queries of seconds only.
    jit: "off",
    // Starting parallel workers takes longer than our statements, and concurrent requests keep the cores busy.
    max_parallel_workers_per_gather: 0,
    ...settings,
  };
  const ours = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`);
  // The driver lets `options` of the URL replace ours, so both are joined; ours come last and win.
  const address = URL.parse(url);
  const given = address?.searchParams.get("options") ?? "";
  address?.searchParams.delete("options");
  return {
    connectionString: address?.href ?? url,
    options: [given, ...ours].join(" ").trim(),
    fallback_application_name: "fairlead",
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    types: typeParsers,
  };
}
