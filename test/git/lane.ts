import { setTimeout as sleep } from "node:timers/promises";
import { until } from "#test/support/until.ts";
import type { Client, Outcome } from "./client.ts";
import type { Installation, Project } from "./installation.ts";
import { historyOf, problemsOf, type PushRecord, refsOf } from "./journal.ts";

/** After a restart all pushes are recorded within this time. */
const RECORD_TIMEOUT_MS = 30_000;
/** So large that some pushes are killed during the transfer and others when refs change. */
const MAX_COMMIT_BYTES = 3_000_000;

const KINDS = [
  { name: "one ref", refs: 1, atomic: false },
  { name: "three refs", refs: 3, atomic: false },
  { name: "three refs atomic", refs: 3, atomic: true },
  { name: "five refs atomic", refs: 5, atomic: true },
] as const;

/** A project for one kind of push, with all pushes to it. */
export interface Target {
  readonly refs: number;
  readonly atomic: boolean;
  readonly project: Project;
  readonly pushes: PushRecord[];
}

/** A server that is killed repeatedly during pushes. */
export interface Lane {
  readonly installation: Installation;
  readonly client: Client;
  readonly targets: readonly Target[];
  /** Whether git processes are killed with the server. */
  readonly withGit: boolean;
}

export async function newLane(installation: Installation, client: Client, withGit: boolean): Promise<Lane> {
  const targets: Target[] = [];
  for (const { name, refs, atomic } of KINDS) {
    targets.push({ refs, atomic, project: await installation.createProject(`Kill ${name}`), pushes: [] });
  }
  return { installation, client, targets, withGit };
}

/** Runs a push of each kind concurrently, each to its own repository. */
export const pushAll = (lane: Lane, label: string): Promise<PushRecord[]> =>
  Promise.all(lane.targets.map((target) => push(lane, target, label)));

/** Pushes a new commit to each ref of a label, and creates missing refs. */
export async function push({ installation, client }: Lane, target: Target, label: string): Promise<PushRecord> {
  const { project, refs, atomic, pushes } = target;
  const names = Array.from({ length: refs }, (_, n) => `refs/heads/${label}-${n}`);
  const there = await refsOf(installation, project);
  const parents = names.map((name) => there.get(name));
  const ids = await client.commitsOn(label, parents, Math.round(Math.random() ** 3 * MAX_COMMIT_BYTES));
  const changes = names.map((ref, n) => ({ ref, id: ids[n] ?? "" }));
  const root = { username: "root", token: installation.server().token };
  const { outcomes, output } = await client.push(installation.address(project, root), changes, { atomic });
  const outcomeOf = (ref: string): Outcome => outcomes.get(ref) ?? "unknown";
  const pushed: PushRecord = {
    project,
    atomic,
    output,
    refs: changes.map((change) => ({ ...change, outcome: outcomeOf(change.ref) })),
  };
  pushes.push(pushed);
  return pushed;
}

/** Kills the server some time after the pushes began. */
export async function killWhilePushing(lane: Lane, label: string, after: number): Promise<PushRecord[]> {
  const pushing = pushAll(lane, label);
  await sleep(after);
  await lane.installation.kill({ withGit: lane.withGit });
  return pushing;
}

/**
 * Kills the server at the worst moment: refs have changed and their events cannot be written, because the table is
 * locked.
 */
export async function killBeforeEvents(lane: Lane, label: string): Promise<PushRecord[]> {
  const { installation } = lane;
  const before = await refsThere(lane);
  const locking = await installation.connect();
  try {
    await locking.query("begin");
    await locking.query("lock table events in share mode");
    const pushing = pushAll(lane, label);
    await until("a ref has changed", async () => (await refsThere(lane)) !== before, 20_000, 10);
    await installation.kill({ withGit: lane.withGit });
    return await pushing;
  } finally {
    await locking.end();
  }
}

/** All refs of all targets with their values, as one text. */
async function refsThere({ installation, targets }: Lane): Promise<string> {
  const all = await Promise.all(targets.map(({ project }) => refsOf(installation, project)));
  return JSON.stringify(all.map((refs) => [...refs]));
}

/** Waits until all pushes are recorded, and returns how long that took. */
export async function reconciled(lane: Lane): Promise<number> {
  const from = performance.now();
  const isSettled = async () => {
    const found = await problemsIn(lane, { quick: true });
    return !found.some((problem) => /no event tells of|is not finished/.test(problem));
  };
  await until("everything is recorded", isSettled, RECORD_TIMEOUT_MS, 200);
  return performance.now() - from;
}

export async function problemsIn({ installation, targets }: Lane, how?: { quick: boolean }): Promise<string[]> {
  const found: string[] = [];
  for (const { project, pushes } of targets) found.push(...(await problemsOf(installation, project, pushes, how)));
  return found;
}

/** Counts how many of the refs without a report have changed. */
export async function countUnreported({ installation }: Lane, pushed: readonly PushRecord[]) {
  let [there, absent] = [0, 0];
  for (const { project, refs } of pushed) {
    const history = await historyOf(installation, project);
    for (const { ref, id, outcome } of refs) {
      if (outcome !== "unknown") continue;
      if (history.get(ref)?.has(id)) there++;
      else absent++;
    }
  }
  return { there, absent };
}
