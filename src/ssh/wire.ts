import type { Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import type { ServerChannel } from "ssh2";
import type { Transfer } from "#lib/transfer-rate.ts";
import type { Wire } from "./session.ts";

/** Bytes from git that wait here while others are on their way. */
const AHEAD = 1024 * 1024;

interface WatchedWire extends Wire {
  readonly taken: Transfer;
  readonly sent: Transfer;
}

/** A channel as a session uses it: its end is ours to say, and what a client does not take is not taken from git. */
export function wireOf(channel: ServerChannel, socket: Socket, passed: (bytes: number) => void): WatchedWire {
  const input = new PassThrough({ readableHighWaterMark: AHEAD });
  let received = 0;
  let takenBytes = 0;
  let takenBefore = 0;
  // Whoever gives its input up must not close the channel, by which the reason is told.
  channel.on("data", (chunk: Buffer) => (received += chunk.length)).pipe(input);
  const output = new Writable({
    highWaterMark: AHEAD,
    write(chunk: Buffer, _encoding, done) {
      passed(chunk.length);
      const taken = () => {
        takenBytes += chunk.length;
        done();
      };
      // A packet is three writes, and a chunk of git's several packets.
      socket.cork();
      // Past the window of the client its callback waits; a window may be huge, so the socket is asked as well.
      channel.write(chunk, () => (socket.writableNeedDrain ? socket.once("drain", taken) : taken()));
      socket.uncork();
    },
  });
  return {
    input,
    output,
    tell: (line) => void channel.stderr.write(`${line}\n`),
    taken: { bytes: () => takenBytes, isWaiting: () => output.writableLength > 0 },
    sent: {
      bytes: () => received,
      // Git speaks first, and says something every few seconds while it works; what it has not read yet waits for it.
      isWaiting() {
        const isSilent = takenBytes > 0 && takenBytes === takenBefore;
        takenBefore = takenBytes;
        return isSilent && input.readableLength === 0 && !input.readableEnded && !input.destroyed;
      },
    },
  };
}
