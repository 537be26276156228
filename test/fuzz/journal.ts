import { PASSWORD_CANARY } from "./marks.ts";
import type { Secrets } from "./secrets.ts";

/** What the log says of one request. */
export interface Logged {
  readonly operation: string;
  /** Whom the request was taken to come from. */
  readonly userId?: number;
  /** What was thrown where nobody foresaw it. */
  readonly error?: string;
}

interface Line {
  readonly level: number;
  readonly request_id?: string;
  readonly operation?: string;
  readonly user_id?: number;
  readonly msg?: string;
  readonly err?: { readonly message: string; readonly stack?: string };
}

const SECRET = new RegExp(`${PASSWORD_CANARY}|flpat-[\\w-]{20}|\\$argon2`);
const WARN = 40;

/** Reads the log as it is written: who answered a request, what failed inside, and what should not be there. */
export class Journal {
  readonly #secrets: Secrets;
  readonly #logged = new Map<string, Logged>();
  /** What the log alone tells: a secret in it, or a warning that belongs to no request. */
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
        const error = line.err ? tidied(line.err) : this.#logged.get(id)?.error;
        this.#logged.set(id, {
          operation,
          ...(userId !== undefined && { userId }),
          ...(error !== undefined && { error }),
        });
      } else if (line.level >= WARN) {
        this.#complain(`the log says: ${line.msg ?? ""} ${line.err ? tidied(line.err) : ""}`);
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

/** An error without what differs from case to case, so that one cause is told once. */
export function tidied({ message, stack = "" }: { message: string; stack?: string | undefined }): string {
  const frame = /(?:src|test)\/[\w/.-]+:\d+/.exec(stack)?.[0] ?? "";
  return `${message
    .slice(0, 300)
    .replaceAll(/: "[^]*"/g, ': "…"')
    .replaceAll(/\d+/g, "N")} (${frame})`;
}
