import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { migrate } from "#db/migrate.ts";
import { clearSeedStep, runSeedStep, seedChecksum, type SeedStep } from "#db/seed.ts";

/** A seeded database that is kept between runs. */
export interface SeededDatabase<Size> {
  readonly url: string;
  /** The file that records the checksum of each step that ran, by its name. */
  readonly record: string;
  readonly steps: readonly SeedStep<Size>[];
  readonly size: Size;
  readonly onStep?: (step: string) => void;
  /** The directory of the migrations, if not the product's own. */
  readonly migrations?: string;
}

type StepChecksums = Record<string, string>;
/** Recorded while a step runs: one that did not end left rows behind. */
const UNFINISHED = "unfinished";

/** Whether a changed step cannot be run again on its own, so that the whole database has to be recreated. */
export function isOutdated<Size>({
  record,
  steps,
  size,
}: Pick<SeededDatabase<Size>, "record" | "steps" | "size">): boolean {
  const ran = readRecord(record);
  return steps.some((step) => hasChanged(step, size, ran) && step.clear === undefined);
}

/** Applies the missing migrations and runs the missing and changed steps; returns what was done. */
export async function bringUpToDate<Size>({ url, record, steps, size, onStep, migrations }: SeededDatabase<Size>) {
  const { applied } = await migrate(url, migrations === undefined ? {} : { directory: migrations });
  const ran = readRecord(record);
  const write = () => writeFileSync(record, `${JSON.stringify(ran, null, 2)}\n`);
  const done: string[] = [];
  for (const step of steps) {
    const changed = hasChanged(step, size, ran);
    if (!changed && step.name in ran) continue;
    if (changed && step.clear === undefined) throw new Error(`The rows of ${step.name} cannot be recreated alone`);
    onStep?.(step.name);
    ran[step.name] = UNFINISHED;
    write();
    if (changed && step.clear !== undefined) await clearSeedStep(url, step.clear);
    await runSeedStep(url, step, size);
    ran[step.name] = seedChecksum(step, size);
    write();
    done.push(step.name);
  }
  return { migrations: applied, steps: done };
}

const hasChanged = <Size>(step: SeedStep<Size>, size: Size, ran: StepChecksums): boolean =>
  step.name in ran && ran[step.name] !== seedChecksum(step, size);

const readRecord = (file: string): StepChecksums =>
  existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as StepChecksums) : {};
