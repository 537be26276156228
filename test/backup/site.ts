import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { runAfterExit } from "#test/faults/supervisor.ts";
import { readGuide, substitute } from "#test/support/guide.ts";
import { PATIENT } from "#test/support/limits.ts";
import { freePort } from "#test/support/ports.ts";
import { until } from "#test/support/until.ts";

const root = join(import.meta.dirname, "../..");
const BACKUP = "/var/backups/fairlead/$(date +%Y-%m-%d-%H%M)";
const RESTORED = "/var/backups/fairlead/2026-03-01-0300";
const SHELL_TIMEOUT_MS = 120_000;
const ENVIRONMENT = "/etc/fairlead/environment";

export const ROOT_TOKEN = "flpat-administrator-of-the-backup-test";

/** An installation with directories and a database of its own, which the commands of the guide start and stop. */
export interface Site {
  readonly url: string;
  readonly databaseUrl: string;
  readonly sshPort: number;
  readonly dataDir: string;
  /** Runs blocks of the guide in one shell, for a backup in this directory. */
  shell(blocks: readonly string[], backup: string): Promise<Outcome>;
  untilReady(): Promise<unknown>;
  /** `kill -9`, which leaves the files as a snapshot would have them. */
  kill(): Promise<void>;
  call<T>(method: string, path: string, options?: { token?: string; body?: object }): Promise<T>;
  ask<Row extends object>(statement: string, values?: unknown[]): Promise<Row[]>;
  gitAddress(path: string): string;
  /** Stops it and deletes all that it has. */
  destroy(): Promise<void>;
}

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/** Stands in for systemd, which needs a machine of its own. */
const SYSTEMCTL = `#!/bin/sh
set -eu
case "$1 $2" in
"start fairlead")
  . "$SITE/environment"
  setsid bin/fairlead serve >>"$SITE/log" 2>&1 &
  echo $! >"$SITE/pid"
  ;;
"stop fairlead")
  pid=$(cat "$SITE/pid")
  kill -TERM "$pid"
  while grep -qs ') [^ZX]' "/proc/$pid/stat"; do sleep 0.05; done
  ;;
*) exit 1 ;;
esac
`;

const guide = readGuide("backup.md");
/** The blocks of the guide under a heading: all of them, or those that contain one of these texts. */
export const blocks = (heading: string, ...containing: string[]): string[] =>
  guide
    .filter((block) => block.heading === heading)
    .map(({ text }) => text)
    .filter((text) => containing.length === 0 || containing.some((part) => text.includes(part)));

export async function newSite(directory: string, databaseUrl: string): Promise<Site> {
  const [port, sshPort] = [await freePort(), await freePort()];
  const dataDir = join(directory, "data");
  await mkdir(join(directory, "bin"), { recursive: true });
  await writeFile(join(directory, "bin/systemctl"), SYSTEMCTL, { mode: 0o755 });
  const environment = {
    FAIRLEAD_DATABASE_URL: databaseUrl,
    FAIRLEAD_DATA_DIR: dataDir,
    FAIRLEAD_STORAGES: `default=${dataDir}/repositories,fast=${directory}/fast`,
    FAIRLEAD_PORT: String(port),
    FAIRLEAD_SSH_PORT: String(sshPort),
    FAIRLEAD_ROOT_TOKEN: ROOT_TOKEN,
    FAIRLEAD_RATE_LIMITS: "off",
    ...PATIENT,
  };
  const lines = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
  await writeFile(join(directory, "environment"), lines.join(""));
  // A server of the stand-in is nobody's child.
  runAfterExit('kill -KILL "$(cat "$1/pid")" 2>/dev/null', directory);
  const url = `http://127.0.0.1:${port}`;
  const pid = async () => Number(await readFile(join(directory, "pid"), "utf8"));
  const database = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  database.on("error", () => {});

  const untilEnded = (id: number) => until("the server has ended", async () => !isRunning(id));
  return {
    url,
    databaseUrl,
    sshPort,
    dataDir,
    async shell(texts, backup) {
      const names = { [ENVIRONMENT]: join(directory, "environment"), [BACKUP]: backup, [RESTORED]: backup };
      const present = Object.entries(names).filter(([name]) => texts.some((text) => text.includes(name)));
      const script = join(directory, "script");
      await writeFile(script, substitute(texts.join("\n"), Object.fromEntries(present)));
      const env = { PATH: `${directory}/bin:${process.env["PATH"]}`, SITE: directory };
      const child = spawn("sh", [script], {
        cwd: root,
        env,
        stdio: ["ignore", "pipe", "pipe"],
        timeout: SHELL_TIMEOUT_MS,
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => (output += text));
      const [code] = (await once(child, "close")) as [number | null];
      return { code, output };
    },
    untilReady: () =>
      until("the server is ready", async () => {
        const response = await fetch(`${url}/-/readiness`).catch(() => undefined);
        await response?.body?.cancel();
        return response?.status === 200;
      }),
    async kill() {
      const id = await pid();
      process.kill(id, "SIGKILL");
      await untilEnded(id);
    },
    async call<T>(method: string, path: string, { token = ROOT_TOKEN, body }: { token?: string; body?: object } = {}) {
      const response = await fetch(`${url}/api/v4${path}`, {
        method,
        headers: { "private-token": token, ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status >= 300) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as T;
    },
    ask: async <Row extends object>(statement: string, values: unknown[] = []) =>
      (await database.query<Row>(statement, values)).rows,
    gitAddress: (path) => `${url.replace("://", `://root:${ROOT_TOKEN}@`)}/${path}.git`,
    async destroy() {
      const id = await pid();
      if (isRunning(id)) process.kill(id, "SIGTERM");
      await untilEnded(id);
      await database.end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Whether a process is there; one that has ended may still wait for its parent. */
function isRunning(pid: number): boolean {
  try {
    return /\) [^ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** The public host keys that a server shows. */
export async function hostKeys(port: number): Promise<string[]> {
  const scanned = await promisify(execFile)("ssh-keyscan", ["-p", String(port), "127.0.0.1"]);
  return scanned.stdout
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.slice(line.indexOf(" ") + 1))
    .toSorted();
}

/** Makes an empty database as the guide to running Fairlead says, beside another one. */
export async function emptyDatabase(beside: string, name: string): Promise<string> {
  const statement = readGuide("running.md").flatMap(
    ({ text }) => /^create database fairlead .*;$/m.exec(text) ?? [],
  )[0];
  const client = new pg.Client({ connectionString: beside });
  await client.connect();
  try {
    await client.query(substitute(statement ?? "", { "database fairlead": `database ${name}` }));
  } finally {
    await client.end();
  }
  return Object.assign(new URL(beside), { pathname: `/${name}` }).href;
}
