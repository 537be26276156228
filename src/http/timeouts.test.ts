import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, before, describe, mock, test } from "node:test";
import { until } from "#test/support/until.ts";
import { watchStream } from "./timeouts.ts";

const WINDOW = 1_200;
/** The limit looks at a stream six times in a window, and only when a test lets time pass. */
const SAMPLE = WINDOW / 6;
const CHUNK = Buffer.alloc(8 * 1024, "x");

describe("the time limit of a stream", () => {
  let handle: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => {
    watchStream(request, response, { minBytes: 16 * 1024, windowMs: WINDOW });
    handle(request, response);
  });
  const listening = once(server.listen(0, "127.0.0.1"), "listening");
  before(() => mock.timers.enable({ apis: ["setInterval"] }));
  after(() => {
    mock.timers.reset();
    server.close().closeAllConnections();
  });

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
    let received = 0;
    handle = (request) => request.on("data", (chunk: Buffer) => (received += chunk.length));
    const { socket, closed } = await ask(POST);
    for (let sent = CHUNK.length; sent <= 50 * CHUNK.length; sent += CHUNK.length) {
      socket.write(CHUNK);
      await until("it has arrived", async () => received === sent || closed(), undefined, 5);
      // A little faster than the lowest rate.
      mock.timers.tick(2 * SAMPLE);
    }
    socket.write("x");
    await until("the last byte has arrived", async () => received === 50 * CHUNK.length + 1 || closed());
    assert.equal(closed(), false);
    socket.destroy();
  });

  test("ends a stream that is too slow", async () => {
    handle = (request) => request.resume();
    const { socket, closed } = await ask(POST);
    await until("it is ended", async () => {
      socket.write("x");
      mock.timers.tick(SAMPLE);
      return closed();
    });
  });

  test("ends a client that reads nothing of the response", async () => {
    let left = false;
    handle = (_request, response) => {
      response.on("close", () => (left = true));
      for (let n = 0; n < 2000; n++) response.write(CHUNK);
    };
    const { socket } = await ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.pause();
    await until("it is ended", async () => {
      mock.timers.tick(SAMPLE);
      return left;
    });
    socket.destroy();
  });

  test("does not count while the client waits for us", async () => {
    for (const text of ["GET / HTTP/1.1\r\nhost: x\r\n\r\n", POST + "x".repeat(200_000)]) {
      const asked = Promise.withResolvers<[IncomingMessage, ServerResponse]>();
      handle = (...exchange) => asked.resolve(exchange);
      const { socket } = await ask(text);
      const [request, response] = await asked.promise;
      const isFull = () => request.readableLength >= request.readableHighWaterMark;
      await until("the client waits", async () => request.complete || isFull());
      mock.timers.tick(WINDOW * 2);
      response.end("late");
      const [answer] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as unknown[];
      assert.match(String(answer), /late/);
      socket.destroy();
    }
  });
});
