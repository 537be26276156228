import { setTimeout as sleep } from "node:timers/promises";
import { until } from "#test/support/until.ts";
import type { Client, Outcome } from "./client.ts";
import type { Installation, Project } from "./installation.ts";
import { historyOf, problemsOf, type Pushed, refsOf } from "./journal.ts";

/** Milliseconds from the new start within which everything that is there is told of. */
const TOLD_WITHIN = 30_000;
/** Bytes of a commit, so that some pushes die while they are sent and others when they are written. */
const LARGEST = 3_000_000;

const KINDS = [
  { name: "one ref", refs: 1, atomic: false },
  { name: "three refs", refs: 3, atomic: false },
  { name: "three refs atomic", refs: 3, atomic: true },
  { name: "five refs atomic", refs: 5, atomic: true },
] as const;

/** What one kind of push goes to, with all that was ever pushed there. */
export interface Target {
  readonly refs: number;
  readonly atomic: boolean;
  readonly project: Project;
  readonly pushes: Pushed[];
}

/** A server that is killed again and again while somebody pushes. */
export interface Lane {
  readonly installation: Installation;
  readonly client: Client;
  readonly targets: readonly Target[];
  /** Whether the processes of git die with the server. */
  readonly withGit: boolean;
}

export async function newLane(installation: Installation, client: Client, withGit: boolean): Promise<Lane> {
  const targets: Target[] = [];
  for (const { name, refs, atomic } of KINDS) {
    targets.push({ refs, atomic, project: await installation.newProject(`Kill ${name}`), pushes: [] });
  }
  return { installation, client, targets, withGit };
}

/** Each kind of push at once, each to its own repository; the journal keeps what came of it. */
export const pushAll = (lane: Lane, label: string): Promise<Pushed[]> =>
  Promise.all(lane.targets.map((target) => push(lane, target, label)));

/** Refs of the label that are there move on from where they are, others are made. */
export async function push({ installation, client }: Lane, target: Target, label: string): Promise<Pushed> {
  const { project, refs, atomic, pushes } = target;
  const names = Array.from({ length: refs }, (_, n) => `refs/heads/${label}-${n}`);
  const there = await refsOf(installation, project);
  const parents = names.map((name) => there.get(name));
  const ids = await client.commitsOn(label, parents, Math.round(Math.random() ** 3 * LARGEST));
  const changes = names.map((ref, n) => ({ ref, id: ids[n] ?? "" }));
  const root = { username: "root", token: installation.server().token };
  const { outcomes, said } = await client.push(installation.address(project, root), changes, { atomic });
  const outcomeOf = (ref: string): Outcome => outcomes.get(ref) ?? "unknown";
  const pushed: Pushed = {
    project,
    atomic,
    said,
    refs: changes.map((change) => ({ ...change, outcome: outcomeOf(change.ref) })),
  };
  pushes.push(pushed);
  return pushed;
}

/** Kills the server some time after the pushes began. */
export async function killWhilePushing(lane: Lane, label: string, after: number): Promise<Pushed[]> {
  const pushing = pushAll(lane, label);
  await sleep(after);
  await lane.installation.kill({ withGit: lane.withGit });
  return pushing;
}

/**
 * Kills the server at the worst moment: refs are changed and what is to be told of them is not yet written, as nobody
 * can write to the table of events.
 */
export async function killBeforeEvents(lane: Lane, label: string): Promise<Pushed[]> {
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

/** Waits until all that is there is told of, and gives how long that took. */
export async function settled(lane: Lane): Promise<number> {
  const from = performance.now();
  const isSettled = async () => {
    const found = await problemsIn(lane, { quick: true });
    return !found.some((problem) => /no event tells of|is not settled/.test(problem));
  };
  await until("everything is told of", isSettled, TOLD_WITHIN, 200);
  return performance.now() - from;
}

export async function problemsIn({ installation, targets }: Lane, how?: { quick: boolean }): Promise<string[]> {
  const found: string[] = [];
  for (const { project, pushes } of targets) found.push(...(await problemsOf(installation, project, pushes, how)));
  return found;
}

/** How many of the refs that no word came of are there after all, and how many are not. */
export async function silent({ installation }: Lane, pushed: readonly Pushed[]) {
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
