import { existsSync, readFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import { settlePushes } from "#resources/repositories/settling.ts";
import type { Services } from "#services.ts";
import { git } from "#test/support/git.ts";
import { CANARIES } from "./hostile-names.ts";

/** Of so many repositories one is looked at each time. */
const SAMPLED = 6;
/** What may lie in the directory that repositories are in. */
const KNOWN_DATA = new Set(["repositories", "blobs", "sealing.key", "ssh_host_keys"]);

/** Looks for what is wrong with repositories and with the directories around them, once nobody asks for anything. */
export function codeProblems(services: Services, root: string): () => Promise<string[]> {
  let turn = 0;
  return async () => [
    ...(await leftBy(services)),
    ...(await strayFiles(services.config.dataDir, root)),
    ...(await damages(root, turn++ % SAMPLED)),
  ];
}

async function leftBy(services: Services): Promise<string[]> {
  const pushes = async () => {
    const { rows } = await sql`select from pushes limit 1`.execute(services.db.write);
    if (rows.length > 0) await settlePushes(services);
    return rows.length > 0;
  };
  // Some are kept to read objects.
  const processes = async () =>
    childrenOf(process.pid).some((command) => command.startsWith("git\0") && !command.includes("cat-file"));
  return [
    ...((await stays(pushes)) ? ["a push is left that nobody settles"] : []),
    ...((await stays(processes)) ? ["a git process is left"] : []),
  ];
}

/** Whether something does not come to its end in some seconds. */
async function stays(isThere: () => Promise<boolean>): Promise<boolean> {
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
    // Of a repository without commits git notices that its HEAD leads nowhere.
    const told = `${stdout}${stderr}`.split("\n").find((line) => line !== "" && !line.startsWith("notice:"));
    if (code !== 0 || told !== undefined)
      found.push(`a repository is damaged: ${(told ?? "").replaceAll(/[0-9a-f]{40}/g, "ID")}`);
  }
  return found;
}

/** The commands of the processes that a process started and that still run, where the system tells. */
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
