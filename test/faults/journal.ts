import { randomBytes } from "node:crypto";

/** What a caller knows of a write; without an answer it may have happened. */
export type Outcome = "done" | "refused" | "unknown";

/** The kinds of writes, their tables, and their audit events. */
export const KINDS = {
  user: { table: "users", column: "username", event: "user_created" },
  token: { table: "personal_access_tokens", column: "name", event: "personal_access_token_created" },
  group: { table: "namespaces", column: "path", event: "group_created", only: "kind = 'group'" },
  /** A subgroup that was transferred to the top level. */
  move: {
    table: "namespaces",
    column: "path",
    event: "group_transferred",
    only: "parent_id is null and path like '%-sub'",
  },
  project: { table: "projects", column: "path", event: "project_created" },
} as const satisfies Record<string, { table: string; column: string; event: string; only?: string }>;

/** The rows of a kind, with their names. */
export const rowsOf = (kind: Kind) => {
  const { table, column, only = "true" }: { table: string; column: string; only?: string } = KINDS[kind];
  return `(select id, ${column} as name from ${table} where ${only})`;
};

export type Kind = keyof typeof KINDS;

interface WriteRecord {
  readonly kind: Kind;
  /** Unique, with the label of the journal as its prefix. */
  readonly name: string;
  readonly outcome: Outcome;
}

/** A job that must run, may run, or must never run because its transaction was rolled back. */
export interface AddedJob {
  readonly key: string;
  outcome: "done" | "unknown" | "never";
}

/** All answers to callers during a fault, which the invariants compare with the database. */
export interface Journal {
  readonly label: string;
  named: number;
  readonly writes: WriteRecord[];
  readonly jobs: AddedJob[];
  /** Tokens whose revocation was acknowledged. */
  readonly revoked: string[];
  /** The number of answers by status; 0 is no answer. */
  readonly answers: Map<number, number>;
  /** Answers that no caller may ever get. */
  readonly problems: string[];
}

export const newJournal = (): Journal => ({
  label: `f${randomBytes(4).toString("hex")}`,
  named: 0,
  writes: [],
  jobs: [],
  revoked: [],
  answers: new Map(),
  problems: [],
});

export const nextName = (journal: Journal) => `${journal.label}-${++journal.named}`;

export const namesOf = ({ writes }: Journal, kind: Kind, ...outcomes: Outcome[]): string[] =>
  writes.filter((write) => write.kind === kind && outcomes.includes(write.outcome)).map(({ name }) => name);

/** Such as "812 writes acknowledged, 31 refused (503), 4 unknown; 96 jobs". */
export function summaryOf({ writes, jobs, answers }: Journal): string {
  const count = (outcome: Outcome) => writes.filter((write) => write.outcome === outcome).length;
  // A revoked token is refused on purpose.
  const refusals = [...answers.keys()].filter((status) => status >= 400 && status !== 401);
  const refused = `${count("refused")} refused${refusals.length > 0 ? ` (${refusals.join(", ")})` : ""}`;
  const added = jobs.filter(({ outcome }) => outcome === "done").length;
  return `${count("done")} writes acknowledged, ${refused}, ${count("unknown")} unknown; ${added} jobs`;
}
