import type { Logger } from "pino";

/** The log as this folder uses it. */
export type Log = Pick<Logger, "info" | "warn">;
