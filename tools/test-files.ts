import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The seconds of each test file that took long when costs were last recorded. */
const COSTS = "tools/test-costs.json";
/** Files that take less are not in the table. */
const MIN_RECORDED_SECONDS = 3;
const DEFAULT_SECONDS = 1;

/** The test files: either the ones that judge time, CPU or memory, or all the others. */
export function testFiles(root: string, timed: boolean): string[] {
  return ["src", "test"]
    .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root }).toSorted())
    .filter((file) => file.endsWith(".timed.test.ts") === timed);
}

/**
 * Deals files to processes, longest first. A process gets many while much is left and few at the end, so that few
 * processes are started and all end together.
 */
export function dealer(root: string, files: readonly string[], processes: number): () => string[] {
  const costs = readCosts(root);
  const costOf = (file: string) => costs[file] ?? DEFAULT_SECONDS;
  const waiting = files.toSorted((a, b) => costOf(b) - costOf(a));
  let left = waiting.reduce((sum, file) => sum + costOf(file), 0);
  return () => {
    const batch: string[] = [];
    let share = left / processes / 2;
    for (let file = waiting[0]; file !== undefined && share > 0; [file] = waiting) {
      waiting.shift();
      batch.push(file);
      share -= costOf(file);
      left -= costOf(file);
    }
    return batch;
  };
}

/** What a test file took. */
export interface FileTime {
  readonly file: string;
  readonly seconds: number;
  /** Those of CPU, of the process that runs it and of the processes that it started. */
  readonly cpu: number;
}

export function recordCosts(root: string, took: readonly FileTime[]): void {
  const costs = took
    .map(({ file, seconds }) => [file, Math.round(seconds)] as const)
    .filter(([, seconds]) => seconds >= MIN_RECORDED_SECONDS);
  writeFileSync(join(root, COSTS), `${JSON.stringify(Object.fromEntries(costs), undefined, 2)}\n`);
}

const readCosts = (root: string) =>
  JSON.parse(readFileSync(join(root, COSTS), "utf8")) as Readonly<Record<string, number>>;
