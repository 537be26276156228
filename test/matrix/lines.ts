import { contracts } from "#test/support/contracts.ts";
import type { Line } from "./line.ts";

const entries = contracts.flatMap((contract) => Object.entries(contract.lines));
const listOf = (known: Line | readonly Line[]): readonly Line[] => (Array.isArray(known) ? known : [known as Line]);

/** Endpoints for which two contracts have lines. */
export const duplicateLines: readonly string[] = entries
  .map(([key]) => key)
  .filter((key, index, keys) => keys.indexOf(key) !== index);

/** All lines of each endpoint, the usual request first. */
export const allLines: Readonly<Record<string, readonly Line[]>> = Object.fromEntries(
  entries.map(([key, known]) => [key, listOf(known)]),
);

/** The line of the usual request of each endpoint. */
export const lines: Readonly<Record<string, Line>> = Object.fromEntries(
  entries.map(([key, known]) => [key, listOf(known)[0] as Line]),
);
