import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRepository } from "#git/storages/storage.ts";
import { type Engine, makeEngine } from "#test/faults/engine.ts";
import { runAfterExit } from "#test/faults/supervisor.ts";
import { type Client, newClient } from "#test/git/client.ts";
import { type Installation, type Project, startInstallation } from "#test/git/installation.ts";
import { git } from "#test/support/git.ts";

export const READ_ONLY = "The repository is temporarily read-only. Please try again later.";
export const STORAGES = ["one", "two", "three"] as const;

/** Where a repository is by the database, and the state of its last move. */
export interface Placement {
  readonly storage: string;
  readonly disk_path: string;
  readonly read_only: boolean;
  readonly move_id: number | null;
  readonly state: string | null;
  readonly error_message: string | null;
  /** From the start of the move to the switch. */
  readonly read_only_seconds: number | null;
}

/** An installation with three storages on a PostgreSQL of its own. */
export interface World {
  readonly installation: Installation;
  readonly engine: Engine;
  readonly client: Client;
  /** The directory that has the storages in it. */
  readonly root: string;
  placementOf(project: Project): Promise<Placement>;
  /** The directories of a repository on all storages. */
  copiesOf(project: Project): string[];
  /** Schedules a move and returns its id. */
  schedule(project: Project, destination?: string): Promise<number>;
  /** Runs cleanups at once instead of half a minute after the switch. */
  hurry(): Promise<unknown>;
  close(): Promise<void>;
}

export async function makeWorld(settings: Record<string, string> = {}): Promise<World> {
  const root = await mkdtemp(join(tmpdir(), "fairlead-moves-"));
  runAfterExit('sleep 1; rm -rf "$1"', root);
  const engine = await makeEngine();
  const storages = STORAGES.map((name) => `${name}=${join(root, name)}`).join();
  const installation = await startInstallation({
    FAIRLEAD_DATABASE_URL: engine.url,
    FAIRLEAD_STORAGES: storages,
    FAIRLEAD_JOB_CONCURRENCY: "moves=3",
    ...settings,
  });
  const client = await newClient();
  return {
    installation,
    engine,
    client,
    root,
    async placementOf({ id }) {
      const [row] = await engine.query<Placement>(
        `select r.storage, r.disk_path, coalesce(r.read_only_until > now(), false) as read_only, m.id::integer as move_id,
           m.state,
           m.error_message, extract(epoch from p.updated_at - m.started_at)::float8 as read_only_seconds
         from projects p join repositories r on r.project_id = p.id
           left join lateral (
             select * from repository_storage_moves where repository_id = r.id order by id desc limit 1) m on true
         where p.id = $1`,
        [id],
      );
      if (!row) throw new Error(`project ${id} has no repository`);
      return row;
    },
    copiesOf({ id }) {
      const path = projectRepository(id);
      const [, first = "", second = "", name = ""] = path.split("/");
      return STORAGES.flatMap((storage) => {
        const parent = join(root, storage, "@hashed", first, second);
        const names = existsSync(parent) ? readdirSync(parent) : [];
        return names.filter((each) => each.startsWith(name)).map((each) => join(parent, each));
      });
    },
    async schedule({ id }, destination_storage_name) {
      const body = destination_storage_name === undefined ? {} : { destination_storage_name };
      return (await installation.call<{ id: number }>("POST", `/projects/${id}/repository_storage_moves`, { body })).id;
    },
    hurry: () =>
      engine.query(
        "update jobs.job set start_after = now() where data->>'job' = 'storage_moves.clean_up' and start_after > now()",
      ),
    async close() {
      await client[Symbol.asyncDispose]();
      await installation.close();
      await engine.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

export const hasEnded = ({ state }: Placement) => state === "finished" || state === "failed";

/** What is wrong with a repository whose moves have ended: where it is, what it holds, and whether it is writable. */
export async function problemsOf(world: World, project: Project, refs: ReadonlyMap<string, string>): Promise<string[]> {
  const placement = await world.placementOf(project);
  const expected = join(world.root, placement.storage, `${placement.disk_path}.git`);
  const found: string[] = [];
  if (placement.read_only) found.push("it is read-only without a running move");
  const copies = world.copiesOf(project);
  if (!copies.includes(expected)) found.push(`its repository is lost: ${expected}`);
  if (copies.length !== 1) found.push(`it has ${copies.length} repositories: ${copies.join(", ")}`);
  if (!copies.includes(expected)) return found;
  for (const [ref, id] of refs) {
    const { stdout } = await git(["rev-parse", "--verify", "--quiet", ref], { cwd: expected });
    if (stdout.trim() !== id) found.push(`${ref} is ${stdout.trim() || "missing"} instead of ${id}`);
  }
  const unsound = await whyUnsound(expected);
  if (unsound !== undefined) found.push(unsound);
  return found.map((problem) => `project ${project.id}: ${problem}`);
}

const FSCK_TRIES = 3;

/** What is wrong with a repository. A job may replace its packs while they are checked, so one failure proves nothing. */
async function whyUnsound(cwd: string): Promise<string | undefined> {
  let problem: string | undefined;
  for (let tries = 0; tries < FSCK_TRIES; tries++) {
    const { code, stderr } = await git(["fsck", "--full", "--strict", "--no-dangling"], { cwd });
    if (code === 0) return undefined;
    problem = `git fsck ended with ${code}: ${stderr.slice(0, 300)}`;
  }
  return problem;
}

/** A project with a branch of this many random bytes. */
export async function pushedProject(world: World, name: string, bytes: number) {
  const { installation, client } = world;
  const project = await installation.createProject(name, { repository_storage: "one" });
  const [id = ""] = await client.commits(name, 1, { bytes });
  await pushOrThrow(world, project, "refs/heads/main", id);
  return { project, refs: new Map([["refs/heads/main", id]]) };
}

export async function pushOrThrow(world: World, project: Project, ref: string, id: string) {
  const { outcomes, output } = await world.client.push(rootAddress(world, project), [{ ref, id }]);
  if (outcomes.get(ref) !== "done") throw new Error(`a push failed: ${output}`);
}

export const rootAddress = ({ installation }: World, project: Project) =>
  installation.address(project, { username: "root", token: installation.server().token });
