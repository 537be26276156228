import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cluster } from "./cluster.ts";
import { afterUs, freePort, type Process, startProcess, until } from "./supervisor.ts";

const SERVER = fileURLToPath(import.meta.resolve("./smtp.ts"));
const START_LIMIT = 30_000;

/** A line that the mail server wrote: that it took a mail, or that it said so. */
export type Line = Omit<Taking, "answered"> | { readonly said: string };

/** A mail that was taken: from which worker, by which server. */
export interface Taking {
  readonly taking: string;
  readonly id: string;
  readonly worker: string;
  readonly server: string;
  readonly at: number;
  /** Whether the worker was told. */
  readonly answered: boolean;
}

/** A mail server and workers that send to it, all of them to be killed. */
export interface Postbox {
  readonly workers: Process[];
  /** Who was killed when: a worker by its name, the server by its process. */
  readonly kills: Map<string, number>;
  killServer(): Promise<void>;
  killWorker(): Promise<void>;
  /** Every time that each mail was taken. */
  takings(): Promise<ReadonlyMap<string, Taking[]>>;
  close(): Promise<void>;
}

export async function openPostbox(cluster: Cluster, workerCount: number): Promise<Postbox> {
  const home = await mkdtemp(join(tmpdir(), "fairlead-postbox-"));
  afterUs('rm -rf "$1"', home);
  const file = join(home, "taken");
  const port = await freePort();
  const kills = new Map<string, number>();
  const named = new Map<Process, string>();

  const startServer = async () => {
    const server = startProcess("smtp", "bin/node", [SERVER, String(port), file], {});
    await until("the mail server", START_LIMIT, () => answers(port));
    return server;
  };
  const startWorker = () => {
    const name = `mailer-${named.size + 1}`;
    const env = { FAIRLEAD_SMTP_URL: `smtp://127.0.0.1:${port}?name=${name}` };
    const worker = cluster.startWorker(["mail"], "straight", env);
    named.set(worker, name);
    return worker;
  };
  const kill = async (process: Process, name: string) => {
    if (!process.alive()) throw new Error(`${process.name} ended by itself:\n${process.log()}`);
    kills.set(name, Date.now());
    await process.kill();
  };

  let server = await startServer();
  const workers = Array.from({ length: workerCount }, startWorker);
  return {
    workers,
    kills,
    async killServer() {
      await kill(server, String(server.pid));
      server = await startServer();
    },
    async killWorker() {
      const [worker] = workers.splice(0, 1);
      if (!worker) return;
      await kill(worker, named.get(worker) ?? "");
      workers.push(startWorker());
    },
    async takings() {
      const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").slice(0, -1);
      return takingsIn(lines.map((line) => JSON.parse(line) as Line));
    },
    async close() {
      await Promise.all([...workers, server].map((process) => process.stop()));
      await rm(home, { recursive: true, force: true });
    },
  };
}

function takingsIn(lines: readonly Line[]): Map<string, Taking[]> {
  const said = new Set(lines.flatMap((line) => ("said" in line ? [line.said] : [])));
  const taken = lines.flatMap((line) => ("said" in line ? [] : [{ ...line, answered: said.has(line.taking) }]));
  return Map.groupBy(taken, ({ id }) => id);
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "data");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
