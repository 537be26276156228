/** Limits on how long a caller may keep us waiting. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { refuseByHand } from "./by-hand.ts";

const WHOLE_BODY = 30_000;
const WINDOW = 60_000;
/** Bytes in a window that are too few even for a bad line. */
const LEAST = 16 * 1024;

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

/**
 * Gives what is streamed as long as it takes, but not to a caller who hardly sends or takes anything in a whole minute.
 * Where it is we who are slow, the caller may wait.
 */
export function watchStream(request: IncomingMessage, response: ServerResponse, window = WINDOW) {
  const { socket } = request;
  const moved = () => socket.bytesRead + socket.bytesWritten;
  const waitsForCaller = () =>
    socket.writableLength > 0 || (!request.complete && request.readableLength < request.readableHighWaterMark);
  let before = moved();
  const timer = setInterval(() => {
    const now = moved();
    if (now - before < LEAST && waitsForCaller()) socket.destroy();
    before = now;
  }, window).unref();
  response.once("close", () => {
    clearInterval(timer);
    // Answered early, the rest is only read so that the connection can be used again.
    if (!request.complete) hurryBody(request, response);
  });
}
