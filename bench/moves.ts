import { randomBytes } from "node:crypto";
import { cpSync, existsSync, globSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { projectRepository } from "#git/storages/storage.ts";
import { type Figure, median, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { run, startFairlead, temporaryDirectory } from "./support/processes.ts";
import { gigabyte, keptRepository } from "./support/repositories.ts";

const GOAL = 2;
const POLL_MS = 10;

/** How long the repository of a project is read-only while it moves, compared with a bare clone of it. */
export async function moves({ rounds }: Options): Promise<Figure[]> {
  const source = await keptRepository(gigabyte);
  using dir = temporaryDirectory();
  const token = `flpat-${randomBytes(24).toString("base64url")}`;
  const storages = ["one", "two"].map((name) => `${name}=${join(dir.path, name)}`).join();
  await using server = await startFairlead(dir.path, {
    FAIRLEAD_DATA_DIR: join(dir.path, "data"),
    FAIRLEAD_RATE_LIMITS: "off",
    FAIRLEAD_ROOT_TOKEN: token,
    FAIRLEAD_STORAGES: storages,
  });
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${server.url}/api/v4${path}`, {
      method,
      headers: { "private-token": token, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const project = await call<{ id: number }>("POST", "/projects", { name: "large", initialize_with_readme: true });
  const at = `/projects/${project.id}`;
  await call("GET", `${at}/repository/branches`);
  place(source, directoryIn(dir.path, project.id));

  const seconds: Record<"move" | "clone", number[]> = { move: [], clone: [] };
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? "warming up" : `round ${round} of ${rounds}`);
    const cloned = await cloneOf(directoryIn(dir.path, project.id), join(dir.path, "clone.git"));
    const moved = await moveOf(call, at);
    await untilRemoved(dir.path, project.id);
    if (round === 0) continue;
    seconds.clone.push(cloned);
    seconds.move.push(moved);
  }
  const row = (name: string, values: readonly number[]) => [
    name,
    median(values),
    Math.min(...values),
    Math.max(...values),
  ];
  console.log(
    table(
      ["1 GiB", "median s", "least s", "most s"],
      [row("git clone --mirror file://", seconds.clone), row("move, from the request to the switch", seconds.move)],
    ),
  );
  const value = median(seconds.clone) / median(seconds.move);
  return [{ about: "as fast as git clone --mirror", value, unit: " times", bound: "at least", goal: GOAL }];
}

type Call = <T>(method: string, path: string, body?: object) => Promise<T>;

function directoryIn(dir: string, projectId: number): string {
  const found = globSync(join(dir, "{one,two}", `${projectRepository(projectId)}*.git`));
  if (found.length !== 1) throw new Error(`The repository is in ${found.length} places`);
  return found[0] ?? "";
}

/** Puts the objects and refs of one repository into another, as if they had been pushed. */
function place(from: string, to: string) {
  for (const name of ["objects", "refs", "packed-refs"]) {
    rmSync(join(to, name), { recursive: true, force: true });
    if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name), { recursive: true });
  }
  mkdirSync(join(to, "refs"), { recursive: true });
}

async function cloneOf(directory: string, to: string): Promise<number> {
  const from = performance.now();
  await run("git", ["clone", "--quiet", "--mirror", `file://${directory}`, to]);
  const seconds = (performance.now() - from) / 1000;
  rmSync(to, { recursive: true });
  return seconds;
}

async function moveOf(call: Call, at: string): Promise<number> {
  const from = performance.now();
  const { id } = await call<{ id: number }>("POST", `${at}/repository_storage_moves`, {});
  for (;;) {
    const move = await call<{ state: string; error_message: string | null }>(
      "GET",
      `${at}/repository_storage_moves/${id}`,
    );
    if (move.state === "replicated" || move.state === "finished") return (performance.now() - from) / 1000;
    if (move.state === "failed") throw new Error(`The move failed: ${move.error_message}`);
    await pause(POLL_MS);
  }
}

/** The source is removed half a minute after the switch. */
async function untilRemoved(dir: string, projectId: number) {
  while (globSync(join(dir, "{one,two}", `${projectRepository(projectId)}*.git`)).length > 1) await pause(500);
}
