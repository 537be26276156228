import { parseArgs } from "node:util";

const LOAD_SECONDS = "3";
/** PostgreSQL logs most right after a checkpoint, which is every 300 seconds. */
const IDLE_SECONDS = "300";

/** The size of a run; the goals apply to the defaults. */
export interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly users: number;
  /** For the benches that need more than users. */
  readonly projects: number;
  readonly tokens: number;
  readonly issues: number;
  /** Whether figures are printed without being judged, as those of a smaller run. */
  readonly report: boolean;
  /** Selects a part of a bench that has several. */
  readonly only?: string;
}

export function readOptions(args: readonly string[]): { names: readonly string[]; options: Options } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string" },
      users: { type: "string", default: "1m" },
      projects: { type: "string", default: "40k" },
      tokens: { type: "string", default: "100k" },
      issues: { type: "string", default: "2m" },
      report: { type: "boolean", default: false },
      only: { type: "string" },
    },
  });
  const options = {
    rounds: count(values.rounds),
    seconds: count(values.seconds ?? (positionals[0] === "idle" ? IDLE_SECONDS : LOAD_SECONDS)),
    users: count(values.users),
    projects: count(values.projects),
    tokens: count(values.tokens),
    issues: count(values.issues),
    report: values.report,
    ...(values.only !== undefined && { only: values.only }),
  };
  return { names: positionals, options };
}

/** A whole number from 1 up, "10k" and "1m" included. */
function count(text: string): number {
  const [, digits, unit] = /^([1-9]\d*)([km]?)$/i.exec(text) ?? [];
  if (digits === undefined) throw new Error(`'${text}' is not a count such as 5, 10k or 1m`);
  return Number(digits) * { "": 1, k: 1_000, m: 1_000_000 }[unit?.toLowerCase() as "" | "k" | "m"];
}
