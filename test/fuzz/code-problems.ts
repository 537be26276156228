import { existsSync, readFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import { reconcilePushes } from "#domains/storage/pushes/reconcile.ts";
import type { Services } from "#services.ts";
import { git } from "#test/support/git.ts";
import { CANARIES } from "./hostile-names.ts";

/** One in so many repositories is checked each time. */
const SAMPLED = 6;
/** The names that may be in the data directory. */
const KNOWN_DATA = new Set(["repositories", "blobs", "sealing.key", "ssh_host_keys"]);

/** Finds problems of repositories and of the directories around them while no request runs. */
export function codeProblems(services: Services, root: string): () => Promise<string[]> {
  let turn = 0;
  return async () => [
    ...(await leftovers(services)),
    ...(await strayFiles(services.config.dataDir, root)),
    ...(await damages(root, turn++ % SAMPLED)),
  ];
}

async function leftovers(services: Services): Promise<string[]> {
  const pushes = async () => {
    const { rows } = await sql`select from pushes limit 1`.execute(services.db.write);
    if (rows.length > 0) await reconcilePushes(services);
    return rows.length > 0;
  };
  // Some processes stay to read objects.
  const processes = async () =>
    childrenOf(process.pid).some((command) => command.startsWith("git\0") && !command.includes("cat-file"));
  return [
    ...((await persists(pushes)) ? ["a push is left unfinished"] : []),
    ...((await persists(processes)) ? ["a git process is left"] : []),
  ];
}

/** Whether a condition still holds after some seconds. */
async function persists(isThere: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 60; tries++) {
    if (!(await isThere())) return false;
    await pause(50);
  }
  return true;
}

async function strayFiles(dataDir: string, root: string): Promise<string[]> {
  const left = await filesIn(join(root, "tmp"));
  const strangers = (await filesIn(dataDir)).filter((name) => !KNOWN_DATA.has(name));
  const canaries = CANARIES.filter((path) => existsSync(path));
  for (const path of canaries) await rm(path, { recursive: true, force: true });
  return [
    ...(left.length > 0 ? ["something is left in the directory for what is not ready"] : []),
    ...strangers.map((name) => `${name} is written beside the repositories`),
    ...canaries.map((path) => `${path} is written because a name told git to`),
  ];
}

const filesIn = async (directory: string) => (existsSync(directory) ? readdir(directory) : []);

async function damages(root: string, turn: number): Promise<string[]> {
  const found: string[] = [];
  const all = (await readdir(join(root, "@hashed"), { recursive: true })).filter((path) => path.endsWith(".git"));
  for (const path of all.filter((_, at) => at % SAMPLED === turn)) {
    const options = { cwd: join(root, "@hashed", path) };
    const { code, stdout, stderr } = await git(["fsck", "--full", "--strict", "--no-dangling"], options);
    // Git reports that the HEAD of an empty repository is unborn.
    const told = `${stdout}${stderr}`.split("\n").find((line) => line !== "" && !line.startsWith("notice:"));
    if (code !== 0 || told !== undefined)
      found.push(`a repository is damaged: ${(told ?? "").replaceAll(/[0-9a-f]{40}/g, "ID")}`);
  }
  return found;
}

/** The commands of the running children of a process, if the system can list them. */
function childrenOf(pid: number): string[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  const children = readFileSync(file, "utf8").split(" ");
  return children.filter((child) => child !== "").map(commandOf);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    // It has ended since.
    return "";
  }
}
