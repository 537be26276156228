/** Responses written straight to a connection, where no exchange exists. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionError } from "fastify";
import { ALWAYS, BY_DEFAULT } from "./security-headers.ts";

const LINGER_MS = 1000;

/** Responds to bytes that are not an HTTP request. */
export function rejectMalformedRequest(error: ConnectionError, socket: Socket) {
  // A client that was already refused may continue to send.
  if (socket.writableEnded) return;
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  sendRawError(socket, ...statusOf(error));
}

export function sendRawError(socket: Duplex, status: number, text: string) {
  const body = JSON.stringify({ error: text });
  const headers = [
    ["content-type", "application/json"],
    ["content-length", Buffer.byteLength(body)],
    ["connection", "close"],
    ...ALWAYS,
    ...BY_DEFAULT,
  ];
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${text}`, ...lines, "", body].join("\r\n"));
  // Closing with unread input makes the kernel reset the connection and drop the response; keeping it open costs a
  // descriptor.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function statusOf({ code, rawPacket }: ConnectionError): [number, string] {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "Request Timeout"];
  if (code !== "HPE_HEADER_OVERFLOW") return [400, "Bad Request"];
  // A request line that overflows does not end within the packet.
  const firstLine = (rawPacket as unknown as Buffer | undefined)?.toString("latin1").split("\r\n", 1)[0] ?? "";
  return firstLine.length > 8192 ? [414, "Request-URI Too Large"] : [431, "Request Header Fields Too Large"];
}
