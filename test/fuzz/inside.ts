import { openSync, writeSync } from "node:fs";
import { duplexPair } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { slowness } from "#test/support/machine.ts";
import { type Case, casesOf } from "./cases.ts";
import { type Answer, headerOf, Connection } from "./client.ts";
import { brokenInvariants } from "./invariants.ts";
import { LogReader, type Logged, normalized } from "./log-reader.ts";
import { makeJudge } from "./judge.ts";
import { planted, plantedBefore } from "./plants.ts";
import { bytesOf } from "./request.ts";
import { seedOf } from "./seed.ts";
import { type Block, type Failure, failureOf, shown, Tally } from "./tally.ts";
import { makeWorld } from "./world.ts";

/** The task of a process: every case whose index belongs to it. */
export interface WorkerTask {
  readonly cases: number;
  readonly seed: number;
  readonly worker: number;
  readonly workers: number;
  readonly only: readonly number[] | undefined;
  /** The pattern of the names of operations to call. */
  readonly operations: string;
  /** Defects to plant first. */
  readonly plants: readonly string[];
  /** A file with the current case of each lane, which can be read if this process hangs. */
  readonly slots: string;
  /** Whether the time that requests take or block is not judged. */
  readonly untimed: boolean;
}

interface Probed {
  readonly answer: Answer;
  readonly logged: Logged | undefined;
  readonly causes: readonly string[];
  readonly took: number;
}

interface Suspect {
  readonly index: number;
  readonly item: Case;
}

const LANES = 8;
const MAX_RESPONSE_MS = 1000;
const MAX_BLOCK_MS = 100;
/** Blocks from this length on are measured again alone, up to this number. */
const MIN_SUSPECT_MS = 25;
const MAX_SUSPECTS = 100;
/** After so many cases all lanes wait until the database is restored. */
const BATCH = 200;
const MAX_SHRUNK = 8;

/** The prototypes of built-in objects, with their original names. */
const prototypes = [Object, Array, Function, String, Number, Map, Promise].map(({ prototype }) => ({
  prototype: prototype as object,
  names: new Set(Reflect.ownKeys(prototype)),
}));

/** Removes what was added to a prototype, so that later cases do not fail too; returns whether there was anything. */
function removePollution(): boolean {
  let found = false;
  for (const { prototype, names } of prototypes) {
    const now = Reflect.ownKeys(prototype);
    if (now.length === names.size) continue;
    found = true;
    for (const name of now) if (!names.has(name)) Reflect.deleteProperty(prototype, name);
  }
  return found;
}

/** The client's end of a connection to the server in this process. */
function connectTo({ app }: TestApp) {
  const [client, server] = duplexPair();
  app.server.emit("connection", Object.assign(server, { remoteAddress: "127.0.0.1" }));
  return client;
}

/** Sends requests to the application in this process, over connections that are parsed like any other. */
async function runInside(task: WorkerTask, tally: Tally) {
  const app = await testApp({
    resources: planted(resources, task.plants),
    env: { FAIRLEAD_TRUSTED_PROXIES: "127.0.0.1" },
  });
  plantedBefore(app.app.server, task.plants);
  const world = await makeWorld(app);
  const { seeds, random } = casesOf(resources, world, new RegExp(task.operations));
  const judge = makeJudge(resources, world.secrets, world.code.hidden);
  const logReader = new LogReader(world.secrets);
  const slots = openSync(task.slots, "w");
  const lanes = Array.from({ length: LANES }, () => new Connection(() => connectTo(app)));
  const [quietLane] = lanes as [Connection];
  const busy = new Map<number, Suspect>();
  const slow: Suspect[] = [];
  const blocking = new Map<number, Suspect & { readonly ms: number }>();
  const last = Math.max(task.cases, seeds.length);
  let next = task.worker;
  const indexes = task.only && [...task.only];

  let batch = BATCH;

  const take = (): number | undefined => {
    if (batch-- <= 0) return undefined;
    if (indexes) return indexes.shift();
    const index = next;
    next += task.workers;
    return index < last ? index : undefined;
  };
  const caseAt = (index: number): Case =>
    seeds[index]?.() ?? (fc.sample(random, { seed: seedOf(task.seed, index), numRuns: 1 })[0] as Case);

  async function probe(lane: Connection, { asked, nobody, barred = false }: Case): Promise<Probed> {
    const start = performance.now();
    const answer = await lane.ask(bytesOf(asked), asked.method);
    const took = performance.now() - start;
    const logged = await loggedOf(headerOf(answer, "x-request-id"));
    const causes = judge({ method: asked.method, nobody, barred }, answer, logged);
    if (removePollution()) causes.push("a prototype was changed");
    if (answer.status < 300 && asked.method !== "GET") await world.revive();
    return { answer, logged, causes, took };
  }

  /** The log line of a request; for a streamed response it is written at the end of the stream. */
  async function loggedOf(id: string | undefined): Promise<Logged | undefined> {
    for (let tries = 0; tries < 50; tries++) {
      logReader.read(app.logged.splice(0));
      const logged = logReader.take(id);
      if (logged || id === undefined) return logged;
      await pause(2);
    }
    return undefined;
  }

  async function work(lane: Connection, slot: number) {
    for (let index = take(); index !== undefined; index = take()) {
      const item = caseAt(index);
      writeSync(slots, Int32Array.of(index), 0, 4, slot * 4);
      busy.set(index, { index, item });
      const { answer, logged, causes, took } = await probe(lane, item);
      busy.delete(index);
      recent.push({ index, item });
      if (took > MAX_RESPONSE_MS) slow.push({ index, item });
      const failures = causes.map((cause) => failureOf(cause, index, item, answer));
      fresh.push(...tally.record(item.kind, answer.status, logged?.operation, failures));
      const etag = headerOf(answer, "etag");
      if (etag !== undefined && index % 8 === 0) await repeat(lane, index, item, etag);
      if (item.keyed && answer.status < 300) await repeatByKey(lane, index, item, answer);
    }
  }

  async function repeat(lane: Connection, index: number, item: Case, etag: string) {
    const again: Case = {
      ...item,
      asked: { ...item.asked, headers: [...item.asked.headers, ["if-none-match", etag]] },
    };
    const { answer, logged, causes } = await probe(lane, again);
    tally.record(
      "repeated with its ETag",
      answer.status,
      logged?.operation,
      causes.map((cause) => failureOf(cause, index, again, answer)),
    );
  }

  /** A repeated request must get the same response, unless the token or the rights of the caller ended meanwhile. */
  async function repeatByKey(lane: Connection, index: number, item: Case, before: Answer) {
    const { answer, logged, causes } = await probe(lane, item);
    const isSame = answer.status === before.status && answer.body.equals(before.body);
    const isReplayed = headerOf(answer, "idempotency-replayed") !== undefined;
    const found = isReplayed && !isSame ? [...causes, `${item.operation}: another answer by the same key`] : causes;
    tally.record(
      `repeated by its key${isReplayed ? "" : ", in vain"}`,
      answer.status,
      logged?.operation,
      found.map((cause) => failureOf(cause, index, item, answer)),
    );
  }

  // CPU time of this thread, so that other processes on the machine do not count.
  let recent: Suspect[] = [];
  let spent = process.threadCpuUsage();
  const watch = setInterval(() => {
    const { user, system } = process.threadCpuUsage(spent);
    const ms = (user + system) / 1000;
    for (const suspect of ms > MIN_SUSPECT_MS ? [...recent, ...busy.values()] : []) {
      blocking.set(suspect.index, { ...suspect, ms: Math.max(ms, blocking.get(suspect.index)?.ms ?? 0) });
    }
    spent = process.threadCpuUsage();
    recent = [];
  }, 20);
  const surprise = (what: string) => (error: unknown) => {
    const [around] = [...busy.values(), ...recent];
    const cause = `${what}: ${normalized(error instanceof Error ? error : new Error(String(error)))}`;
    if (around) {
      const failure = failureOf(cause, around.index, around.item, NO_ANSWER);
      tally.amend({ ...failure, about: "a request at that time" }, false);
    } else {
      tally.amend({ cause, index: -1, about: "somewhere in the run", request: "", answer: "" }, false);
    }
  };
  process.on("unhandledRejection", surprise("unhandled rejection"));
  process.on("uncaughtException", surprise("uncaught exception"));

  const fresh: Failure[] = [];
  const start = process.threadCpuUsage();
  while (indexes ? indexes.length > 0 : next < last) {
    batch = BATCH;
    await Promise.all(lanes.map(work));
    for (const cause of [...(await brokenInvariants(app.services.db.write)), ...(await world.code.problems())]) {
      const about = `one of the ${BATCH} cases of this process before case ${next}`;
      tally.amend({ cause, index: -1, about, request: "", answer: "" }, false);
    }
    await world.restore();
  }
  const { user, system } = process.threadCpuUsage(start);
  clearInterval(watch);
  await accuse(
    task.untimed ? [] : slow,
    "slower than 1 s",
    async (item) => (await probe(quietLane, item)).took > MAX_RESPONSE_MS,
  );
  let longest: Block | undefined;
  const suspects = task.untimed ? [] : [...blocking.values()].toSorted((a, b) => b.ms - a.ms).slice(0, MAX_SUSPECTS);
  await accuse(suspects, `blocks the event loop for more than ${MAX_BLOCK_MS} ms`, async (item) => {
    // Only the request: to judge a large response takes longer than to send it.
    const measure = async () => {
      const ms = await longestBlock(() => quietLane.ask(bytesOf(item.asked), item.asked.method));
      if (item.asked.method !== "GET") await world.revive();
      return ms;
    };
    let ms = await measure();
    // Garbage of earlier requests may be collected during this one, but not each time.
    if (ms > (longest?.ms ?? 0)) ms = Math.min(ms, await measure(), await measure());
    if (ms > (longest?.ms ?? 0)) longest = { ms, request: shown(bytesOf(item.asked)) };
    return ms > MAX_BLOCK_MS;
  });

  /** Repeats slow requests alone, until one of each operation is confirmed to be slow. */
  async function accuse(suspects: readonly Suspect[], cause: string, isGuilty: (item: Case) => Promise<boolean>) {
    const guilty = new Set<string>();
    for (const { index, item } of suspects.slice(0, 200)) {
      const isSure = !guilty.has(item.operation) && (await isGuilty(item)) && (await isGuilty(item));
      if (!isSure) continue;
      guilty.add(item.operation);
      tally.amend(failureOf(`${item.operation}: ${cause}`, index, item, NO_ANSWER), true);
    }
  }

  /** Shrinks the request of a failure as long as it still fails. */
  async function shrink(failure: Failure) {
    const property = fc.asyncProperty(
      random,
      async (item) => !(await probe(quietLane, item)).causes.includes(failure.cause),
    );
    const { counterexample } = await fc.check(property, {
      seed: seedOf(task.seed, failure.index),
      numRuns: 1,
      interruptAfterTimeLimit: 4000,
    });
    if (counterexample) failure.request = shown(bytesOf(counterexample[0].asked));
  }
  const shrinkable = task.plants.length > 0 ? [] : fresh.filter(({ index }) => index >= seeds.length);
  for (const failure of shrinkable.slice(0, MAX_SHRUNK)) await shrink(failure);
  for (const [cause] of logReader.complaints) {
    tally.amend({ cause, index: -1, about: "somewhere in the run", request: "", answer: "" }, false);
  }
  for (const lane of lanes) lane.close();
  await app.close();
  return { ...tally.outcome((user + system) / 1_000_000), longest };
}

/** The longest time that work blocked the event loop, in milliseconds of CPU time of the reference machine. */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let used = process.threadCpuUsage();
  let longest = 0;
  const look = () => {
    const { user, system } = process.threadCpuUsage(used);
    used = process.threadCpuUsage();
    longest = Math.max(longest, (user + system) / 1000);
  };
  const timer = setInterval(look, 1);
  await work();
  clearInterval(timer);
  look();
  return longest / slowness();
}

const NO_ANSWER: Answer = { status: 0, headers: [], headBytes: 0, body: Buffer.alloc(0), closes: true };

if (process.send) {
  const send = process.send.bind(process);
  const tally = new Tally();
  setInterval(() => void send({ done: tally.total }), 1000);
  try {
    const outcome = await runInside(JSON.parse(process.argv[2] ?? "{}") as WorkerTask, tally);
    send({ outcome }, () => process.exit(0));
  } catch (error) {
    // The listener for unexpected errors would report this one, and the process would wait for ever.
    console.error(error);
    process.exit(1);
  }
}
