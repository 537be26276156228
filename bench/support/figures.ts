/** A measured value, described like "0.43 of pgbench's rate", and its goal. */
export interface Figure {
  readonly value: number;
  readonly unit?: string;
  readonly about: string;
  readonly bound: "at least" | "at most";
  readonly goal: number;
}

export const isMet = ({ value, bound, goal }: Figure): boolean =>
  bound === "at least" ? value >= goal : value <= goal;

export const shown = ({ value, unit = "", about }: Figure): string => `${short(value)}${unit} ${about}`;
export const goalOf = ({ bound, goal, unit = "" }: Figure): string => `${bound} ${goal}${unit}`;

export const summary = (name: string, figures: readonly Figure[]): string =>
  `${name}: ${figures.map(shown).join(", ")} (goal ${figures.map(goalOf).join(", ")})`;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (low === undefined || high === undefined) throw new Error("No values to take the median of");
  return (low + high) / 2;
}

/** Three significant digits, so that a value just short of its goal does not look like the goal. */
export const short = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));

/** A table with headings; numbers are aligned to the right. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "number" ? short(cell) : cell)));
  const widths = headings.map((heading, i) => Math.max(heading.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const isNumber = headings.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => cell[isNumber[i] ? "padStart" : "padEnd"](widths[i] ?? 0)).join("  ");
  return [line(headings), widths.map((width) => "-".repeat(width)).join("  "), ...cells.map(line)]
    .map((text) => text.trimEnd())
    .join("\n");
}

/** Reports the progress of a long run on stderr. */
export const progress = (text: string) => void process.stderr.write(`${text}\n`);
