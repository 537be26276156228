import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { chmod, readdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { projectRepository } from "#git/storages/storage.ts";
import { runAfterExit } from "#test/faults/supervisor.ts";
import { git } from "#test/support/git.ts";
import { freePort } from "#test/support/ports.ts";
import { type RunningServer, startServer } from "#test/support/server.ts";

/** A user with a token. */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly token: string;
}

export interface Project {
  readonly id: number;
  readonly path: string;
}

interface CallOptions {
  readonly token?: string;
  readonly body?: object;
}

/** A server with real repositories, which can be killed and restarted on the same data. */
export interface Installation {
  readonly dataDir: string;
  readonly sshPort: number;
  server(): RunningServer;
  /** Starts the server again on the same port after it ended. */
  start(): Promise<void>;
  /** Stops the server and starts it again with additional settings. */
  restart(settings: Record<string, string>): Promise<void>;
  /** `kill -9` of the server, alone or with all its git processes; PostgreSQL keeps running. */
  kill(options?: { readonly withGit?: boolean }): Promise<void>;
  /** Starts another server on the same data. */
  startSecond(): Promise<ServerHandle>;
  /** Calls the API, by default as the administrator; throws unless it succeeds. */
  call<T>(method: string, path: string, options?: CallOptions): Promise<T>;
  /** Queries PostgreSQL directly. */
  query<Row extends object>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** A connection to PostgreSQL, for transactions and locks. */
  connect(): Promise<pg.Client>;
  createUser(username: string, scopes?: readonly string[]): Promise<User>;
  createProject(name: string, body?: object): Promise<Project>;
  addDeveloper(project: Project, user: User): Promise<void>;
  /** The URL of a repository with credentials. */
  address(project: Project, by: Pick<User, "username" | "token">): string;
  sshAddress(project: Project): string;
  /** The directory of a repository, once it exists. */
  directory(project: Project): string | undefined;
  /** The problems that `git fsck --full --strict` finds in a repository. */
  fsck(project: Project): Promise<string[]>;
  close(): Promise<void>;
}

export interface ServerHandle {
  readonly server: RunningServer;
  readonly sshPort: number;
}

export async function startInstallation(settings: Record<string, string> = {}): Promise<Installation> {
  const dataDir = await mkdtemp(join(tmpdir(), "fairlead-git-"));
  runAfterExit('sleep 1; rm -rf "$1"', dataDir);
  // A terminated run stops its servers.
  process.once("SIGTERM", () => process.exit(1));
  await chmod(dataDir, 0o755);
  const sshPort = await freePort();
  const current: Record<string, string> = { ...settings, FAIRLEAD_DATA_DIR: dataDir };
  const start = (port: number) => startServer({ ...current, FAIRLEAD_SSH_PORT: String(port) });
  let server = await start(sshPort);
  Object.assign(current, { FAIRLEAD_DATABASE_URL: server.databaseUrl, FAIRLEAD_ROOT_TOKEN: server.token });
  const others: RunningServer[] = [];

  const connect = async () => {
    const client = new pg.Client({ connectionString: server.databaseUrl, application_name: "harness" });
    client.on("error", () => {});
    await client.connect();
    return client;
  };
  // Lanes query concurrently.
  const database = new pg.Pool({ connectionString: server.databaseUrl, application_name: "harness", max: 4 });
  database.on("error", () => {});

  const call = async <T>(
    method: string,
    path: string,
    { token = server.token, body }: CallOptions = {},
  ): Promise<T> => {
    const response = await fetch(`${server.url}/api/v4${path}`, {
      method,
      headers: { "private-token": token, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status >= 300) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  };

  const directory = ({ id }: Project) => globSync(join(dataDir, "**", `${projectRepository(id)}*`))[0];

  const startAgain = async () => {
    server = await startServer({
      ...current,
      FAIRLEAD_SSH_PORT: String(sshPort),
      FAIRLEAD_PORT: new URL(server.url).port,
    });
  };

  return {
    dataDir,
    sshPort,
    server: () => server,
    start: startAgain,
    async restart(settings) {
      await server.stop();
      Object.assign(current, settings);
      await startAgain();
      await server.sshReady();
    },
    async kill({ withGit = false } = {}) {
      // A paused server starts no further process while its children are looked up.
      process.kill(server.pid, "SIGSTOP");
      const descendants = withGit ? await descendantsOf(server.pid) : [];
      for (const pid of [server.pid, ...descendants]) killProcess(pid);
      await server.exited();
      await server.stop();
    },
    async startSecond() {
      const port = await freePort();
      const second = await start(port);
      others.push(second);
      return { server: second, sshPort: port };
    },
    call,
    query: async <Row extends object>(statement: string, values: unknown[] = []) =>
      (await database.query<Row>(statement, values)).rows,
    connect,
    async createUser(username, scopes = ["api"]) {
      const columns = { username, name: username, email: `${username}@example.com` };
      const body = { ...columns, force_random_password: true, skip_confirmation: true };
      const { id } = await call<{ id: number }>("POST", "/users", { body });
      const created = await call<{ token: string }>("POST", `/users/${id}/personal_access_tokens`, {
        body: { name: "test", scopes },
      });
      return { id, username, token: created.token };
    },
    async createProject(name, body = {}) {
      const created = await call<{ id: number; path_with_namespace: string }>("POST", "/projects", {
        body: { name, ...body },
      });
      return { id: created.id, path: created.path_with_namespace };
    },
    async addDeveloper({ id }, user) {
      await call("POST", `/projects/${id}/members`, { body: { user_id: user.id, access_level: 30 } });
    },
    address: ({ path }, { username, token }) => `${server.url.replace("://", `://${username}:${token}@`)}/${path}.git`,
    sshAddress: ({ path }) => `ssh://git@127.0.0.1:${sshPort}/${path}.git`,
    directory,
    async fsck(project) {
      const cwd = directory(project);
      if (cwd === undefined) return [`project ${project.id} has no repository`];
      const { stdout, stderr, code } = await runFsck(cwd);
      // HEAD may point to a branch that was not pushed yet.
      const lines = `${stdout}\n${stderr}`
        .split("\n")
        .filter((line) => /^(error|warning|missing|broken|bad)/.test(line));
      if (code !== 0 && lines.length === 0) lines.push(`git fsck ended with ${code}: ${stderr.slice(0, 300)}`);
      return lines.map((line) => `fsck of project ${project.id}: ${line}`);
    },
    async close() {
      await database.end();
      for (const each of [...others, server]) await each.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Repeats fsck if a repack removed packs while it ran. */
async function runFsck(cwd: string, tries = 5): Promise<Awaited<ReturnType<typeof git>>> {
  const packs = async () => new Set(await readdir(join(cwd, "objects/pack")).catch((): string[] => []));
  const before = await packs();
  const found = await git(["fsck", "--full", "--strict", "--no-dangling"], {
    cwd,
    env: { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" },
  });
  return tries > 1 && before.symmetricDifference(await packs()).size > 0 ? runFsck(cwd, tries - 1) : found;
}

async function descendantsOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  const pairs = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const childrenOf = (of: number): number[] =>
    pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === of ? [pid, ...childrenOf(pid)] : []));
  return childrenOf(parent);
}

function killProcess(pid: number) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}
