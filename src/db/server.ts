import { execFile, spawn, type ChildProcess } from "node:child_process";
import { chown, mkdtemp, open, readFile, rename, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { ensureDirectory } from "#lib/directories.ts";
import { bundled, type Engine, installed, unprivilegedUser, type User } from "./engines.ts";

/** A PostgreSQL server for trials and tests; it listens on a socket that only its user and root can reach. */
export interface Server {
  readonly url: string;
  readonly version: number;
  /** Stops the server unless another process started it. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly dataDir: string;
  readonly settings?: Readonly<Record<string, string | number>>;
}

const MIN_VERSION = 15;
const NAME = "fairlead";
const PORT = 5432;
const POLL_INTERVAL_MS = 20;
/** Generous, since replaying the log after a crash can take a while. */
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;
/** The kernel allows 107 bytes for a socket's path on Linux and 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 100;

const SETTINGS = { max_connections: 100, shared_buffers: "128MB", timezone: "UTC", log_timezone: "UTC" };

const run = promisify(execFile);
const errorCode = (error: unknown) => (error as { code?: unknown }).code;
const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error));

export async function startServer({ dataDir: directory, settings = {} }: ServerOptions): Promise<Server> {
  const dataDir = resolve(directory);
  const deadline = Date.now() + START_TIMEOUT_MS;
  const running = await joinRunning(dataDir, deadline);
  if (running) return running;

  const createdBy = await versionIn(dataDir);
  const engine = await findEngine(dataDir, createdBy);
  const user = await unprivilegedUser(createdBy === undefined ? undefined : dataDir);
  await requireAccess(user, join(engine.bin, "postgres"));
  if (createdBy === undefined) await initialize(engine, dataDir, user, settings["fsync"] === "off");
  await requireAccess(user, dataDir);

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
      if (Date.now() > deadline) throw new Error(`not ready after ${START_TIMEOUT_MS / 1000} s`);
      await sleep(POLL_INTERVAL_MS);
    }
  } catch (error) {
    await stop();
    // Another process started the server at the same time.
    const other = await joinRunning(dataDir, deadline);
    if (other) return other;
    throw new Error(`PostgreSQL did not start in ${dataDir}: ${errorText(error)}`, { cause: error });
  }
  return { url, version: engine.major, stop };
}

/** Joins the server that another process runs on this directory; waits for one that is starting or stopping. */
async function joinRunning(dataDir: string, deadline: number): Promise<Server | undefined> {
  for (;;) {
    const found = await runningIn(dataDir);
    if (!found) return undefined;
    const url = found.socketDir && urlOf(found.socketDir);
    if (url && (await accepts(url))) return { url, version: (await versionIn(dataDir)) ?? 0, stop: async () => {} };
    if (Date.now() > deadline) throw new Error(`PostgreSQL (process ${found.pid}) in ${dataDir} does not answer`);
    await sleep(POLL_INTERVAL_MS);
  }
}

const urlOf = (socketDir: string) =>
  `postgres://${NAME}@${encodeURIComponent(socketDir)}:${PORT}/${NAME}?sslmode=disable`;

const NO_SUCH_DATABASE = "3D000";
/** The server is starting or stopping, or another process is creating the database. */
const NOT_YET = new Set<unknown>(["ENOENT", "ECONNREFUSED", "ECONNRESET", "57P03", "57P01", "42P04", "23505", "55006"]);

/** Whether the server accepts connections; creates the database at the first one. */
async function accepts(url: string): Promise<boolean> {
  try {
    return await execute(url, "select").catch((error: unknown) => {
      if (errorCode(error) !== NO_SUCH_DATABASE) throw error;
      return execute(Object.assign(new URL(url), { pathname: "/postgres" }).href, `create database ${NAME}`);
    });
  } catch (error) {
    if (NOT_YET.has(errorCode(error))) return false;
    throw error;
  }
}

async function execute(url: string, statement: string): Promise<true> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  // A server that stops also fails the query, whose error is handled.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(statement);
    return true;
  } finally {
    await client.end();
  }
}

/** The newest installed PostgreSQL or the bundled one; for an existing directory, the version that created it. */
async function findEngine(dataDir: string, wanted: number | undefined): Promise<Engine> {
  const seen: Engine[] = [];
  for (const places of [installed, configured, bundled]) {
    for (const bin of await places()) {
      const major = await majorOf(bin);
      if (major !== undefined) seen.push({ bin, major });
    }
    const fitting = seen.filter(({ major }) => (wanted === undefined ? major >= MIN_VERSION : major === wanted));
    const [newest] = fitting.toSorted((a, b) => b.major - a.major);
    if (newest) return newest;
  }
  const found = [...new Set(seen.map(({ bin, major }) => `${major} in ${bin}`))].join(", ") || "none";
  throw new Error(
    wanted === undefined
      ? `PostgreSQL ${MIN_VERSION} or newer is needed (found: ${found}): install it, or set FAIRLEAD_DATABASE_URL`
      : `${dataDir} was created by PostgreSQL ${wanted} (found: ${found}): install that version, or use another directory`,
  );
}

/** `pg_config` also finds an installation that is known by PATH alone. */
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

/** The major version that created a data directory. */
async function versionIn(dataDir: string): Promise<number | undefined> {
  const version = await readIfExists(join(dataDir, "PG_VERSION"));
  return version === undefined ? undefined : Number.parseInt(version, 10);
}

/** The server that another process started here; removes the pid file of a crashed one. */
async function runningIn(dataDir: string): Promise<{ pid: number; socketDir: string | undefined } | undefined> {
  const file = join(dataDir, "postmaster.pid");
  const lines = (await readIfExists(file))?.split("\n");
  if (!lines?.[0]) return undefined;
  const pid = Number(lines[0]);
  if (await isPostgres(pid)) return { pid, socketDir: lines[4] };
  await rm(file, { force: true });
  return undefined;
}

/** After a reboot the pid may belong to any process, and PostgreSQL itself would refuse to start. */
async function isPostgres(pid: number): Promise<boolean> {
  const linux = await readIfExists(`/proc/${pid}/stat`);
  if (linux !== undefined) return /^\d+ \(postgres\) [^ZX]/.test(linux);
  return run("ps", ["-o", "stat=,comm=", "-p", String(pid)]).then(
    ({ stdout }) => /^[^Z].*\bpostgres$/.test(stdout.trim()),
    () => false,
  );
}

const readIfExists = (file: string) =>
  readFile(file, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  });

async function requireAccess(user: User | undefined, path: string) {
  if (!user) return;
  await run("test", ["-x", path], { ...user, cwd: "/" }).catch(() => {
    throw new Error(
      `PostgreSQL does not run as root, and user ${user.uid} may not enter ${path}: ` +
        "run as an ordinary user, or from a directory that all users may enter",
    );
  });
}

/** The server gets a fixed environment: PGDATA and the like would change its behaviour. */
const ENVIRONMENT = { PATH: "/usr/bin:/bin", LC_ALL: "C" };

/** Creates the directory under another name and renames it, so that an interrupted start leaves none behind. */
async function initialize(engine: Engine, dataDir: string, user: User | undefined, unsafe: boolean) {
  await ensureDirectory(dirname(dataDir));
  const aside = await mkdtemp(`${dataDir}.new-`);
  try {
    await requireAccess(user, dirname(dataDir));
    if (user) await chown(aside, user.uid, user.gid);
    await run(
      join(engine.bin, "initdb"),
      [
        `--pgdata=${aside}`,
        `--username=${NAME}`,
        "--encoding=UTF8",
        "--locale=C",
        // Byte order everywhere, with Unicode character classes for lower() and trigrams.
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
    // Another process created it at the same time.
    if (errorCode(error) === "ENOTEMPTY" && (await versionIn(dataDir)) !== undefined) return;
    throw new Error(`The data directory ${dataDir} could not be created: ${errorText(error)}`, { cause: error });
  }
}

async function makeSocketDir(dataDir: string, user: User | undefined): Promise<string> {
  if (Buffer.byteLength(join(dataDir, `.s.PGSQL.${PORT}`)) <= MAX_SOCKET_PATH_BYTES) return dataDir;
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
  // In its own process group, so that Ctrl-C in the terminal does not stop it before requests in flight are done.
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
        await Promise.race([ended, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
      }
    },
  };
}

/** A shell waits on a pipe that closes when this process ends, even if it is killed, and then stops the server. */
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
