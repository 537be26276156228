import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newClient } from "#test/git/client.ts";
import type { Project } from "#test/git/installation.ts";
import { git } from "#test/support/git.ts";
import { until } from "#test/support/until.ts";
import {
  hasEnded,
  makeWorld,
  problemsOf,
  pushedProject,
  READ_ONLY,
  rootAddress,
  STORAGES,
  type World,
} from "./world.ts";

const PROJECTS = 30;
const CLIENTS = 10;
const REPOSITORY_BYTES = 5_000_000;
const MAX_MOVE_MS = 120_000;

interface Moved {
  readonly project: Project;
  readonly refs: Map<string, string>;
}

interface Traffic {
  readonly problems: string[];
  pushes: number;
  refused: number;
  clones: number;
  stopped: boolean;
}

/** Moves repositories between three storages while clients clone and push. */
export async function runLoad(moves: number): Promise<{ passed: number; problems: string[] }> {
  const world = await makeWorld();
  const traffic: Traffic = { problems: [], pushes: 0, refused: 0, clones: 0, stopped: false };
  const readOnly: number[] = [];
  let failed = 0;
  try {
    const all: Moved[] = [];
    for (let number = 0; number < PROJECTS; number++) {
      all.push(await pushedProject(world, `quay ${number}`, REPOSITORY_BYTES));
    }
    const clients = Array.from({ length: CLIENTS }, (_, number) => work(world, all, number, traffic));
    let begun = 0;
    const mover = async (lane: number) => {
      while (begun < moves) {
        const turn = begun++;
        // A lane has projects of its own, since a repository has one move at once.
        const mine = all.filter((_, at) => at % 3 === lane);
        const ended = await moveOnce(world, mine[turn % mine.length]!.project);
        if (ended.state === "failed") failed++;
        else readOnly.push(ended.read_only_seconds ?? 0);
      }
    };
    await Promise.all([0, 1, 2].map(mover));
    traffic.stopped = true;
    await Promise.all(clients);
    await until("all cleanups", async () => {
      await world.hurry();
      return (
        (await world.engine.query("select from repository_storage_moves where state = 'replicated' limit 1")).length ===
        0
      );
    });
    for (const { project, refs } of all) traffic.problems.push(...(await problemsOf(world, project, refs)));
  } finally {
    traffic.stopped = true;
    await world.close();
  }
  const sorted = readOnly.toSorted((one, other) => one - other);
  const at = (part: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(2);
  console.log(
    `load: ${readOnly.length} moves and ${failed} failed, ${traffic.pushes} pushes, ${traffic.refused} refused, ${traffic.clones} clones; read-only p50 ${at(0.5)} s, p99 ${at(0.99)} s`,
  );
  return { passed: readOnly.length + traffic.pushes + traffic.clones, problems: traffic.problems };
}

async function moveOnce(world: World, project: Project) {
  const { storage } = await world.placementOf(project);
  const destination = STORAGES[(STORAGES.findIndex((name) => name === storage) + 1) % STORAGES.length];
  const id = await world.schedule(project, destination);
  return until(
    `move ${id}`,
    async () => {
      const placement = await world.placementOf(project);
      const isDone = placement.move_id === id && (placement.state === "replicated" || hasEnded(placement));
      return isDone && placement;
    },
    MAX_MOVE_MS,
    20,
  );
}

/** One client, which pushes and clones in turn. */
async function work(world: World, all: readonly Moved[], number: number, traffic: Traffic) {
  await using client = await newClient();
  const directory = await mkdtemp(join(tmpdir(), "fairlead-clone-"));
  for (let round = 0; !traffic.stopped; round++) {
    const { project, refs } = all[(number * 7 + round) % all.length]!;
    const ref = `refs/heads/client-${number}-${round}`;
    const [id = ""] = await client.commits(`client ${number} ${round}`, 1, { bytes: 20_000 });
    const { outcomes, output } = await client.push(rootAddress(world, project), [{ ref, id }]);
    if (outcomes.get(ref) === "done") {
      refs.set(ref, id);
      traffic.pushes++;
    } else if (output.includes(READ_ONLY)) traffic.refused++;
    else traffic.problems.push(`a push was refused without the reason: ${output.slice(0, 300)}`);
    const into = join(directory, String(round));
    const cloned = await git(["clone", "--quiet", "--bare", rootAddress(world, project), into], { cwd: directory });
    if (cloned.code === 0) traffic.clones++;
    else traffic.problems.push(`a clone failed: ${cloned.stderr.slice(0, 300)}`);
    await rm(into, { recursive: true, force: true });
  }
  await rm(directory, { recursive: true, force: true });
}
