import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { residentMegabytes } from "#bench/support/proc.ts";
import { COLLECT } from "./collect.ts";
import type { Block } from "./inside.ts";

const SAMPLE_MS = 100;
/** How long a collection may take before it is asked for again. */
const COLLECTION_MS = 1000;

/** Samples the memory of a server and of its git processes. */
export function watchMemory(pid: number): { stop(): { server: number; git: number } } {
  let [server, git] = [0, 0];
  const sample = () => {
    try {
      server = Math.max(server, residentMegabytes(pid));
      git = Math.max(git, sum(descendantsOf(pid).map(megabytesOf)));
    } catch {
      // The server ended, which the caller notices itself.
    }
  };
  const timer = setInterval(sample, SAMPLE_MS);
  return {
    stop() {
      clearInterval(timer);
      return { server, git };
    },
  };
}

/** Seconds until the memory of a server is below a limit; undefined if that takes too long. */
export async function secondsUntilBelow(pid: number, megabytes: number, limitMs: number): Promise<number | undefined> {
  const started = performance.now();
  while (performance.now() - started < limitMs) {
    if (residentMegabytes(pid) < megabytes) return (performance.now() - started) / 1000;
    // An idle V8 keeps its garbage: what is left after a collection is what the attack holds.
    process.kill(pid, COLLECT);
    await pause(COLLECTION_MS);
  }
  return undefined;
}

/** The command lines of all descendants of a process. */
export const commandsBelow = (pid: number): string[] => descendantsOf(pid).map(commandOf);

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

function megabytesOf(pid: number): number {
  try {
    return residentMegabytes(pid);
  } catch {
    return 0;
  }
}

/** All descendants of a process. */
function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined;
    if (parent !== undefined) parents.set(parent, [...(parents.get(parent) ?? []), Number(name)]);
  }
  const below = (of: number): number[] => (parents.get(of) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

/** The longest block of the event loop since a time in milliseconds since 1970. */
export function longestBlock(file: string, since: number): Block | undefined {
  const blocks = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Block)
    .filter(({ at }) => at >= since);
  return blocks.toSorted((a, b) => b.ms - a.ms)[0];
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Infinity;
}
