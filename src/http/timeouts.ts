/** Limits on how long a caller may keep us waiting. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Transfer, type TransferRate, watchTransfers } from "#lib/transfer-rate.ts";
import { refuseByHand } from "./by-hand.ts";

const WHOLE_BODY = 30_000;

/** Gives a body thirty seconds to come in whole. */
export function hurryBody(request: IncomingMessage, response: ServerResponse) {
  const timer = setTimeout(() => {
    const { socket } = request;
    if (request.complete || !socket.writable) return;
    // An answer that was given, or is being given, takes no other.
    if (response.headersSent) socket.destroy();
    else refuseByHand(socket, 408, "Request Timeout");
  }, WHOLE_BODY).unref();
  request.once("close", () => clearTimeout(timer));
}

/** What the caller takes of our answers: bytes that the system has accepted for it. */
const taken = (socket: Socket): Transfer => ({
  bytes: () => socket.bytesWritten - socket.writableLength,
  isWaiting: () => socket.writableLength > 0,
});

const sent = (request: IncomingMessage): Transfer => ({
  bytes: () => request.socket.bytesRead,
  isWaiting: () => !request.complete && request.readableLength < request.readableHighWaterMark,
});

/** Holds a streamed request and its answer to the lowest transfer rate. */
export function watchStream(request: IncomingMessage, response: ServerResponse, rate?: TransferRate) {
  const { socket } = request;
  const stop = watchTransfers([taken(socket), sent(request)], () => socket.destroy(), rate);
  response.once("close", () => {
    stop();
    // After an early answer the rest of the body is read only to reuse the connection.
    if (!request.complete) hurryBody(request, response);
  });
}

/** Holds an answer to the lowest transfer rate; the returned function ends the watch. */
export const watchAnswer = ({ req: { socket } }: ServerResponse, rate?: TransferRate): (() => void) =>
  watchTransfers([taken(socket)], () => socket.destroy(), rate);
