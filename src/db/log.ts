import type { Logger } from "pino";

/** What this folder needs of a log. */
export type Log = Pick<Logger, "info" | "warn">;
