import { Refusal, unavailable } from "#lib/refusal.ts";
import type { Repository, Running } from "#git/storages/storage.ts";
import { explained } from "./output.ts";
import { keepFacts } from "./facts.ts";
import type { ObjectInfo, Objects, ObjectType } from "./object.ts";

/** Processes that are kept to answer for objects: starting one takes longer than most answers. */
export interface KeptBatches {
  of(repository: Pick<Repository, "name" | "run">): Objects;
}

interface Limits {
  /** How many are kept with nothing to do. */
  readonly kept: number;
  /** Milliseconds after which one with nothing to do is ended. */
  readonly idle: number;
}

const MOST_BYTES = 16 * 1024 * 1024;
const MOST_WAITING = 10_000;
const MOST_FACTS = 10_000;
const LONGEST_SILENCE = 30_000;
const LF = 10;

export function keepBatches(limits: Limits = { kept: 16, idle: 15_000 }): KeptBatches {
  /** In the order of their last use. */
  const batches = new Map<string, Batch>();
  const facts = keepFacts(MOST_FACTS);

  function batchOf(repository: Pick<Repository, "name" | "run">): Batch {
    const known = batches.get(repository.name);
    if (known) {
      batches.delete(repository.name);
      batches.set(repository.name, known);
      return known;
    }
    const batch = startBatch(
      () => repository.run({ command: "cat-file", options: ["--batch-command", "-z"], asked: true, timeout: Infinity }),
      () => afterwards(repository.name, batch),
    );
    batches.set(repository.name, batch);
    return batch;
  }

  function afterwards(name: string, batch: Batch) {
    batch.timer = setTimeout(() => drop(name, batch), limits.idle).unref();
    if (batches.size <= limits.kept) return;
    const oldest = batches.entries().find(([, { waiting }]) => waiting.length === 0);
    if (oldest) drop(...oldest);
  }

  function drop(name: string, batch: Batch) {
    if (batches.get(name) === batch) batches.delete(name);
    clearTimeout(batch.timer);
    batch.end();
  }

  return {
    of: (repository) => {
      const ask = (verb: "info" | "contents", name: string) => batchOf(repository).ask(verb, name);
      return {
        info: (name) => ask("info", name),
        known: (question, findOut) => facts.known(`${repository.name} ${question}`, findOut),
        async read(name, most = MOST_BYTES) {
          const info = await ask("info", name);
          if (!info) return undefined;
          if (info.size > most) throw tooLarge(info);
          const read = await ask("contents", info.id);
          return read && { ...info, bytes: read.bytes ?? Buffer.alloc(0) };
        },
      };
    },
  };
}

const tooLarge = ({ type, size }: ObjectInfo) =>
  new Refusal("too large", `The ${type} has ${size} bytes, which is too large for this answer`);

interface Answer extends ObjectInfo {
  readonly bytes?: Buffer;
}

interface Asked {
  readonly verb: "info" | "contents";
  readonly name: Buffer;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (error: unknown) => void;
  /** Processes that ended while this one was theirs to answer. */
  deaths: number;
}

interface Batch {
  readonly waiting: readonly Asked[];
  timer: NodeJS.Timeout | undefined;
  ask(verb: Asked["verb"], name: string): Promise<Answer | undefined>;
  end(): void;
}

/** One process, started when something is asked of it, and started again should it die while something is. */
function startBatch(start: () => Promise<Running>, whenDone: () => void): Batch {
  const waiting: Asked[] = [];
  /** The process, once it is there. */
  let running: Running | undefined;
  let starting = false;
  let patience: NodeJS.Timeout | undefined;
  /** A process that says nothing while something is asked of it does not get to keep all others waiting. */
  const watch = () => {
    clearTimeout(patience);
    if (waiting.length > 0) patience = setTimeout(() => running?.stop(), LONGEST_SILENCE).unref();
  };

  const batch: Batch = {
    waiting,
    timer: undefined,
    ask(verb, name) {
      if (waiting.length >= MOST_WAITING) return Promise.reject(unavailable());
      clearTimeout(batch.timer);
      return new Promise((resolve, reject) => {
        const asked: Asked = { verb, name: Buffer.from(name), resolve, reject, deaths: 0 };
        if (waiting.push(asked) === 1) watch();
        if (running) write(running, asked);
        else if (!starting) begin();
      });
    },
    end() {
      running?.input.end();
      running = undefined;
    },
  };

  /** Starts a process and asks it all that waits. */
  function begin() {
    starting = true;
    start()
      .finally(() => (starting = false))
      .then(listen, (error: unknown) => {
        for (const asked of waiting.splice(0)) asked.reject(error);
        whenDone();
      });
  }

  function listen(process: Running) {
    running = process;
    watch();
    const read = answerReader(
      () => waiting[0],
      (answer) => waiting.shift()?.resolve(answer),
    );
    process.output.on("error", ignore);
    process.output.on("data", (chunk: Buffer) => {
      if (running !== process) return;
      read(chunk);
      watch();
      if (waiting.length === 0) whenDone();
    });
    process.ended.then(
      () => died(process, unavailable()),
      (error: unknown) => died(process, error),
    );
    for (const asked of waiting) write(process, asked);
  }

  /** It answers in order, so what killed it is the first that waits; the others are asked again. */
  function died(process: Running, error: unknown) {
    if (running !== process) return;
    running = undefined;
    const [first] = waiting;
    if (!first) return;
    first.deaths += 1;
    if (first.deaths > 1) waiting.shift()?.reject(explained(error));
    if (waiting.length > 0) begin();
    else whenDone();
  }

  return batch;
}

const ignore = () => {};

const write = ({ input }: Running, { verb, name }: Asked) =>
  input.write(Buffer.concat([Buffer.from(`${verb} `), name, Buffer.of(0)]));

/**
 * Reads answers off the output: `id type size`, then the bytes where they were asked for, or what was asked with
 * ` missing` behind it. A name may hold a line feed, so it is looked for as a whole.
 */
function answerReader(next: () => Asked | undefined, answered: (answer: Answer | undefined) => void) {
  let chunks: Buffer[] = [];
  let length = 0;
  let needed = 0;

  return (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length < needed) return;
    let bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks, length);
    for (let asked = next(); asked; asked = next()) {
      const found = parseAnswer(asked, bytes);
      if (typeof found === "number") {
        needed = found;
        break;
      }
      needed = 0;
      bytes = bytes.subarray(found.length);
      answered(found.answer);
    }
    // A copy as well: a few bytes of the next answer would keep the large one before it in memory.
    chunks = bytes.length === 0 ? [] : [Buffer.from(bytes)];
    length = bytes.length;
  };
}

/** One answer and its length, or how many bytes it takes to know. */
function parseAnswer({ verb, name }: Asked, bytes: Buffer): { answer: Answer | undefined; length: number } | number {
  if (bytes.length <= name.length && name.subarray(0, bytes.length).equals(bytes)) return bytes.length + 1;
  const start = bytes.subarray(0, name.length).equals(name) ? name.length : 0;
  const end = bytes.indexOf(LF, start);
  if (end === -1) return bytes.length + 1;
  const line = bytes.toString("latin1", start, end);
  if (start > 0 && (line === " missing" || line === " ambiguous")) return { answer: undefined, length: end + 1 };
  const [id = "", type, size] = bytes.toString("latin1", 0, end).split(" ");
  const info = { id, type: type as ObjectType, size: Number(size) };
  if (verb === "info") return { answer: info, length: end + 1 };
  const length = end + 1 + info.size + 1;
  if (bytes.length < length) return length;
  // A copy, so that what is kept of one answer does not keep all that came with it.
  return { answer: { ...info, bytes: Buffer.from(bytes.subarray(end + 1, length - 1)) }, length };
}
