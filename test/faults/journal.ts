import { randomBytes } from "node:crypto";

/** What a caller knows of a write: it was acknowledged, it was refused, or no answer came and it may have happened. */
export type Outcome = "done" | "refused" | "unknown";

/** What callers write, where it lands, and the audit event that must come with it. */
export const KINDS = {
  user: { table: "users", column: "username", event: "user_created" },
  token: { table: "personal_access_tokens", column: "name", event: "personal_access_token_created" },
  group: { table: "namespaces", column: "path", event: "group_created", only: "kind = 'group'" },
  /** A subgroup, known by its name, that was made a group at the top. */
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

interface Written {
  readonly kind: Kind;
  /** Unique, and begins with the journal's label. */
  readonly name: string;
  readonly outcome: Outcome;
}

/** What is known of a job that was added: it must run, it may, or its transaction was rolled back and it never may. */
export interface Added {
  readonly key: string;
  outcome: "done" | "unknown" | "never";
}

/** Everything that callers were told while a fault happened; the checker holds the database to it. */
export interface Journal {
  readonly label: string;
  named: number;
  readonly writes: Written[];
  readonly jobs: Added[];
  /** Tokens whose end was acknowledged. */
  readonly revoked: string[];
  /** How often each status was answered; 0 stands for no answer. */
  readonly answers: Map<number, number>;
  /** What no caller may ever see. */
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
