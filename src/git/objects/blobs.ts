import { Readable } from "node:stream";
import type { Repository, Running } from "#git/storages/storage.ts";

/** The bytes of a blob by its id; one of more than `most` bytes is refused. */
export async function readBlob(repository: Repository, id: string, most?: number): Promise<Buffer | undefined> {
  const found = await repository.objects.read(id, most);
  return found?.type === "blob" ? found.bytes : undefined;
}

/** A line of this speed is still served: bytes a second. */
const SLOWEST = 16 * 1024;
const LEAST_TIME = 60_000;

/** A blob of any size, read as fast as it is taken; it has a process of its own, so that nobody waits for it. */
export async function streamBlob(
  repository: Repository,
  { id, size }: { id: string; size: number },
): Promise<Readable> {
  const timeout = LEAST_TIME + (size / SLOWEST) * 1000;
  return streamOf(
    await repository.run({ command: "cat-file", options: ["blob"], values: [id], timeout, transfer: true }),
  );
}

/** All that a process writes; it ends well only if the process does, so that nobody takes a part for the whole. */
export function streamOf(running: Running): Readable {
  // Whoever reads none of it, as where only the head is asked for, ends it too.
  return Readable.from(outputOf(running), { objectMode: false }).once("close", () => running.stop());
}

async function* outputOf({ output, ended }: Running): AsyncGenerator<Buffer> {
  yield* output as AsyncIterable<Buffer>;
  await ended;
}
