import { PASSWORD_CANARY } from "./marks.ts";
import type { Secrets } from "./secrets.ts";

/** The log lines of one request. */
export interface Logged {
  readonly operation: string;
  /** The authenticated user. */
  readonly userId?: number;
  /** The unexpected error, if there was one. */
  readonly error?: string;
}

interface Line {
  readonly level: string;
  readonly request_id?: string;
  readonly operation?: string;
  readonly user_id?: number;
  readonly msg?: string;
  readonly err?: { readonly message: string; readonly stack?: string; readonly type?: string; readonly code?: string };
}

/** Serialization failure, deadlock, and a reference to a row that was deleted meanwhile. */
const CONCURRENCY_CODES = ["40001", "40P01", "23503"];
/** Advice about lawful requests, and a job whose user lost the permission before it ran. */
const LAWFUL = [
  "a browser uses a session and sends no Sec-Fetch-Site: serve this site over https",
  "stopped removing merged branches",
];

/**
 * Whether other requests at the same time suffice to cause a warning. The cause decides, not the work that failed, so
 * that a bug in the same work is still reported.
 */
const isByChance = ({ level, msg = "", err }: Line): boolean =>
  level === "warn" && (LAWFUL.includes(msg) || CONCURRENCY_CODES.includes(err?.code ?? ""));

/**
 * Expected warnings of the server: restoring the database takes jobs away from its worker, some clients disconnect during
 * a push, credentials are wrong, and git refuses requests whose status is 200.
 */
const EXPECTED_OF_SERVER = [
  '"LostJob"',
  '"a push ended without a report"',
  "is running as root",
  '"msg":"sign-in refused"',
  '"status":200',
];

/** Whether a line of the server needs no report. Repositories are also replaced while it reconciles a push. */
export function isExpectedOfServer(text: string): boolean {
  if (EXPECTED_OF_SERVER.some((part) => text.includes(part))) return true;
  const line = JSON.parse(text) as Line;
  const isReplaced = line.err?.type === "GitFailed" || line.err?.code === "ENOENT";
  return isByChance(line) || (line.msg === "could not reconcile a push; will retry" && isReplaced);
}

const SECRET = new RegExp(`${PASSWORD_CANARY}|flpat-[\\w-]{20}|\\$argon2`);
const SEVERE = ["warn", "error", "fatal"];

/** Reads the log as it is written: the operation of each request, unexpected errors, and lines that must not occur. */
export class LogReader {
  readonly #secrets: Secrets;
  readonly #logged = new Map<string, Logged>();
  /** Problems that only the log shows: a secret in it, or a warning that belongs to no request. */
  readonly complaints = new Map<string, number>();

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  read(lines: readonly string[]) {
    for (const text of lines) {
      if (SECRET.test(text)) this.#complain("the log holds a secret");
      const told = this.#secrets.toldBy(text);
      if (told !== undefined) this.#complain(`the log holds ${told}`);
      const line = JSON.parse(text) as Line;
      const { request_id: id, operation, user_id: userId } = line;
      if (id !== undefined && operation !== undefined) {
        const error = line.err ? normalized(line.err) : this.#logged.get(id)?.error;
        this.#logged.set(id, {
          operation,
          ...(userId !== undefined && { userId }),
          ...(error !== undefined && { error }),
        });
      } else if (SEVERE.includes(line.level) && !isByChance(line)) {
        this.#complain(`the log says: ${line.msg ?? ""} ${line.err ? normalized(line.err) : ""}`);
      }
    }
  }

  take(id: string | undefined): Logged | undefined {
    if (id === undefined) return undefined;
    const logged = this.#logged.get(id);
    this.#logged.delete(id);
    return logged;
  }

  #complain(complaint: string) {
    this.complaints.set(complaint, (this.complaints.get(complaint) ?? 0) + 1);
  }
}

/** An error without the parts that differ between cases, so that each cause is reported once. */
export function normalized({ message, stack = "" }: { message: string; stack?: string | undefined }): string {
  const frame = /(?:src|test)\/[\w/.-]+:\d+/.exec(stack)?.[0] ?? "";
  return `${message
    .slice(0, 300)
    .replaceAll(/: "[^]*"/g, ': "…"')
    .replaceAll(/\d+/g, "N")} (${frame})`;
}
