import type { Readable, Stream } from "node:stream";

/** Waits for the first of these events; an error event does not reject. */
export function firstEvent(stream: Stream, ...events: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    for (const event of events) stream.on(event, done);
  });
}

/** Discards the rest of a stream; destroys it after this many bytes or milliseconds. */
export async function drain(input: Readable, limits: { readonly bytes: number; readonly time: number }): Promise<void> {
  if (input.readableEnded || input.destroyed) return;
  let left = limits.bytes;
  input.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) input.destroy();
  });
  // Another reader may have paused it.
  input.resume();
  const timer = setTimeout(() => input.destroy(), limits.time);
  await firstEvent(input, "end", "close", "error");
  clearTimeout(timer);
}
