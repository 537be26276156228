import { Refusal, unavailable } from "#lib/refusal.ts";
import type { Repository, Running } from "#git/storages/storage.ts";
import { explained } from "./output.ts";
import { factCache } from "./facts.ts";
import type { ObjectInfo, Objects, ObjectType } from "./object.ts";

/** A pool of `cat-file` processes: starting one takes longer than most answers. */
export interface BatchPool {
  of(repository: Pick<Repository, "name" | "run">): Objects;
}

interface Limits {
  readonly maxIdle: number;
  /** An idle process is ended after this time. */
  readonly idleMs: number;
}

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_WAITING = 10_000;
const MAX_FACTS = 10_000;
const MAX_SILENCE_MS = 30_000;
const LF = 10;

export function batchPool(limits: Limits = { maxIdle: 16, idleMs: 15_000 }): BatchPool {
  /** In order of last use. */
  const batches = new Map<string, Batch>();
  const facts = factCache(MAX_FACTS);

  function batchOf(repository: Pick<Repository, "name" | "run">): Batch {
    const known = batches.get(repository.name);
    if (known) {
      batches.delete(repository.name);
      batches.set(repository.name, known);
      return known;
    }
    const options = ["--batch-command", "-z"];
    const batch = createBatch(
      () => repository.run({ command: "cat-file", options, interactive: true, timeoutMs: Infinity }),
      () => retainIdle(repository.name, batch),
    );
    batches.set(repository.name, batch);
    return batch;
  }

  function retainIdle(name: string, batch: Batch) {
    batch.idleTimer = setTimeout(() => drop(name, batch), limits.idleMs).unref();
    if (batches.size <= limits.maxIdle) return;
    const oldest = batches.entries().find(([, { waiting }]) => waiting.length === 0);
    if (oldest) drop(...oldest);
  }

  function drop(name: string, batch: Batch) {
    if (batches.get(name) === batch) batches.delete(name);
    clearTimeout(batch.idleTimer);
    batch.end();
  }

  return {
    of: (repository) => {
      const ask = (verb: "info" | "contents", name: string) => batchOf(repository).ask(verb, name);
      return {
        info: (name) => ask("info", name),
        known: (question, findOut) => facts.known(`${repository.name} ${question}`, findOut),
        async read(name, maxBytes = MAX_BYTES) {
          const info = await ask("info", name);
          if (!info) return undefined;
          if (info.size > maxBytes) throw tooLarge(info);
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

interface ObjectQuery {
  readonly verb: "info" | "contents";
  readonly name: Buffer;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (error: unknown) => void;
  /** The number of processes that died while answering this query. */
  deaths: number;
}

interface Batch {
  readonly waiting: readonly ObjectQuery[];
  idleTimer: NodeJS.Timeout | undefined;
  ask(verb: ObjectQuery["verb"], name: string): Promise<Answer | undefined>;
  end(): void;
}

/** The process of a batch and the queries that wait for its answers. */
interface BatchState {
  readonly start: () => Promise<Running>;
  readonly whenIdle: () => void;
  readonly waiting: ObjectQuery[];
  /** Set while the process runs. */
  running: Running | undefined;
  starting: boolean;
  silenceTimer: NodeJS.Timeout | undefined;
}

/** One process, started on the first query and restarted if it dies while queries wait. */
function createBatch(start: () => Promise<Running>, whenIdle: () => void): Batch {
  const state: BatchState = {
    ...{ start, whenIdle, waiting: [] },
    ...{ running: undefined, starting: false, silenceTimer: undefined },
  };
  const { waiting } = state;
  const batch: Batch = {
    waiting,
    idleTimer: undefined,
    ask(verb, name) {
      if (waiting.length >= MAX_WAITING) return Promise.reject(unavailable());
      clearTimeout(batch.idleTimer);
      return new Promise((resolve, reject) => {
        const query: ObjectQuery = { verb, name: Buffer.from(name), resolve, reject, deaths: 0 };
        if (waiting.push(query) === 1) restartSilenceTimer(state);
        if (state.running) write(state.running, query);
        else if (!state.starting) startProcess(state);
      });
    },
    end() {
      state.running?.input.end();
      state.running = undefined;
    },
  };
  return batch;
}

/** Stops a process that does not answer, so that it cannot block the queries behind it. */
function restartSilenceTimer(state: BatchState) {
  clearTimeout(state.silenceTimer);
  if (state.waiting.length === 0) return;
  state.silenceTimer = setTimeout(() => state.running?.stop(), MAX_SILENCE_MS).unref();
}

/** Starts a process and sends it all waiting queries. */
function startProcess(state: BatchState) {
  state.starting = true;
  state
    .start()
    .finally(() => (state.starting = false))
    .then(
      (process) => readAnswers(state, process),
      (error: unknown) => {
        for (const query of state.waiting.splice(0)) query.reject(error);
        state.whenIdle();
      },
    );
}

function readAnswers(state: BatchState, process: Running) {
  const { waiting } = state;
  state.running = process;
  restartSilenceTimer(state);
  const read = answerReader(
    () => waiting[0],
    (answer) => waiting.shift()?.resolve(answer),
  );
  process.output.on("error", () => {});
  process.output.on("data", (chunk: Buffer) => {
    if (state.running !== process) return;
    read(chunk);
    restartSilenceTimer(state);
    if (waiting.length === 0) state.whenIdle();
  });
  process.ended.then(
    () => processDied(state, process, unavailable()),
    (error: unknown) => processDied(state, process, error),
  );
  for (const query of waiting) write(process, query);
}

/** Git answers in order, so the first waiting query killed it; the others are sent again. */
function processDied(state: BatchState, process: Running, error: unknown) {
  if (state.running !== process) return;
  state.running = undefined;
  const [first] = state.waiting;
  if (!first) return;
  first.deaths += 1;
  if (first.deaths > 1) state.waiting.shift()?.reject(explained(error));
  if (state.waiting.length > 0) startProcess(state);
  else state.whenIdle();
}

const write = ({ input }: Running, { verb, name }: ObjectQuery) =>
  input.write(Buffer.concat([Buffer.from(`${verb} `), name, Buffer.of(0)]));

/**
 * Parses answers: `id type size`, then the contents if requested, or the name followed by ` missing`. A name may contain
 * a line feed, so it is matched as a whole.
 */
function answerReader(next: () => ObjectQuery | undefined, answered: (answer: Answer | undefined) => void) {
  let chunks: Buffer[] = [];
  let length = 0;
  let needed = 0;

  return (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length < needed) return;
    let bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks, length);
    for (let query = next(); query; query = next()) {
      const parsed = parseAnswer(query, bytes);
      if (typeof parsed === "number") {
        needed = parsed;
        break;
      }
      needed = 0;
      bytes = bytes.subarray(parsed.length);
      answered(parsed.answer);
    }
    // A copy as well: a slice of a few bytes would keep the large answer before it in memory.
    chunks = bytes.length === 0 ? [] : [Buffer.from(bytes)];
    length = bytes.length;
  };
}

/** Parses one answer with its length, or returns how many bytes are needed to continue. */
function parseAnswer(
  { verb, name }: ObjectQuery,
  bytes: Buffer,
): { answer: Answer | undefined; length: number } | number {
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
  // A copy, because a slice would keep the whole buffer in memory.
  return { answer: { ...info, bytes: Buffer.from(bytes.subarray(end + 1, length - 1)) }, length };
}
