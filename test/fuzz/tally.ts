import type { Answer } from "./client.ts";
import type { Case } from "./cases.ts";
import { bytesOf } from "./request.ts";

/** The first case of a cause, with everything that is needed to reproduce it. */
export interface Failure {
  readonly cause: string;
  count: number;
  readonly index: number;
  readonly about: string;
  request: string;
  readonly answer: string;
}

/** The results of a process, sent to the main process as JSON. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** Seconds of CPU time of client and server, if both are in one process. */
  readonly busy: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** How often each operation was reached, and how often it succeeded. */
  readonly operations: Readonly<Record<string, readonly [reached: number, succeeded: number]>>;
  readonly failures: readonly Failure[];
  /** The longest time that one request blocked the event loop when it ran alone. */
  readonly longest?: Block | undefined;
}

export interface Block {
  readonly ms: number;
  readonly request: string;
}

const MAX_SHOWN = 1500;
/** Statuses of redirects, before the operation runs. */
const MOVED = new Set([301, 308]);

/** Bytes as a printable text that can be parsed back. */
export function shown(bytes: Buffer): string {
  const text = JSON.stringify(bytes.toString("latin1", 0, MAX_SHOWN));
  return bytes.length > MAX_SHOWN ? `${text} and ${bytes.length - MAX_SHOWN} bytes more` : text;
}

const shownAnswer = ({ status, headers, body }: Answer): string =>
  `${status} ${headers
    .map(([name, value]) => `${name}: ${value}`)
    .join("; ")
    .slice(0, 500)} ${body.toString("utf8").slice(0, 500)}`;

const increase = (counts: Record<string, number>, key: string, by = 1) => void (counts[key] = (counts[key] ?? 0) + by);

/** Counts cases, and failures by their cause. */
export class Tally {
  #passed = 0;
  #failed = 0;
  readonly #kinds: Record<string, number> = {};
  readonly #statuses: Record<string, number> = {};
  readonly #operations: Record<string, [number, number]> = {};
  readonly #failures = new Map<string, Failure>();

  get total() {
    return this.#passed + this.#failed;
  }

  get failures(): readonly Failure[] {
    return [...this.#failures.values()];
  }

  /** Records a case and returns the causes that are new. */
  record(
    kind: string,
    status: number,
    operation: string | undefined,
    failures: readonly Omit<Failure, "count">[],
  ): Failure[] {
    increase(this.#kinds, kind);
    increase(this.#statuses, String(status));
    if (operation !== undefined) {
      const counts = (this.#operations[operation] ??= [0, 0]);
      counts[0]++;
      if (status < 400 && !MOVED.has(status)) counts[1]++;
    }
    if (failures.length === 0) this.#passed++;
    else this.#failed++;
    return failures.flatMap((failure) => this.#note(failure) ?? []);
  }

  /** A failure that was found after its case had been counted as passed, or outside any case. */
  amend(failure: Omit<Failure, "count">, wasPassed: boolean) {
    if (wasPassed) this.#passed--;
    this.#failed++;
    this.#note(failure);
  }

  #note(failure: Omit<Failure, "count">): Failure | undefined {
    const known = this.#failures.get(failure.cause);
    if (known) {
      known.count++;
      return undefined;
    }
    const first = { ...failure, count: 1 };
    this.#failures.set(failure.cause, first);
    return first;
  }

  outcome(busy = 0): Outcome {
    return {
      ...{ passed: this.#passed, failed: this.#failed, busy, kinds: this.#kinds, statuses: this.#statuses },
      ...{ operations: this.#operations, failures: this.failures },
    };
  }
}

export const failureOf = (
  cause: string,
  index: number,
  { kind, operation, caller, asked }: Case,
  answer: Answer,
): Omit<Failure, "count"> => ({
  ...{ cause, index, about: `${kind} request to ${operation} by ${caller}` },
  ...{ request: shown(bytesOf(asked)), answer: shownAnswer(answer) },
});

export function sum(outcomes: readonly Outcome[]): Outcome {
  const kinds: Record<string, number> = {};
  const statuses: Record<string, number> = {};
  const operations: Record<string, [number, number]> = {};
  const failures = new Map<string, Failure>();
  for (const outcome of outcomes) {
    for (const [key, count] of Object.entries(outcome.kinds)) increase(kinds, key, count);
    for (const [key, count] of Object.entries(outcome.statuses)) increase(statuses, key, count);
    for (const [key, [reached, succeeded]] of Object.entries(outcome.operations)) {
      const counts = (operations[key] ??= [0, 0]);
      counts[0] += reached;
      counts[1] += succeeded;
    }
    for (const failure of outcome.failures) {
      const known = failures.get(failure.cause);
      if (known) known.count += failure.count;
      else failures.set(failure.cause, { ...failure });
    }
  }
  const total = (key: "passed" | "failed" | "busy") => outcomes.reduce((count, outcome) => count + outcome[key], 0);
  return {
    passed: total("passed"),
    failed: total("failed"),
    busy: total("busy"),
    kinds,
    statuses,
    operations,
    failures: [...failures.values()],
    longest: outcomes.flatMap(({ longest }) => longest ?? []).toSorted((a, b) => b.ms - a.ms)[0],
  };
}
