/** Fetches as git speaks them over HTTP. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Logger } from "pino";
import { explained } from "#git/objects/output.ts";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { GitFailed, type PackCall, type Running } from "#git/storages/storage.ts";
import { badRequest, Refusal, tooLarge } from "#lib/refusal.ts";
import type { Opened } from "./opening.ts";

export type Service = "git-upload-pack" | "git-receive-pack";

interface Asked {
  readonly protocol: PackCall["protocol"];
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** The refs of a repository, and what can be asked of it. */
export async function advertise(
  { repository }: Opened,
  service: Service,
  { protocol, signal, log }: Asked,
): Promise<Readable> {
  // There is no second version of pushing.
  const version = service === "git-receive-pack" && protocol === "version=2" ? undefined : protocol;
  const call = { mode: "advertise", signal, ...(version && { protocol: version }) } as const;
  const running = await (service === "git-upload-pack" ? repository.uploadPack(call) : repository.receivePack(call));
  // Where there is a second version, its first line says so itself.
  const preface = version === "version=2" ? [] : [packet(`# service=${service}\n`), FLUSH];
  return streamed(running, told(running, log, preface));
}

/** Bytes of a request that are waited for before git is started, so that nobody holds a process by saying nothing. */
const MOST_AHEAD = 1024 * 1024;
/** Bytes of the longest request: the names of half a million objects. */
const MOST_WANTED = 32 * 1024 * 1024;

/** Answers one request of a fetch. */
export async function fetchPack(
  { repository }: Opened,
  body: Readable,
  { protocol, signal, log }: Asked,
): Promise<Readable> {
  const request = await begun(bounded(body));
  const running = await repository.uploadPack({ mode: "stateless", signal, ...(protocol && { protocol }) });
  // A git that has heard enough closes its input; one that was told only half must not answer that.
  const cutOff = pipeline(request, running.input).then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof Refusal)) return undefined;
      running.stop();
      return error;
    },
  );
  return streamed(running, await saying(told(running, log, [], cutOff)));
}

/** What git says once it has begun, so that a request which it cannot read is refused as one. */
async function saying(pieces: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  const first = await pieces.next().catch((error: unknown) => {
    if (!(error instanceof GitFailed) || error.exitCode === null || error.outOfMemory) throw explained(error);
    throw badRequest("what git sent cannot be read");
  });
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* pieces;
  })();
}

async function* bounded(body: Readable): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_WANTED) throw tooLarge();
    yield chunk;
  }
}

/** Waits for the first bytes of what comes, or all of it if that is short. */
async function begun(coming: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  const ahead: Buffer[] = [];
  let size = 0;
  while (size < MOST_AHEAD) {
    const { done, value } = await coming.next();
    if (done) break;
    ahead.push(value);
    size += value.length;
  }
  if (size === 0) throw badRequest("the request is empty");
  return (async function* () {
    yield* ahead;
    yield* coming;
  })();
}

/** What git says, cut off where it was stopped or had nothing to say. */
async function* told(
  { output, ended }: Running,
  log: Logger,
  preface: readonly Buffer[],
  cutOff?: Promise<Refusal | undefined>,
): AsyncGenerator<Buffer> {
  let silent = true;
  yield* preface;
  for await (const chunk of output as AsyncIterable<Buffer>) {
    silent = false;
    yield chunk;
  }
  const problem = await cutOff;
  if (problem) throw problem;
  try {
    await ended;
  } catch (error) {
    if (silent || !(error instanceof GitFailed) || error.exitCode === null) throw error;
    // It told the client why, in a packet of its own.
    log.info({ err: error.message }, "git refused");
  }
}

/** An answer that nobody takes to its end, or at all as with HEAD, ends git too. */
const streamed = (running: Running, pieces: AsyncIterable<Buffer>): Readable =>
  Readable.from(pieces, { objectMode: false }).once("close", () => running.stop());

/** Refuses a body that is not said to be what git sends. */
export function requireType(type: string | undefined, service: Service) {
  if (type === `application/x-${service}-request`) return;
  throw new Refusal("unsupported", `The content type must be application/x-${service}-request.`);
}
