import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that notes what a proxy sends it, and sends what it is told when it is told. */
export interface StubServer extends AsyncDisposable {
  readonly port: number;
  /** The target of the last request, as it came. */
  lastTarget(): string;
  /** Sends a piece of the response to `/stream`. */
  write(piece: string): void;
  /** Whether the response to `/stream` is still connected. */
  isStreaming(): boolean;
}

export async function startStub(): Promise<StubServer> {
  let target = "";
  let streaming: ServerResponse | undefined;
  const server = createServer((request, response) => {
    target = request.url ?? "";
    if (target !== "/stream") return void response.end();
    // Not the type of server-sent events, which some proxies treat apart.
    response.writeHead(200, { "content-type": "application/x-git-upload-pack-result" }).flushHeaders();
    streaming = response;
    response.on("close", () => (streaming = undefined));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    lastTarget: () => target,
    write: (piece) => void streaming?.write(piece),
    isStreaming: () => streaming !== undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
