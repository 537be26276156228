import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const root = join(import.meta.dirname, "../..");
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 15_000;

/** A server of this run, which is stopped when it goes out of scope. */
export interface Running extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  /** Where its output goes: for Fairlead, one line a request. */
  readonly log: string;
  /** Milliseconds from the start of the process to its first good answer. */
  readonly startedIn: number;
}

/** Starts `fairlead serve` with these settings only. */
export const startFairlead = (dir: string, settings: Record<string, string>): Promise<Running> =>
  start(
    join(root, "bin/fairlead"),
    () => ["serve"],
    join(dir, "fairlead.log"),
    // Another server may have the usual port of SSH.
    (port) => ({ FAIRLEAD_SSH_PORT: "0", ...settings, FAIRLEAD_PORT: port }),
  );

/** A bare Fastify that answers `path` with the value in `file`. */
export const startBare = (dir: string, path: string, file: string): Promise<Running> =>
  start(
    join(root, "bin/node"),
    (port) => [join(root, "bench/support/bare-fastify.ts"), path, file, port],
    join(dir, "bare.log"),
    () => ({}),
  );

async function start(
  command: string,
  args: (port: string) => readonly string[],
  log: string,
  env: (port: string) => Record<string, string>,
): Promise<Running> {
  const port = String(await freePort());
  const output = openSync(log, "a");
  const from = performance.now();
  const child = spawn(command, args(port), { stdio: ["ignore", output, output], env: { ...ownEnv(), ...env(port) } });
  closeSync(output);
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const stop = async () => {
    await end(child);
    process.removeListener("exit", killAtExit);
  };

  const url = `http://127.0.0.1:${port}`;
  try {
    await untilReady(child, url, log);
  } catch (error) {
    await stop();
    throw error;
  }
  const startedIn = performance.now() - from;
  return { pid: pidOf(child), url, log, startedIn, [Symbol.asyncDispose]: stop };
}

/** Runs a command and returns its output; throws unless it exits with 0. */
export async function run(command: string, args: readonly string[], options: SpawnOptions = {}): Promise<string> {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code] = (await once(child, "close").catch((error: Error) => {
    throw new Error(`${command} is needed for this figure: ${error.message}`);
  })) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr.slice(-2000)}`);
  return stdout;
}

/** Runs a command of ours with inherited output. */
export async function runFairlead(args: readonly string[], settings: Record<string, string>): Promise<void> {
  const env = { ...ownEnv(), ...settings };
  const child = spawn(join(root, "bin/fairlead"), args, { stdio: ["ignore", "inherit", "inherit"], env });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`fairlead ${args.join(" ")} ended with ${code}`);
}

/** A temporary directory that the user of the database may enter. */
export function temporaryDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  chmodSync(path, 0o755);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function ownEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_")));
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error("The process did not start");
  return child.pid;
}

async function untilReady(child: ChildProcess, url: string, log: string) {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (hasEnded(child)) throw new Error(`${child.spawnfile} ended with ${child.exitCode}:\n${endOf(log)}`);
    if (await answers(`${url}/-/readiness`)) return;
    await pause(5);
  }
  throw new Error(`${child.spawnfile} was not ready within ${START_TIMEOUT_MS} ms:\n${endOf(log)}`);
}

const endOf = (log: string) => readFileSync(log, "utf8").slice(-2000);

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = get(url, { agent: false, timeout: 2_000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    sent.on("error", () => resolve(false)).on("timeout", () => sent.destroy());
  });
}

async function end(child: ChildProcess) {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const giveUp = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(giveUp);
}
