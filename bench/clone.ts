import { randomBytes } from "node:crypto";
import { globSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { projectRepository } from "#git/storages/storage.ts";
import { type Figure, median, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { cpuOf, residentMegabytes } from "./support/proc.ts";
import { freePort, run, type Running, startFairlead, temporaryDirectory } from "./support/processes.ts";
import { blobs, history, keptRepository, type Recipe } from "./support/repositories.ts";

const HTTP_GOAL = 0.85;
const SSH_GOAL = 0.55;
const MEMORY_GOAL_MB = 50;
const CONCURRENT_CLONES = 20;
const SAMPLE_INTERVAL_MS = 50;
const SETTLE_MS = 3_000;
const KINDS = ["http", "ssh", "memory"];

/** A repository on the server, and its URLs. */
interface Target {
  readonly refs: number;
  readonly file: string;
  readonly http: string;
  readonly ssh: string;
}

interface Bench {
  readonly server: Running;
  readonly token: string;
  /** Where clones go. */
  readonly dir: string;
  readonly sshPort: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The speed of clones compared with git alone, and the memory of the server during many of them. */
export async function clone({ rounds, only }: Options): Promise<Figure[]> {
  if (only !== undefined && !KINDS.includes(only)) throw new Error(`--only must be one of ${KINDS.join(", ")}`);
  const wanted = (kind: string) => only === undefined || only === kind;
  using dir = temporaryDirectory();
  const token = `flpat-${randomBytes(24).toString("base64url")}`;
  const sshPort = String(await freePort());
  await using server = await startFairlead(dir.path, {
    FAIRLEAD_DATA_DIR: join(dir.path, "data"),
    FAIRLEAD_RATE_LIMITS: "off",
    FAIRLEAD_ROOT_TOKEN: token,
    FAIRLEAD_SSH_PORT: sshPort,
  });
  const bench: Bench = { server, token, dir: dir.path, sshPort, env: await clientEnvironment(dir.path) };
  await addKey(bench);

  const figures: Figure[] = [];
  if (wanted("http")) {
    const target = await pushRepository(bench, history);
    figures.push(await compareSpeed(bench, rounds, target, "http", HTTP_GOAL));
  }
  if (wanted("ssh") || wanted("memory")) {
    const target = await pushRepository(bench, blobs);
    if (wanted("ssh")) figures.push(await compareSpeed(bench, rounds, target, "ssh", SSH_GOAL));
    if (wanted("memory")) {
      figures.push(await memoryDuring(bench, target, "http"));
      figures.push(await memoryDuring(bench, target, "ssh"));
    }
  }
  return figures;
}

/** The ratio of two medians, measured alternately so that a slow minute affects both. */
async function compareSpeed(
  bench: Bench,
  rounds: number,
  target: Target,
  over: "http" | "ssh",
  goal: number,
): Promise<Figure> {
  progress(`${over}: warming up`);
  await timed(bench, target, "file");
  await timed(bench, target, over);
  const seconds: Record<"ours" | "file", number[]> = { ours: [], file: [] };
  const processor: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress(`${over}: round ${round} of ${rounds}`);
    const order = round % 2 === 0 ? (["ours", "file"] as const) : (["file", "ours"] as const);
    for (const which of order) {
      const before = cpuOf(bench.server.pid);
      seconds[which].push(await timed(bench, target, which === "ours" ? over : "file"));
      if (which === "ours") processor.push((cpuOf(bench.server.pid) - before) / 1_000_000);
    }
  }
  const row = (name: string, values: readonly number[], cpu: number | string) => [
    name,
    median(values),
    Math.min(...values),
    Math.max(...values),
    cpu,
  ];
  console.log(
    table(
      ["git clone --mirror", "median s", "least s", "most s", "Node s each"],
      [row("file://", seconds.file, ""), row(`${over}://`, seconds.ours, median(processor))],
    ),
  );
  const value = median(seconds.file) / median(seconds.ours);
  return { about: `of git's own speed over ${over.toUpperCase()}`, value, bound: "at least", goal };
}

/** The largest change of the server's memory, up or down, during many concurrent clones. */
async function memoryDuring(bench: Bench, target: Target, over: "http" | "ssh"): Promise<Figure> {
  progress(`memory: ${CONCURRENT_CLONES} clones at once over ${over}`);
  for (let n = 0; n < 3; n++) await timed(bench, target, over);
  await pause(SETTLE_MS);
  const { pid } = bench.server;
  const before = residentMegabytes(pid);
  const samples: number[] = [];
  const sampling = setInterval(() => samples.push(residentMegabytes(pid)), SAMPLE_INTERVAL_MS);
  let seconds: readonly number[];
  try {
    seconds = await Promise.all(Array.from({ length: CONCURRENT_CLONES }, (_, n) => timed(bench, target, over, n)));
  } finally {
    clearInterval(sampling);
  }
  const [least, most] = [Math.min(...samples), Math.max(...samples)];
  console.log(
    table(
      [`${CONCURRENT_CLONES} clones at once`, "before MB", "least MB", "most MB", "median s", "most s"],
      [[`${over}://`, before, least, most, median(seconds), Math.max(...seconds)]],
    ),
  );
  const value = Math.max(most - before, before - least);
  return {
    about: `more or less memory over ${over.toUpperCase()}`,
    value,
    unit: " MB",
    bound: "at most",
    goal: MEMORY_GOAL_MB,
  };
}

/** Seconds of one clone, which is checked and removed. */
async function timed(bench: Bench, target: Target, over: "file" | "http" | "ssh", number = 0): Promise<number> {
  const directory = join(bench.dir, `clone-${number}.git`);
  const from = performance.now();
  await run("git", ["clone", "--quiet", "--mirror", target[over], directory], { env: bench.env });
  const seconds = (performance.now() - from) / 1000;
  const refs = (await run("git", ["-C", directory, "for-each-ref"], { env: bench.env })).trimEnd().split("\n").length;
  if (refs !== target.refs) throw new Error(`A clone over ${over} has ${refs} refs and not ${target.refs}`);
  rmSync(directory, { recursive: true });
  return seconds;
}

/** Pushes a repository to a new project, and finds its directory on the server. */
async function pushRepository(bench: Bench, recipe: Recipe): Promise<Target> {
  const source = await keptRepository(recipe);
  const { server, token, dir, sshPort, env } = bench;
  const { id, path_with_namespace: path } = await call<{ id: number; path_with_namespace: string }>(
    bench,
    "/projects",
    { name: recipe.name },
  );
  const http = `${server.url.replace("://", `://bench:${token}@`)}/${path}.git`;
  progress(`pushing '${recipe.name}'`);
  await run("git", ["-C", source, "push", "--quiet", "--mirror", http], { env });
  const [directory] = globSync(join(dir, "data/**", `${projectRepository(id)}*`));
  if (directory === undefined) throw new Error("The repository is not in the data directory");
  return { refs: recipe.refs, file: `file://${directory}`, http, ssh: `ssh://git@127.0.0.1:${sshPort}/${path}.git` };
}

/** An environment that inherits nothing but PATH, with a key for SSH. */
async function clientEnvironment(dir: string): Promise<NodeJS.ProcessEnv> {
  const key = join(dir, "key");
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", key]);
  const config = join(dir, "ssh_config");
  writeFileSync(
    config,
    `Host *\nIdentityFile ${key}\nIdentitiesOnly yes\nStrictHostKeyChecking accept-new\nUserKnownHostsFile ${dir}/known\n`,
  );
  return {
    PATH: process.env["PATH"],
    HOME: dir,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_SSH_COMMAND: `ssh -F ${config} -o LogLevel=ERROR`,
  };
}

async function addKey(bench: Bench) {
  const key = (await run("cat", [join(bench.dir, "key.pub")])).trim();
  await call(bench, "/user/keys", { title: "bench", key });
}

async function call<T>({ server, token }: Bench, path: string, body: object): Promise<T> {
  const response = await fetch(`${server.url}/api/v4${path}`, {
    method: "POST",
    headers: { "private-token": token, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${path} answered ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}
