import { readdirSync, readFileSync } from "node:fs";

// The kernel counts in hundredths of a second for every program, whatever its own timer is.
const MICROSECONDS_A_TICK = 10_000;

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
  // The name of the program, in brackets, may hold spaces; the numbers start after it with field 3.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (position: number) => Number(fields[position - 3]);
  return {
    parent: field(4),
    own: (field(14) + field(15)) * MICROSECONDS_A_TICK,
    ofEndedChildren: (field(16) + field(17)) * MICROSECONDS_A_TICK,
  };
}

/** Microseconds of processor time, user and system, that a process has used. */
export function cpuOf(pid: number): number {
  const stat = statOf(pid);
  if (!stat) throw new Error(`Process ${pid} has ended`);
  return stat.own;
}

/** The same for a PostgreSQL server: its first process, the children it has and those it had. */
export function cpuOfServer(pid: number): number {
  const first = statOf(pid);
  if (!first) throw new Error(`Process ${pid} has ended`);
  const others = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === pid);
  return others.reduce((sum, stat) => sum + (stat?.own ?? 0), first.own + first.ofEndedChildren);
}

/** Megabytes of memory that a process holds. */
export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  if (kilobytes === undefined) throw new Error(`Process ${pid} shows no memory`);
  return Number(kilobytes) / 1024;
}
