/** The fetch side of git's smart HTTP protocol. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { explained } from "#git/objects/output.ts";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { GitFailed, type PackCall, type Running } from "#git/storages/storage.ts";
import { badRequest, Refusal, tooLarge } from "#lib/refusal.ts";
import type { RepositoryAccess } from "#domains/storage/pushes/access.ts";

export type Service = "git-upload-pack" | "git-receive-pack";

interface PackRequest {
  readonly protocol: PackCall["protocol"];
  readonly signal: AbortSignal;
  /** Called with the reason if git refuses the request in its output. */
  failed(reason: string): void;
}

/** Streams the ref advertisement and the capabilities of a repository. */
export async function advertise(
  { repository }: RepositoryAccess,
  service: Service,
  { protocol, signal, failed }: PackRequest,
): Promise<Readable> {
  // Protocol version 2 does not cover pushes.
  const version = service === "git-receive-pack" && protocol === "version=2" ? undefined : protocol;
  const call = { mode: "advertise", signal, ...(version && { protocol: version }) } as const;
  const running = await (service === "git-upload-pack" ? repository.uploadPack(call) : repository.receivePack(call));
  // Version 2 announces itself in its first line.
  const prefix = version === "version=2" ? [] : [packet(`# service=${service}\n`), FLUSH];
  return streamed(running, outputOf(running, failed, prefix));
}

/** A request is read this far before git starts, so that a silent client holds no process. */
const MAX_READ_AHEAD_BYTES = 1024 * 1024;
/** Enough for the ids of half a million objects. */
const MAX_FETCH_REQUEST_BYTES = 32 * 1024 * 1024;

/** Answers one request of a fetch. */
export async function fetchPack(
  { repository }: RepositoryAccess,
  body: Readable,
  { protocol, signal, failed }: PackRequest,
): Promise<Readable> {
  const request = await readAhead(bounded(body));
  const running = await repository.uploadPack({ mode: "stateless", signal, ...(protocol && { protocol }) });
  // Git closes its input when it has read enough, but must not answer a request that was cut off.
  const cutOff = pipeline(request, running.input).then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof Refusal)) return undefined;
      running.stop();
      return error;
    },
  );
  return streamed(running, await started(outputOf(running, failed, [], cutOff)));
}

/** Waits for the first output of git, so that a request it cannot parse is refused with a status. */
async function started(chunks: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  const first = await chunks.next().catch((error: unknown) => {
    if (!(error instanceof GitFailed) || error.exitCode === null || error.outOfMemory) throw explained(error);
    throw badRequest("git could not parse the request");
  });
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* chunks;
  })();
}

async function* bounded(body: Readable): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_FETCH_REQUEST_BYTES) throw tooLarge();
    yield chunk;
  }
}

/** Waits for the first bytes of a request, or for all of a short one. */
async function readAhead(rest: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  const ahead: Buffer[] = [];
  let size = 0;
  while (size < MAX_READ_AHEAD_BYTES) {
    const { done, value } = await rest.next();
    if (done) break;
    ahead.push(value);
    size += value.length;
  }
  if (size === 0) throw badRequest("the request is empty");
  return (async function* () {
    yield* ahead;
    yield* rest;
  })();
}

/** Streams the output of git; fails if git was stopped or failed without output. */
async function* outputOf(
  { output, ended }: Running,
  failed: PackRequest["failed"],
  prefix: readonly Buffer[],
  cutOff?: Promise<Refusal | undefined>,
): AsyncGenerator<Buffer> {
  let isSilent = true;
  yield* prefix;
  for await (const chunk of output as AsyncIterable<Buffer>) {
    isSilent = false;
    yield chunk;
  }
  const problem = await cutOff;
  if (problem) throw problem;
  try {
    await ended;
  } catch (error) {
    if (isSilent || !(error instanceof GitFailed) || error.exitCode === null) throw error;
    // Git has already sent the reason to the client.
    failed(error.message);
  }
}

/** Stops git when the response is closed early, or is not read at all as with HEAD. */
const streamed = (running: Running, chunks: AsyncIterable<Buffer>): Readable =>
  Readable.from(chunks, { objectMode: false }).once("close", () => running.stop());

/** Refuses a body without the content type that git sends. */
export function requireType(type: string | undefined, service: Service) {
  if (type === `application/x-${service}-request`) return;
  throw new Refusal("unsupported", `The content type must be application/x-${service}-request.`);
}
