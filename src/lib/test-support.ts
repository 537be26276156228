import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { withDirectory } from "#test/support/command.ts";
import { type LogDestination, logDestination } from "./log-destination.ts";

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
export const line = (number: number) => `${number} ${"x".repeat(1000)}\n`;

/** Longer than a line, so that it does not fit into the room that a line leaves in the buffer. */
export const LONG = "y".repeat(2000);

/** A destination that says in a line of its own how many lines it dropped. */
export function opened(fd: number) {
  const reports: number[] = [];
  const destination = logDestination(fd, (lines) => {
    reports.push(lines);
    destination.write(`dropped ${lines} ${LONG}\n`);
  });
  return { destination, reports };
}

/** A pipe with a name, whose reader comes and goes. */
export async function withPipe(work: (write: number, openReader: () => number) => Promise<void>) {
  await withDirectory(async (directory) => {
    const path = join(directory, "pipe");
    execFileSync("mkfifo", [path]);
    const openReader = () => openSync(path, O_RDONLY | O_NONBLOCK);
    const first = openReader();
    const write = openSync(path, O_WRONLY | O_NONBLOCK);
    closeSync(first);
    try {
      await work(write, openReader);
    } finally {
      closeSync(write);
    }
  });
}

/** Writes 100 MB. */
export async function writeMany(destination: LogDestination) {
  for (let number = 0; number < 100_000; number++) {
    destination.write(line(number));
    if (number % 1000 === 0) await new Promise(setImmediate);
  }
}
