/** Answers written straight to a connection, where there is no exchange that could give one. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionError } from "fastify";
import { ALWAYS, BY_DEFAULT } from "./security-headers.ts";

const LINGER = 1000;

/** Answers what is not even a request. */
export function refuseBrokenRequest(error: ConnectionError, socket: Socket) {
  // What a refused caller goes on to send is no request either.
  if (socket.writableEnded) return;
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseByHand(socket, ...brokenStatus(error));
}

export function refuseByHand(socket: Duplex, status: number, text: string) {
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
  // Closed at once, with something still unread, the system would take the answer back; kept, it would cost a descriptor.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER).unref();
}

function brokenStatus({ code, rawPacket }: ConnectionError): [number, string] {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "Request Timeout"];
  if (code !== "HPE_HEADER_OVERFLOW") return [400, "Bad Request"];
  // The first line of a request that long has not ended within the packet.
  const firstLine = (rawPacket as unknown as Buffer | undefined)?.toString("latin1").split("\r\n", 1)[0] ?? "";
  return firstLine.length > 8192 ? [414, "Request-URI Too Large"] : [431, "Request Header Fields Too Large"];
}
