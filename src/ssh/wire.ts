import type { Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import type { ServerChannel } from "ssh2";
import type { Wire } from "./session.ts";

/** Bytes from git that wait here while others are on their way. */
const AHEAD = 1024 * 1024;

/** A channel as a session uses it: its end is ours to say, and what a client does not take is not taken from git. */
export function wireOf(channel: ServerChannel, socket: Socket, passed: (bytes: number) => void): Wire {
  const input = new PassThrough({ readableHighWaterMark: AHEAD });
  // Whoever gives its input up must not close the channel, by which the reason is told.
  channel.pipe(input);
  const output = new Writable({
    highWaterMark: AHEAD,
    write(chunk: Buffer, _encoding, done) {
      passed(chunk.length);
      // A packet is three writes, and a chunk of git's several packets.
      socket.cork();
      // Past the window of the client its callback waits; a window may be huge, so the socket is asked as well.
      channel.write(chunk, () => (socket.writableNeedDrain ? socket.once("drain", done) : done()));
      socket.uncork();
    },
  });
  return { input, output, tell: (line) => void channel.stderr.write(`${line}\n`) };
}
