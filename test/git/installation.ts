import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { chmod, readdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { projectRepository } from "#git/storages/storage.ts";
import { afterUs, freePort } from "#test/faults/supervisor.ts";
import { git } from "#test/support/git.ts";
import { type RunningServer, startServer } from "#test/support/server.ts";

/** A person who pushes. */
export interface Person {
  readonly id: number;
  readonly username: string;
  readonly token: string;
}

export interface Project {
  readonly id: number;
  readonly path: string;
}

interface Called {
  readonly token?: string;
  readonly body?: object;
}

/** A server with real repositories, which can be killed and started again on what it had. */
export interface Installation {
  readonly dataDir: string;
  readonly sshPort: number;
  server(): RunningServer;
  /** Starts the server again after its end, on the same port. */
  start(): Promise<void>;
  /** Ends the server and starts it again with other settings beside those it had. */
  restart(settings: Record<string, string>): Promise<void>;
  /** `kill -9` of the server, alone or with all processes of git that it has; PostgreSQL goes on. */
  kill(options?: { readonly withGit?: boolean }): Promise<void>;
  /** Another server on the same data. */
  another(): Promise<Another>;
  /** Asks for what must be done, as the administrator unless told otherwise. */
  call<T>(method: string, path: string, called?: Called): Promise<T>;
  /** Asks PostgreSQL, past all that is tested. */
  ask<Row extends object>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** A connection to PostgreSQL for what spans statements. */
  connect(): Promise<pg.Client>;
  newPerson(username: string, scopes?: readonly string[]): Promise<Person>;
  newProject(name: string, body?: object): Promise<Project>;
  addDeveloper(project: Project, person: Person): Promise<void>;
  /** What git is told for HTTP. */
  address(project: Project, by: Pick<Person, "username" | "token">): string;
  sshAddress(project: Project): string;
  /** The directory that the server keeps the repository in, once it is made. */
  directory(project: Project): string | undefined;
  /** What `git fsck --full --strict` has to say against a repository. */
  fsck(project: Project): Promise<string[]>;
  close(): Promise<void>;
}

export interface Another {
  readonly server: RunningServer;
  readonly sshPort: number;
}

export async function startInstallation(settings: Record<string, string> = {}): Promise<Installation> {
  const dataDir = await mkdtemp(join(tmpdir(), "fairlead-git-"));
  afterUs('sleep 1; rm -rf "$1"', dataDir);
  // A run that is told to end takes its servers along.
  process.once("SIGTERM", () => process.exit(1));
  await chmod(dataDir, 0o755);
  const sshPort = await freePort();
  const kept: Record<string, string> = { ...settings, FAIRLEAD_DATA_DIR: dataDir };
  const start = (port: number) => startServer({ ...kept, FAIRLEAD_SSH_PORT: String(port) });
  let server = await start(sshPort);
  Object.assign(kept, { FAIRLEAD_DATABASE_URL: server.databaseUrl, FAIRLEAD_ROOT_TOKEN: server.token });
  const others: RunningServer[] = [];

  const connect = async () => {
    const client = new pg.Client({ connectionString: server.databaseUrl, application_name: "harness" });
    client.on("error", () => {});
    await client.connect();
    return client;
  };
  // Lanes ask at the same time, and a connection answers one of them.
  const database = new pg.Pool({ connectionString: server.databaseUrl, application_name: "harness", max: 4 });
  database.on("error", () => {});

  const call = async <T>(method: string, path: string, { token = server.token, body }: Called = {}): Promise<T> => {
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
      ...kept,
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
      Object.assign(kept, settings);
      await startAgain();
      await server.sshReady();
    },
    async kill({ withGit = false } = {}) {
      // A server that stands still starts no further process while the others are looked up.
      process.kill(server.pid, "SIGSTOP");
      const family = withGit ? await descendantsOf(server.pid) : [];
      for (const pid of [server.pid, ...family]) killed(pid);
      await server.exited();
      await server.stop();
    },
    async another() {
      const port = await freePort();
      const second = await start(port);
      others.push(second);
      return { server: second, sshPort: port };
    },
    call,
    ask: async <Row extends object>(statement: string, values: unknown[] = []) =>
      (await database.query<Row>(statement, values)).rows,
    connect,
    async newPerson(username, scopes = ["api"]) {
      const columns = { username, name: username, email: `${username}@example.com` };
      const body = { ...columns, force_random_password: true, skip_confirmation: true };
      const { id } = await call<{ id: number }>("POST", "/users", { body });
      const made = await call<{ token: string }>("POST", `/users/${id}/personal_access_tokens`, {
        body: { name: "test", scopes },
      });
      return { id, username, token: made.token };
    },
    async newProject(name, body = {}) {
      const made = await call<{ id: number; path_with_namespace: string }>("POST", "/projects", {
        body: { name, ...body },
      });
      return { id: made.id, path: made.path_with_namespace };
    },
    async addDeveloper({ id }, person) {
      await call("POST", `/projects/${id}/members`, { body: { user_id: person.id, access_level: 30 } });
    },
    address: ({ path }, { username, token }) => `${server.url.replace("://", `://${username}:${token}@`)}/${path}.git`,
    sshAddress: ({ path }) => `ssh://git@127.0.0.1:${sshPort}/${path}.git`,
    directory,
    async fsck(project) {
      const cwd = directory(project);
      if (cwd === undefined) return [`project ${project.id} has no repository`];
      const { stdout, stderr, code } = await soundness(cwd);
      // A branch that HEAD names and nobody has pushed is no fault.
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

/** Looks again where packs were put together meanwhile: those that fsck had found at its start are then gone. */
async function soundness(cwd: string, tries = 5): Promise<Awaited<ReturnType<typeof git>>> {
  const packs = async () => new Set(await readdir(join(cwd, "objects/pack")).catch((): string[] => []));
  const before = await packs();
  const found = await git(["fsck", "--full", "--strict", "--no-dangling"], {
    cwd,
    env: { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" },
  });
  return tries > 1 && before.symmetricDifference(await packs()).size > 0 ? soundness(cwd, tries - 1) : found;
}

async function descendantsOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  const pairs = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const childrenOf = (of: number): number[] =>
    pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === of ? [pid, ...childrenOf(pid)] : []));
  return childrenOf(parent);
}

function killed(pid: number) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself a moment ago.
  }
}
