import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "#test/support/ports.ts";
import type { Cluster } from "./cluster.ts";
import { runAfterExit, type Process, startProcess, until } from "./supervisor.ts";

const SERVER = fileURLToPath(import.meta.resolve("./smtp.ts"));
const START_TIMEOUT_MS = 30_000;

/** A log line of the mail server: it accepted a mail, or it answered so. */
export type Line = Omit<Delivery, "answered"> | { readonly answered: string };

/** A mail that a server accepted from a worker. */
export interface Delivery {
  readonly delivery: string;
  readonly id: string;
  readonly worker: string;
  readonly server: string;
  readonly at: number;
  /** Whether the server sent its answer. */
  readonly answered: boolean;
}

/** A mail server and workers that send to it, which can all be killed. */
export interface MailHarness {
  readonly workers: Process[];
  /** When workers, by name, and servers, by pid, were killed. */
  readonly kills: Map<string, number>;
  killServer(): Promise<void>;
  killWorker(): Promise<void>;
  /** The deliveries of each mail. */
  deliveries(): Promise<ReadonlyMap<string, Delivery[]>>;
  close(): Promise<void>;
}

export async function startMailHarness(cluster: Cluster, workerCount: number): Promise<MailHarness> {
  const home = await mkdtemp(join(tmpdir(), "fairlead-postbox-"));
  runAfterExit('rm -rf "$1"', home);
  const file = join(home, "deliveries");
  const port = await freePort();
  const kills = new Map<string, number>();
  const named = new Map<Process, string>();

  const startServer = async () => {
    const server = startProcess("smtp", "bin/node", [SERVER, String(port), file], {});
    await until("the mail server", START_TIMEOUT_MS, () => answers(port));
    return server;
  };
  const startWorker = () => {
    const name = `mailer-${named.size + 1}`;
    const env = { FAIRLEAD_SMTP_URL: `smtp://127.0.0.1:${port}?name=${name}` };
    const worker = cluster.startWorker(["mail"], "direct", env);
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
    async deliveries() {
      const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").slice(0, -1);
      return deliveriesIn(lines.map((line) => JSON.parse(line) as Line));
    },
    async close() {
      await Promise.all([...workers, server].map((process) => process.stop()));
      await rm(home, { recursive: true, force: true });
    },
  };
}

function deliveriesIn(lines: readonly Line[]): Map<string, Delivery[]> {
  const answered = new Set(lines.flatMap((line) => ("delivery" in line ? [] : [line.answered])));
  const deliveries = lines.flatMap((line) =>
    "delivery" in line ? [{ ...line, answered: answered.has(line.delivery) }] : [],
  );
  return Map.groupBy(deliveries, ({ id }) => id);
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
