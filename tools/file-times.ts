import { readFileSync } from "node:fs";
import type { TestEvent } from "node:test/reporters";

/** Linux counts times in hundredths of a second, whatever the frequency of its clock is. */
const MS_A_TICK = 10;
/** The fields of `/proc/self/stat` behind the name of the program: CPU time of the process and of children that ended. */
const CPU_FIELDS = [11, 12, 13, 14];

/**
 * A reporter for Node's test runner: a line for each top-level test, with its milliseconds, the CPU milliseconds of this
 * process and its children meanwhile, and its file. What PostgreSQL did is not among them.
 */
// oxlint-disable-next-line import/no-default-export -- the test runner loads the default export
export default async function* fileTimes(events: AsyncIterable<TestEvent>) {
  let before = cpuTime();
  for await (const { type, data } of events)
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0) {
      const now = cpuTime();
      yield `${data.details.duration_ms} ${now - before} ${data.file}\n`;
      before = now;
    }
}

function cpuTime(): number {
  if (process.platform !== "linux") {
    const { user, system } = process.cpuUsage();
    return Math.round((user + system) / 1000);
  }
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return CPU_FIELDS.reduce((sum, field) => sum + Number(fields[field]) * MS_A_TICK, 0);
}
