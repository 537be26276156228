import { parseArgs } from "node:util";

/** How large a run is; smaller values are for a try, the goals are meant for the defaults. */
export interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly users: number;
  /** A part of a bench, where it has some. */
  readonly only?: string;
}

export function readOptions(args: readonly string[]): { names: readonly string[]; options: Options } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      users: { type: "string", default: "1m" },
      only: { type: "string" },
    },
  });
  const options = {
    rounds: count(values.rounds),
    seconds: count(values.seconds),
    users: count(values.users),
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
