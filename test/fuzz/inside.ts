import { openSync, writeSync } from "node:fs";
import { duplexPair } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { resources } from "#resources/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { type Case, casesOf } from "./cases.ts";
import { type Answer, headerOf, Lane } from "./client.ts";
import { brokenInvariants } from "./invariants.ts";
import { Journal, type Logged, tidied } from "./journal.ts";
import { makeJudge } from "./judge.ts";
import { planted, plantedBefore } from "./plants.ts";
import { bytesOf } from "./request.ts";
import { seedOf } from "./seed.ts";
import { type Block, type Failure, failureOf, shown, Tally } from "./tally.ts";
import { makeWorld } from "./world.ts";

/** What a process is to do: every case whose index falls to it. */
export interface Share {
  readonly cases: number;
  readonly seed: number;
  readonly worker: number;
  readonly workers: number;
  readonly only: readonly number[] | undefined;
  /** What the names of the operations must fit that are asked for. */
  readonly operations: string;
  /** Defects to plant first. */
  readonly plants: readonly string[];
  /** A file that holds, for each lane, the case it is at: it can be read when this process hangs. */
  readonly slots: string;
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
const SLOWEST = 1000;
const MAX_BLOCK_MS = 100;
/** Blocks from here on are looked at again alone, so many of them. */
const MIN_SUSPECT_MS = 25;
const MAX_SUSPECTS = 100;
/** After so many cases all lanes wait until everything is as it was. */
const BATCH = 200;
const MOST_SHRUNK = 8;

/** What all objects share, with the names it has from birth. */
const prototypes = [Object, Array, Function, String, Number, Map, Promise].map(({ prototype }) => ({
  prototype: prototype as object,
  names: new Set(Reflect.ownKeys(prototype)),
}));

/** Takes away what was added to a prototype, lest everything after it fails too; tells whether there was anything. */
function cleaned(): boolean {
  let found = false;
  for (const { prototype, names } of prototypes) {
    const now = Reflect.ownKeys(prototype);
    if (now.length === names.size) continue;
    found = true;
    for (const name of now) if (!names.has(name)) Reflect.deleteProperty(prototype, name);
  }
  return found;
}

/** The connection of a client, with the server's end in this same process. */
function connectTo({ app }: TestApp) {
  const [client, server] = duplexPair();
  app.server.emit("connection", Object.assign(server, { remoteAddress: "127.0.0.1" }));
  return client;
}

/** Asks the application in this process, over connections that never leave it but are parsed like any other. */
async function runInside(share: Share, tally: Tally) {
  const app = await testApp({
    resources: planted(resources, share.plants),
    env: { FAIRLEAD_TRUSTED_PROXIES: "127.0.0.1" },
  });
  plantedBefore(app.app.server, share.plants);
  const world = await makeWorld(app);
  const { seeds, random } = casesOf(resources, world, new RegExp(share.operations));
  const judge = makeJudge(resources, world.secrets, world.code.hidden);
  const journal = new Journal(world.secrets);
  const slots = openSync(share.slots, "w");
  const lanes = Array.from({ length: LANES }, () => new Lane(() => connectTo(app)));
  const [quietLane] = lanes as [Lane];
  const busy = new Map<number, Suspect>();
  const slow: Suspect[] = [];
  const blocking = new Map<number, Suspect & { readonly ms: number }>();
  const last = Math.max(share.cases, seeds.length);
  let next = share.worker;
  const indexes = share.only && [...share.only];

  let batch = BATCH;

  const take = (): number | undefined => {
    if (batch-- <= 0) return undefined;
    if (indexes) return indexes.shift();
    const index = next;
    next += share.workers;
    return index < last ? index : undefined;
  };
  const caseAt = (index: number): Case =>
    seeds[index]?.() ?? (fc.sample(random, { seed: seedOf(share.seed, index), numRuns: 1 })[0] as Case);

  async function probe(lane: Lane, { asked, nobody, barred = false }: Case): Promise<Probed> {
    const start = performance.now();
    const answer = await lane.ask(bytesOf(asked), asked.method);
    const took = performance.now() - start;
    const logged = await loggedOf(headerOf(answer, "x-request-id"));
    const causes = judge({ method: asked.method, nobody, barred }, answer, logged);
    if (cleaned()) causes.push("a prototype was changed");
    if (answer.status < 300 && asked.method !== "GET") await world.revive();
    return { answer, logged, causes, took };
  }

  /** What the log says of a request; of one that was answered by a stream it says so only when that has ended. */
  async function loggedOf(id: string | undefined): Promise<Logged | undefined> {
    for (let tries = 0; tries < 50; tries++) {
      journal.read(app.logged.splice(0));
      const logged = journal.take(id);
      if (logged || id === undefined) return logged;
      await pause(2);
    }
    return undefined;
  }

  async function work(lane: Lane, slot: number) {
    for (let index = take(); index !== undefined; index = take()) {
      const item = caseAt(index);
      writeSync(slots, Int32Array.of(index), 0, 4, slot * 4);
      busy.set(index, { index, item });
      const { answer, logged, causes, took } = await probe(lane, item);
      busy.delete(index);
      recent.push({ index, item });
      if (took > SLOWEST) slow.push({ index, item });
      const failures = causes.map((cause) => failureOf(cause, index, item, answer));
      fresh.push(...tally.record(item.kind, answer.status, logged?.operation, failures));
      const etag = headerOf(answer, "etag");
      if (etag !== undefined && index % 8 === 0) await repeat(lane, index, item, etag);
      if (item.keyed && answer.status < 300) await repeatByKey(lane, index, item, answer);
    }
  }

  async function repeat(lane: Lane, index: number, item: Case, etag: string) {
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

  /** Whoever asks again is given the very same answer, unless somebody ended their token or their rights meanwhile. */
  async function repeatByKey(lane: Lane, index: number, item: Case, before: Answer) {
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

  // Time of this thread, not of the clock: what other processes take from the machine does not count.
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
    if (!around) throw error;
    const cause = `${what}: ${tidied(error instanceof Error ? error : new Error(String(error)))}`;
    const failure = failureOf(cause, around.index, around.item, NO_ANSWER);
    tally.amend({ ...failure, about: "a request at that time" }, false);
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
  await accuse(slow, "slower than 1 s", async (item) => (await probe(quietLane, item)).took > SLOWEST);
  let longest: Block | undefined;
  const suspects = [...blocking.values()].toSorted((a, b) => b.ms - a.ms).slice(0, MAX_SUSPECTS);
  await accuse(suspects, `blocks the event loop for more than ${MAX_BLOCK_MS} ms`, async (item) => {
    const measure = () => longestBlock(() => probe(quietLane, item));
    let ms = await measure();
    // Garbage of requests before it may be collected during this one, but not each time.
    if (ms > (longest?.ms ?? 0)) ms = Math.min(ms, await measure(), await measure());
    if (ms > (longest?.ms ?? 0)) longest = { ms, request: shown(bytesOf(item.asked)) };
    return ms > MAX_BLOCK_MS;
  });

  /** Asks again what was slow among others, with nothing else going on, until one of its operation is guilty. */
  async function accuse(suspects: readonly Suspect[], cause: string, isGuilty: (item: Case) => Promise<boolean>) {
    const guilty = new Set<string>();
    for (const { index, item } of suspects.slice(0, 200)) {
      const isSure = !guilty.has(item.operation) && (await isGuilty(item)) && (await isGuilty(item));
      if (!isSure) continue;
      guilty.add(item.operation);
      tally.amend(failureOf(`${item.operation}: ${cause}`, index, item, NO_ANSWER), true);
    }
  }

  /** Makes the request of a failure as small as it can be and still fail. */
  async function shrink(failure: Failure) {
    const property = fc.asyncProperty(
      random,
      async (item) => !(await probe(quietLane, item)).causes.includes(failure.cause),
    );
    const { counterexample } = await fc.check(property, {
      seed: seedOf(share.seed, failure.index),
      numRuns: 1,
      interruptAfterTimeLimit: 4000,
    });
    if (counterexample) failure.request = shown(bytesOf(counterexample[0].asked));
  }
  const shrinkable = share.plants.length > 0 ? [] : fresh.filter(({ index }) => index >= seeds.length);
  for (const failure of shrinkable.slice(0, MOST_SHRUNK)) await shrink(failure);
  for (const [cause] of journal.complaints) {
    tally.amend({ cause, index: -1, about: "somewhere in the run", request: "", answer: "" }, false);
  }
  for (const lane of lanes) lane.close();
  await app.close();
  return { ...tally.outcome((user + system) / 1_000_000), longest };
}

/** Milliseconds of this thread's time for which work kept the event loop from going on, at the longest. */
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
  return longest;
}

const NO_ANSWER: Answer = { status: 0, headers: [], headBytes: 0, body: Buffer.alloc(0), closes: true };

if (process.send) {
  const send = process.send.bind(process);
  const tally = new Tally();
  setInterval(() => void send({ done: tally.total }), 1000);
  try {
    const outcome = await runInside(JSON.parse(process.argv[2] ?? "{}") as Share, tally);
    send({ outcome }, () => process.exit(0));
  } catch (error) {
    // What listens for surprises would take this for one of them, and the process would wait for ever.
    console.error(error);
    process.exit(1);
  }
}
