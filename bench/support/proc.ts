import { readdirSync, readFileSync } from "node:fs";

// The kernel reports hundredths of a second, whatever its own timer is.
const MICROSECONDS_PER_TICK = 10_000;

interface Stat {
  readonly parent: number;
  readonly own: number;
  readonly ofEndedChildren: number;
}

function statOf(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The name of the program, in parentheses, may contain spaces; field 3 follows it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (position: number) => Number(fields[position - 3]);
  return {
    parent: field(4),
    own: (field(14) + field(15)) * MICROSECONDS_PER_TICK,
    ofEndedChildren: (field(16) + field(17)) * MICROSECONDS_PER_TICK,
  };
}

/** The processor time of a process, user and system, in microseconds. */
export function cpuOf(pid: number): number {
  const stat = statOf(pid);
  if (!stat) throw new Error(`Process ${pid} has ended`);
  return stat.own;
}

/** The processor time of a PostgreSQL server with its running and ended children, in microseconds. */
export function cpuOfServer(pid: number): number {
  const first = statOf(pid);
  if (!first) throw new Error(`Process ${pid} has ended`);
  const others = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === pid);
  return others.reduce((sum, stat) => sum + (stat?.own ?? 0), first.own + first.ofEndedChildren);
}

/** The resident memory of a process. */
export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  if (kilobytes === undefined) throw new Error(`Process ${pid} shows no memory`);
  return Number(kilobytes) / 1024;
}
