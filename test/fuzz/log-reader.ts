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
  readonly err?: { readonly message: string; readonly stack?: string };
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
      } else if (SEVERE.includes(line.level)) {
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
