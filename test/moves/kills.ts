import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "#test/support/until.ts";
import { hasEnded, makeWorld, problemsOf, pushedProject, pushOrThrow, type World } from "./world.ts";

const REPOSITORY_BYTES = 40_000_000;
const MAX_RECOVERY_MS = 60_000;
const POLL_INTERVAL_MS = 2;

/** A move that is under way, for the conditions of the steps. */
interface Watched {
  readonly world: World;
  readonly move: number;
  readonly source: string;
  readonly destination: string;
}

interface Step {
  readonly name: string;
  /** Whether the switch waits before it commits. */
  readonly holdsSwitch?: true;
  reached(watched: Watched): Promise<boolean> | boolean;
}

const stateIs =
  (...states: string[]) =>
  async ({ world, move }: Watched) => {
    const [row] = await world.engine.query<{ state: string }>(
      "select state from repository_storage_moves where id = $1",
      [move],
    );
    return row !== undefined && states.includes(row.state);
  };

/** Whether an unfinished copy on the destination has a file whose path matches. */
const unfinishedHas =
  (pattern: RegExp) =>
  ({ world, destination }: Watched) => {
    const tmp = join(world.root, destination, "tmp");
    if (!existsSync(tmp)) return false;
    try {
      return readdirSync(tmp, { recursive: true }).some((name) => pattern.test(String(name)));
    } catch {
      // It was renamed while it was read.
      return false;
    }
  };

const STEPS: readonly Step[] = [
  { name: "scheduled", reached: () => true },
  { name: "started", reached: stateIs("started", "replicated", "finished") },
  { name: "copying", reached: unfinishedHas(/objects\/pack\/pack-\w+\.pack$/) },
  { name: "refs written", reached: unfinishedHas(/packed-refs$/) },
  {
    name: "copy in place",
    reached: ({ world, move, destination }) => {
      const hashed = join(world.root, destination, "@hashed");
      return (
        existsSync(hashed) &&
        readdirSync(hashed, { recursive: true }).some((name) => String(name).endsWith(`-${move}-1.git`))
      );
    },
  },
  {
    name: "inside the switch",
    holdsSwitch: true,
    reached: async ({ world }) => {
      const rows = await world.engine.query("select from pg_stat_activity where wait_event = 'PgSleep'");
      return rows.length > 0;
    },
  },
  { name: "switched", reached: stateIs("replicated", "finished") },
  {
    name: "source removed",
    reached: async ({ world, source }) => {
      await world.hurry();
      return !existsSync(source);
    },
  },
];

const HOLD = `
  create table if not exists held_switches ();
  create or replace function hold_switch() returns trigger language plpgsql as $$
  begin
    if new.storage <> old.storage and exists (select from held_switches) then perform pg_sleep(5); end if;
    return new;
  end $$;
  create or replace trigger hold_switch before update on repositories for each row execute function hold_switch()`;

/** Kills the server with its worker, or PostgreSQL, after each step of a move, and lets the move come to its end. */
export async function runKills(times: number): Promise<{ passed: number; problems: string[] }> {
  const world = await makeWorld();
  const problems: string[] = [];
  let passed = 0;
  const recoveries: number[] = [];
  try {
    await world.engine.query(HOLD);
    const { project, refs } = await pushedProject(world, "harbour", REPOSITORY_BYTES);
    for (const step of STEPS) {
      for (const victim of ["worker", "PostgreSQL"] as const) {
        for (let time = 1; time <= times; time++) {
          const label = `${victim} killed, ${step.name}, ${time}`;
          const result = await killOnce(world, project, refs, step, victim, label).catch((error: unknown) => [
            String(error),
          ]);
          if (typeof result === "number") recoveries.push(result);
          else problems.push(...result.map((problem) => `${label}: ${problem}`));
          if (typeof result === "number") passed++;
        }
      }
    }
  } finally {
    await world.close();
  }
  const worst = Math.max(0, ...recoveries);
  console.log(
    `kills: ${passed} of ${STEPS.length * 2 * times} moves came to their end, the slowest ${(worst / 1000).toFixed(1)} s after the restart`,
  );
  return { passed, problems };
}

/** Returns the milliseconds from the restart to the end of the move, or what is wrong. */
async function killOnce(
  world: World,
  project: Parameters<typeof pushOrThrow>[1],
  refs: Map<string, string>,
  step: Step,
  victim: "worker" | "PostgreSQL",
  label: string,
): Promise<number | string[]> {
  const { installation, engine, client } = world;
  await engine.query(step.holdsSwitch ? "insert into held_switches default values" : "delete from held_switches");
  const [source = ""] = world.copiesOf(project);
  const before = await world.placementOf(project);
  const destination = before.storage === "one" ? "two" : "one";
  const move = await world.schedule(project, destination);
  const watched = { world, move, source, destination };
  await until(step.name, async () => step.reached(watched), 60_000, POLL_INTERVAL_MS);
  if (victim === "worker") {
    await installation.kill({ withGit: true });
    await engine.query("delete from held_switches");
    await installation.start();
  } else {
    await engine.kill();
    await engine.start();
    await engine.query("delete from held_switches");
  }
  const from = performance.now();
  await until(
    "the switch or the failure",
    async () => stateIs("replicated", "finished", "failed", "cleanup failed")(watched),
    MAX_RECOVERY_MS,
  );
  const took = performance.now() - from;
  await until("the end", async () => {
    await world.hurry();
    return hasEnded(await world.placementOf(project));
  });
  const [id = ""] = await client.commits(label, 1);
  const ref = `refs/heads/${label.replaceAll(/\W+/g, "-")}`;
  await until(
    "a push",
    async () => {
      const pushed = await pushOrThrow(world, project, ref, id).then(
        () => true,
        () => false,
      );
      if (!pushed) await pause(500);
      return pushed;
    },
    MAX_RECOVERY_MS,
  );
  refs.set(ref, id);
  // Copies that no move needs are removed by jobs.
  await until("one copy", async () => world.copiesOf(project).length === 1, MAX_RECOVERY_MS).catch(() => {});
  const found = await problemsOf(world, project, refs);
  return found.length > 0 ? found : took;
}
