/** Loaded into the server before its own code: plants a named defect and reports blocks of the event loop. */
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { registerHooks } from "node:module";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { COLLECT } from "./collect.ts";
import { PLANTS, plantedSource } from "./plants.ts";

/** The interval at which the processor time of the main thread is sampled. */
const HEARTBEAT_MS = 5;
/** Shorter blocks are not reported. */
const MIN_REPORTED_MS = 20;

/** A time in which the main thread did not return to its event loop. */
export interface Block {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds of processor time of the thread, independent of other processes. */
  readonly ms: number;
  /** The requests during the block or right before it. */
  readonly requests: readonly string[];
}

const { EXHAUSTION_PLANT: plantName, EXHAUSTION_BLOCKS: report } = process.env;

if (plantName) {
  const plant = PLANTS.find(({ name }) => name === plantName);
  if (!plant) throw new Error(`there is no plant ${plantName}`);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!plant.changes.some(({ file }) => url.endsWith(`/${file}`))) return loaded;
      return { ...loaded, source: plantedSource(plant, url, String(loaded.source)) };
    },
  });
}

if (report) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on(COLLECT, () => collect());
  const active = new Set<IncomingMessage>();
  let started: string[] = [];
  const nameOf = ({ method, url }: IncomingMessage) => `${method} ${url?.slice(0, 200)}`;
  subscribe("http.server.request.start", (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    active.add(request);
    started.push(nameOf(request));
    response.once("close", () => active.delete(request));
  });
  let used = process.threadCpuUsage();
  setInterval(() => {
    const now = process.threadCpuUsage();
    const ms = (now.user + now.system - used.user - used.system) / 1000;
    used = now;
    if (ms > MIN_REPORTED_MS) {
      const requests = [...new Set([...started, ...Array.from(active, nameOf)])].slice(0, 10);
      const block: Block = { at: Date.now(), ms, requests };
      appendFileSync(report, `${JSON.stringify(block)}\n`);
    }
    started = [];
  }, HEARTBEAT_MS).unref();
}
