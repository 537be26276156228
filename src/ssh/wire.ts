import type { Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import type { ServerChannel } from "ssh2";
import type { Wire } from "./session.ts";
import type { WatchedTransfers } from "./session-timeouts.ts";

/** How much output of git is buffered while the client receives earlier bytes. */
const BUFFER_BYTES = 1024 * 1024;

/** The streams of a channel. Only we close it, and git waits while the client does not receive its output. */
export function wireOf(
  channel: ServerChannel,
  socket: Socket,
  countBytes: (bytes: number) => void,
): Wire & WatchedTransfers {
  const input = new PassThrough({ readableHighWaterMark: BUFFER_BYTES });
  let sentBytes = 0;
  let receivedBytes = 0;
  let receivedBefore = 0;
  // Closing the input must not close the channel, over which the reason is sent.
  channel.on("data", (chunk: Buffer) => (sentBytes += chunk.length)).pipe(input);
  const output = new Writable({
    highWaterMark: BUFFER_BYTES,
    write(chunk: Buffer, _encoding, done) {
      countBytes(chunk.length);
      const onReceived = () => {
        receivedBytes += chunk.length;
        done();
      };
      // A packet is three writes, and a chunk of git's output is several packets.
      socket.cork();
      // The callback waits for the client's window, which may be huge, so the socket is checked as well.
      channel.write(chunk, () => (socket.writableNeedDrain ? socket.once("drain", onReceived) : onReceived()));
      socket.uncork();
    },
  });
  return {
    input,
    output,
    showLine: (line) => void channel.stderr.write(`${line}\n`),
    received: { bytes: () => receivedBytes, isWaiting: () => output.writableLength > 0 },
    sent: {
      bytes: () => sentBytes,
      // Git sends first and reports progress every few seconds; unread input is waiting for git, not for the client.
      isWaiting() {
        const isSilent = receivedBytes > 0 && receivedBytes === receivedBefore;
        receivedBefore = receivedBytes;
        return isSilent && input.readableLength === 0 && !input.readableEnded && !input.destroyed;
      },
    },
  };
}
