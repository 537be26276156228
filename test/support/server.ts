import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { PATIENT } from "./limits.ts";
import { freePort } from "./ports.ts";
import { freshDatabase } from "./postgres.ts";

const fairlead = join(import.meta.dirname, "../../bin/fairlead");
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 90_000;
const MAX_LOG_LENGTH = 100_000;

export type RunningServer = {
  /** Address without a trailing slash, such as `http://127.0.0.1:40123`. */
  url: string;
  /** Address of SSH, such as `ssh://git@127.0.0.1:40124`, which is served a moment after the rest. */
  ssh: string;
  sshReady(): Promise<void>;
  /** The root administrator's token with every scope; if the database already has users, the one in `env`. */
  token: string;
  databaseUrl: string;
  pid: number;
  /** The end of the output of the process. */
  log(): string;
  /** How the process ended, once it has. */
  exited(): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stop(): Promise<void>;
};

/** Runs `fairlead serve` as a process, on a fresh database unless `env` names one, and waits until it is ready. */
export async function startServer(env: Record<string, string> = {}): Promise<RunningServer> {
  const databaseUrl = env["FAIRLEAD_DATABASE_URL"] ?? (await freshDatabase());
  const token = env["FAIRLEAD_ROOT_TOKEN"] ?? `flpat-${randomBytes(24).toString("base64url")}`;
  const port = env["FAIRLEAD_PORT"] ?? String(await freePort());
  const sshPort = env["FAIRLEAD_SSH_PORT"] ?? String(await freePort());
  const dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  const child = spawn(fairlead, ["serve"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...inheritedEnvironment(),
      FAIRLEAD_HOST: "127.0.0.1",
      FAIRLEAD_DATA_DIR: dataDir,
      FAIRLEAD_RATE_LIMITS: "off",
      ...PATIENT,
      ...env,
      FAIRLEAD_DATABASE_URL: databaseUrl,
      FAIRLEAD_ROOT_TOKEN: token,
      FAIRLEAD_PORT: port,
      FAIRLEAD_SSH_PORT: sshPort,
    },
  });
  let log = "";
  const keep = (chunk: string) => (log = (log + chunk).slice(-MAX_LOG_LENGTH));
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  child.on("error", (error) => keep(`${error.message}\n`));
  // An exception in a test must not leave the server running.
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);

  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal })),
  );
  const stop = async () => {
    await stopProcess(child);
    process.removeListener("exit", killAtExit);
    await rm(dataDir, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilReady(child, url);
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n${log}`, { cause: error });
  }
  return {
    url,
    ssh: `ssh://git@127.0.0.1:${sshPort}`,
    sshReady: () => untilSpeaksSsh(child, Number(sshPort)),
    token,
    databaseUrl,
    pid: child.pid as number,
    log: () => log,
    exited: () => ended,
    stop,
  };
}

/** The environment without our settings, which must not change what is tested. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_")));
}

const hasEnded = (child: ChildProcess) =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (hasEnded(child)) throw new Error(`fairlead serve ended with ${child.exitCode ?? child.signalCode}`);
    const response = await fetch(`${url}/-/readiness`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    await pause(25);
  }
  throw new Error(`fairlead serve was not ready within ${START_TIMEOUT_MS} ms`);
}

async function untilSpeaksSsh(child: ChildProcess, port: number): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline && !hasEnded(child)) {
    const socket = connect(port, "127.0.0.1");
    // While the server starts, the port is taken already and each connection closed.
    const spoke = await Promise.race([once(socket, "data"), once(socket, "close").then(() => undefined)]).catch(
      () => undefined,
    );
    socket.destroy();
    if (spoke) return;
    await pause(25);
  }
  throw new Error(`no SSH server at port ${port}`);
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const giveUp = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(giveUp);
}
