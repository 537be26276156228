import { execFile, spawn, type ChildProcess } from "node:child_process";
import { chown, mkdir, mkdtemp, open, readFile, rename, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { bundled, installed, unprivilegedUser, type User } from "./engines.ts";

/** A PostgreSQL of our own for trials and tests: it listens on a socket that only its user (and root) can reach. */
export interface Server {
  readonly url: string;
  readonly version: number;
  /** Stops the engine, unless another process started it. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly dataDir: string;
  readonly settings?: Readonly<Record<string, string | number>>;
}

const OLDEST = 15;
const NAME = "fairlead";
const PORT = 5432;
const POLL_MS = 20;
/** Replaying the log after a crash can take a while, so this is generous. */
const START_MS = 120_000;
const STOP_MS = 10_000;
/** The kernel allows 107 bytes for a socket's path on Linux and 103 on macOS. */
const LONGEST_SOCKET = 100;

const SETTINGS = { max_connections: 100, shared_buffers: "128MB", timezone: "UTC", log_timezone: "UTC" };

const run = promisify(execFile);
const errorCode = (error: unknown) => (error as { code?: unknown }).code;
const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error));

export async function startServer({ dataDir: given, settings = {} }: ServerOptions): Promise<Server> {
  const dataDir = resolve(given);
  const deadline = Date.now() + START_MS;
  const running = await joinRunning(dataDir, deadline);
  if (running) return running;

  const made = await madeBy(dataDir);
  const engine = await findEngine(dataDir, made);
  const user = await unprivilegedUser(made === undefined ? undefined : dataDir);
  await mustReach(user, join(engine.bin, "postgres"));
  if (made === undefined) await initialize(engine, dataDir, user, settings["fsync"] === "off");
  await mustReach(user, dataDir);

  const socketDir = await makeSocketDir(dataDir, user);
  const child = await launch(engine, dataDir, socketDir, user, settings);
  const stop = async () => {
    await child.stop();
    if (socketDir !== dataDir) await rm(socketDir, { recursive: true, force: true });
  };
  const url = urlOf(socketDir);
  try {
    while (!(await accepts(url))) {
      if (child.hasEnded()) throw new Error(await lastLines(join(dataDir, "server.log")));
      if (Date.now() > deadline) throw new Error(`not ready after ${START_MS / 1000} s`);
      await sleep(POLL_MS);
    }
  } catch (error) {
    await stop();
    // Two starts at once: the other was quicker.
    const other = await joinRunning(dataDir, deadline);
    if (other) return other;
    throw new Error(`PostgreSQL did not start in ${dataDir}: ${errorText(error)}`, { cause: error });
  }
  return { url, version: engine.major, stop };
}

/** Uses the server that another process runs on this directory, and waits for one that is starting or stopping. */
async function joinRunning(dataDir: string, deadline: number): Promise<Server | undefined> {
  for (;;) {
    const found = await runningIn(dataDir);
    if (!found) return undefined;
    const url = found.socketDir && urlOf(found.socketDir);
    if (url && (await accepts(url))) return { url, version: (await madeBy(dataDir)) ?? 0, stop: async () => {} };
    if (Date.now() > deadline) throw new Error(`PostgreSQL (process ${found.pid}) in ${dataDir} does not answer`);
    await sleep(POLL_MS);
  }
}

const urlOf = (socketDir: string) =>
  `postgres://${NAME}@${encodeURIComponent(socketDir)}:${PORT}/${NAME}?sslmode=disable`;

const NO_SUCH_DATABASE = "3D000";
/** Still starting, already stopping, or another process is making our database at this moment. */
const NOT_YET = new Set<unknown>(["ENOENT", "ECONNREFUSED", "ECONNRESET", "57P03", "57P01", "42P04", "23505", "55006"]);

/** Whether the engine takes connections; the first one makes our database. */
async function accepts(url: string): Promise<boolean> {
  try {
    return await asks(url, "select").catch((error: unknown) => {
      if (errorCode(error) !== NO_SUCH_DATABASE) throw error;
      return asks(Object.assign(new URL(url), { pathname: "/postgres" }).href, `create database ${NAME}`);
    });
  } catch (error) {
    if (NOT_YET.has(errorCode(error))) return false;
    throw error;
  }
}

async function asks(url: string, statement: string): Promise<true> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  // A server that stops meanwhile also fails the query, which is where it is dealt with.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(statement);
    return true;
  } finally {
    await client.end();
  }
}

interface Engine {
  readonly bin: string;
  readonly major: number;
}

/** The machine's newest engine or the bundled one; for a directory that exists, the one that made it. */
async function findEngine(dataDir: string, wanted: number | undefined): Promise<Engine> {
  const seen: Engine[] = [];
  for (const places of [installed, configured, bundled]) {
    for (const bin of await places()) {
      const major = await majorOf(bin);
      if (major !== undefined) seen.push({ bin, major });
    }
    const fitting = seen.filter(({ major }) => (wanted === undefined ? major >= OLDEST : major === wanted));
    const [newest] = fitting.toSorted((a, b) => b.major - a.major);
    if (newest) return newest;
  }
  const found = [...new Set(seen.map(({ bin, major }) => `${major} in ${bin}`))].join(", ") || "none";
  throw new Error(
    wanted === undefined
      ? `PostgreSQL ${OLDEST} or newer is needed (found: ${found}): install it, or give the address of one`
      : `${dataDir} was made by PostgreSQL ${wanted} (found: ${found}): install that version, or use another directory`,
  );
}

/** Asking `pg_config` also finds what only the search path knows. */
const configured = () =>
  run("pg_config", ["--bindir"]).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  );

const majorOf = (bin: string) =>
  run(join(bin, "postgres"), ["--version"]).then(
    ({ stdout }) => Number(/\) (\d+)/.exec(stdout)?.[1]),
    () => undefined,
  );

async function madeBy(dataDir: string): Promise<number | undefined> {
  const version = await readIfThere(join(dataDir, "PG_VERSION"));
  return version === undefined ? undefined : Number.parseInt(version, 10);
}

/** A server that another process started here; a file left by a crash is cleared away. */
async function runningIn(dataDir: string): Promise<{ pid: number; socketDir: string | undefined } | undefined> {
  const file = join(dataDir, "postmaster.pid");
  const lines = (await readIfThere(file))?.split("\n");
  if (!lines?.[0]) return undefined;
  const pid = Number(lines[0]);
  if (await isPostgres(pid)) return { pid, socketDir: lines[4] };
  await rm(file, { force: true });
  return undefined;
}

/** After a restart of the machine the number may belong to anything, and PostgreSQL itself would refuse to start. */
async function isPostgres(pid: number): Promise<boolean> {
  const linux = await readIfThere(`/proc/${pid}/stat`);
  if (linux !== undefined) return /^\d+ \(postgres\) [^ZX]/.test(linux);
  return run("ps", ["-o", "stat=,comm=", "-p", String(pid)]).then(
    ({ stdout }) => /^[^Z].*\bpostgres$/.test(stdout.trim()),
    () => false,
  );
}

const readIfThere = (file: string) =>
  readFile(file, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  });

async function mustReach(user: User | undefined, path: string) {
  if (!user) return;
  await run("test", ["-x", path], { ...user, cwd: "/" }).catch(() => {
    throw new Error(
      `PostgreSQL does not run as root, and user ${user.uid} may not enter ${path}: ` +
        "run as an ordinary user, or from a directory that all users may enter",
    );
  });
}

/** Nothing of the caller's environment reaches the engine: PGDATA and the like would change what it does. */
const ENVIRONMENT = { PATH: "/usr/bin:/bin", LC_ALL: "C" };

/** Made aside and renamed, so that an interrupted start leaves no half-made directory. */
async function initialize(engine: Engine, dataDir: string, user: User | undefined, unsafe: boolean) {
  await mkdir(dirname(dataDir), { recursive: true });
  const aside = await mkdtemp(`${dataDir}.new-`);
  try {
    await mustReach(user, dirname(dataDir));
    if (user) await chown(aside, user.uid, user.gid);
    await run(
      join(engine.bin, "initdb"),
      [
        `--pgdata=${aside}`,
        `--username=${NAME}`,
        "--encoding=UTF8",
        "--locale=C",
        // Order is by byte everywhere, yet letters are Unicode's: lower() and trigrams depend on it.
        `--lc-ctype=${process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8"}`,
        "--data-checksums",
        "--auth-local=trust",
        "--auth-host=reject",
        ...(unsafe ? ["--no-sync"] : []),
      ],
      { ...user, cwd: "/", env: ENVIRONMENT },
    );
    await rename(aside, dataDir);
  } catch (error) {
    await rm(aside, { recursive: true, force: true });
    // Two first starts at once: the other was quicker.
    if (errorCode(error) === "ENOTEMPTY" && (await madeBy(dataDir)) !== undefined) return;
    throw new Error(`No data directory could be made in ${dataDir}: ${errorText(error)}`, { cause: error });
  }
}

async function makeSocketDir(dataDir: string, user: User | undefined): Promise<string> {
  if (Buffer.byteLength(join(dataDir, `.s.PGSQL.${PORT}`)) <= LONGEST_SOCKET) return dataDir;
  const short = await mkdtemp(join(tmpdir(), `${NAME}-`));
  if (user) await chown(short, user.uid, user.gid);
  return short;
}

async function launch(
  engine: Engine,
  dataDir: string,
  socketDir: string,
  user: User | undefined,
  settings: Readonly<Record<string, string | number>>,
) {
  const own = { listen_addresses: "", unix_socket_directories: `"${socketDir}"`, port: PORT };
  const flags = Object.entries({ ...SETTINGS, ...settings, ...own }).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]);
  const log = await open(join(dataDir, "server.log"), "a", 0o600);
  // A group of its own: Ctrl-C in the terminal must not stop it before the requests in flight are done.
  const engineProcess = spawn(join(engine.bin, "postgres"), ["-D", dataDir, ...flags], {
    ...user,
    cwd: dataDir,
    env: ENVIRONMENT,
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  let over = false;
  const ended = new Promise<void>((done) => engineProcess.once("exit", () => done()).once("error", () => done()));
  await log.close();
  const watcher = stopWithUs(engineProcess);
  void ended.then(() => {
    over = true;
    watcher.kill("SIGKILL");
  });
  engineProcess.unref();

  return {
    hasEnded: () => over,
    async stop() {
      engineProcess.ref();
      for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
        if (over) return;
        engineProcess.kill(signal);
        await Promise.race([ended, sleep(STOP_MS, undefined, { ref: false })]);
      }
    },
  };
}

/** However this process ends, even killed, its end of the pipe closes, and a waiting shell stops the engine. */
function stopWithUs({ pid }: ChildProcess): ChildProcess {
  const script = 'read -r _; kill -INT "$1"';
  const watcher = spawn("sh", ["-c", script, "sh", String(pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  (watcher.stdin as Socket).unref();
  return watcher;
}

const lastLines = async (file: string) => (await readFile(file, "utf8")).trimEnd().split("\n").slice(-10).join("\n");
