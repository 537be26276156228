import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "#test/support/until.ts";
import { watchStream } from "./timeouts.ts";

const WINDOW = 1_000;
const CHUNK = Buffer.alloc(8 * 1024, "x");

describe("the time limit of a stream", () => {
  let handle: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => {
    watchStream(request, response, { minBytes: 16 * 1024, windowMs: WINDOW });
    handle(request, response);
  });
  const listening = once(server.listen(0, "127.0.0.1"), "listening");
  after(() => server.close().closeAllConnections());

  async function ask(text: string): Promise<{ socket: Socket; closed: () => boolean }> {
    await listening;
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    let closed = false;
    socket.on("close", () => (closed = true)).on("error", () => {});
    socket.write(text);
    return { socket, closed: () => closed };
  }
  const POST = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n";

  test("does not end a stream that makes progress, however long it takes", async () => {
    handle = (request, response) => request.resume().on("end", () => response.end("whole"));
    const { socket, closed } = await ask(POST);
    // Ten times the lowest rate, so that a pause of a busy machine does not count as slow.
    for (let sent = 0; sent < 50; sent++) {
      socket.write(CHUNK);
      await sleep(WINDOW / 20);
    }
    assert.equal(closed(), false);
    socket.destroy();
  });

  test("ends a stream that is too slow", async () => {
    handle = (request) => request.resume();
    const { socket, closed } = await ask(POST);
    await until("it is ended", async () => closed() || void socket.write("x"));
  });

  test("ends a client that reads nothing of the response", async () => {
    let left = false;
    handle = (_request, response) => {
      response.on("close", () => (left = true));
      for (let n = 0; n < 2000; n++) response.write(CHUNK);
    };
    const { socket } = await ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.pause();
    await until("it is ended", async () => left);
    socket.destroy();
  });

  test("does not count while the client waits for us", async () => {
    handle = (_request, response) => void setTimeout(() => response.end("late"), WINDOW * 2);
    for (const text of ["GET / HTTP/1.1\r\nhost: x\r\n\r\n", POST + "x".repeat(200_000)]) {
      const { socket } = await ask(text);
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.match(answer.toString(), /late/);
      socket.destroy();
    }
  });
});
