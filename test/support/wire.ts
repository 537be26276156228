import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Reply, TestApp } from "./app.ts";

interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** Makes the application of a test listen on a free port of loopback, and returns the port. */
export async function listen({ app }: TestApp): Promise<number> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** Sends one request over a real connection, with its target unchanged. */
export async function send(port: number, method: string, target: string, { headers, body }: Sent = {}): Promise<Reply> {
  const asked = request({ host: "127.0.0.1", port, method, path: target, agent: false, headers: { ...headers } });
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const payload = await text(answer);
  const json = answer.headers["content-type"] === "application/json" && payload !== "";
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers as Record<string, string>,
    text: payload,
    body: json ? JSON.parse(payload) : undefined,
  };
}

/** Writes bytes to a new connection and returns all that the server sends until it closes it. */
export async function sendBytes(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => socket.destroy());
  socket.write(bytes);
  let received = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (received += chunk));
  await once(socket, "close");
  return received;
}

/** A multipart body: texts are fields, bytes are files. */
export function multipart(fields: Record<string, string | { filename: string; bytes: Buffer }>) {
  const boundary = "-------fairlead-test-boundary";
  const parts = Object.entries(fields).flatMap(([name, value]) => [
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"`,
    typeof value === "string"
      ? `\r\n\r\n${value}`
      : `; filename="${value.filename}"\r\ncontent-type: application/octet-stream\r\n\r\n`,
    typeof value === "string" ? "" : value.bytes,
    "\r\n",
  ]);
  const payload = Buffer.concat([...parts, `--${boundary}--\r\n`].map((part) => Buffer.from(part)));
  return { payload, headers: { "content-type": `multipart/form-data; boundary=${boundary}` } };
}
