import type { Readable, Stream } from "node:stream";

/** Waits for the first of these events, whichever it is; errors are none here. */
export function firstEvent(stream: Stream, ...events: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    for (const event of events) stream.on(event, done);
  });
}

/** Reads a stream to its end for nobody. After so many bytes or milliseconds of it, it is cut off. */
export async function drain(input: Readable, most: { readonly bytes: number; readonly time: number }): Promise<void> {
  if (input.readableEnded || input.destroyed) return;
  let left = most.bytes;
  input.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) input.destroy();
  });
  // One that somebody else has stopped reading stands still.
  input.resume();
  const timer = setTimeout(() => input.destroy(), most.time);
  await firstEvent(input, "end", "close", "error");
  clearTimeout(timer);
}
