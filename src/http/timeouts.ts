/** Limits on how long a client may keep us waiting. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Transfer, type TransferRate, watchTransfers } from "#lib/transfer-rate.ts";
import { sendRawError } from "./raw-responses.ts";

const BODY_TIMEOUT_MS = 30_000;

/** Gives a body thirty seconds to arrive completely. */
export function limitBodyTime(request: IncomingMessage, response: ServerResponse) {
  const timer = setTimeout(() => {
    const { socket } = request;
    if (request.complete || !socket.writable) return;
    // Once the response has begun, no other can be sent.
    if (response.headersSent) socket.destroy();
    else sendRawError(socket, 408, "Request Timeout");
  }, BODY_TIMEOUT_MS).unref();
  request.once("close", () => clearTimeout(timer));
}

/** What the client receives: bytes that the kernel has accepted for it. */
const received = (socket: Socket): Transfer => ({
  bytes: () => socket.bytesWritten - socket.writableLength,
  isWaiting: () => socket.writableLength > 0,
});

const uploaded = (request: IncomingMessage): Transfer => ({
  bytes: () => request.socket.bytesRead,
  isWaiting: () => !request.complete && request.readableLength < request.readableHighWaterMark,
});

/** Holds a streamed request and its response to the minimum transfer rate. */
export function watchStream(request: IncomingMessage, response: ServerResponse, rate?: TransferRate) {
  const { socket } = request;
  const stop = watchTransfers([received(socket), uploaded(request)], () => socket.destroy(), rate);
  response.once("close", () => {
    stop();
    // After an early response the rest of the body is read only to reuse the connection.
    if (!request.complete) limitBodyTime(request, response);
  });
}

/** Holds a response to the minimum transfer rate; the returned function ends the watch. */
export const watchResponse = ({ req: { socket } }: ServerResponse, rate?: TransferRate): (() => void) =>
  watchTransfers([received(socket)], () => socket.destroy(), rate);
