import { Readable } from "node:stream";
import type { Repository, Running } from "#git/storages/storage.ts";

/** The bytes of a blob by its id; refused if it is larger than `maxBytes`. */
export async function readBlob(repository: Repository, id: string, maxBytes?: number): Promise<Buffer | undefined> {
  const found = await repository.objects.read(id, maxBytes);
  return found?.type === "blob" ? found.bytes : undefined;
}

/** A client that receives at least this fast is served to the end. */
const MIN_BYTES_PER_SECOND = 16 * 1024;
const MIN_TIMEOUT_MS = 60_000;

/** Streams a blob of any size at the speed of its reader, from its own process, so that no other read waits for it. */
export async function streamBlob(
  repository: Repository,
  { id, size }: { id: string; size: number },
): Promise<Readable> {
  const timeoutMs = MIN_TIMEOUT_MS + (size / MIN_BYTES_PER_SECOND) * 1000;
  return streamOf(
    await repository.run({ command: "cat-file", options: ["blob"], values: [id], timeoutMs, transfer: true }),
  );
}

/** Streams the output of a process; fails if the process does, so that partial output is never taken for the whole. */
export function streamOf(running: Running): Readable {
  // A stream that nobody reads, as with HEAD, stops the process too.
  return Readable.from(outputOf(running), { objectMode: false }).once("close", () => running.stop());
}

async function* outputOf({ output, ended }: Running): AsyncGenerator<Buffer> {
  yield* output as AsyncIterable<Buffer>;
  await ended;
}
