import { DatabaseError } from "pg";
import { conflict, Refusal, unavailable } from "#lib/refusal.ts";

/** The refusal for each constraint that a request can violate, by its name; only a bug can violate any other. */
export type Constraints = Readonly<Record<string, () => Refusal>>;

const CONSTRAINT_CODES = new Set(["23503", "23505", "23514", "23P01"]);
const SOCKET_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT"]);
/** How the driver's messages about a missing or lost connection begin; they have no code. */
const NO_CONNECTION = [
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed",
  "Cannot use a pool after calling end",
];

/** The refusal that an error of the database means to the caller; undefined for a bug. */
export function refusalOf(error: unknown, constraints: Constraints = {}): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (lostConnection(error)) return unavailable();
  if (!(error instanceof DatabaseError) || error.code === undefined) return undefined;
  if (CONSTRAINT_CODES.has(error.code)) return constraints[error.constraint ?? ""]?.();
  switch (error.code) {
    case "55P03": // lock_timeout
      return conflict("409 Conflict: Resource lock");
    case "57014": // statement_timeout
    case "25006": // a server that became a replica
      return unavailable();
    default: {
      const outOfResources = error.code.startsWith("53");
      return outOfResources || worthRetrying(error) || isStalePlan(error) ? unavailable() : undefined;
    }
  }
}

/** Whether there was no connection, or it broke while the statement ran. */
export function lostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? error.code : undefined;
  // Connection exceptions, shutdown and crash, and the end of a transaction that idled too long.
  if (error instanceof DatabaseError) return /^(?:08|57P|25P03)/.test(error.code ?? "");
  if (typeof code === "string") return SOCKET_CODES.has(code);
  return NO_CONNECTION.some((start) => error.message.startsWith(start));
}

/** Whether the same transaction may succeed if it is retried, after a deadlock or a serialization failure. */
export const worthRetrying = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === "40P01" || error.code === "40001");

/** Whether a statement failed by what one row holds or refers to, so that it may succeed without that row. */
export const isRefusedRow = (error: unknown): boolean =>
  error instanceof DatabaseError && /^2[23]/.test(error.code ?? "");

/** Whether a lock was not granted in time. */
export const isLockTimeout = (error: unknown): boolean => error instanceof DatabaseError && error.code === "55P03";

/** Whether a migration changed the columns of a statement that this connection prepared before it. */
export const isStalePlan = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  ((error.code === "0A000" && error.routine === "RevalidateCachedQuery") || error.code === "26000");
