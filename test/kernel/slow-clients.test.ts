import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { listen, send } from "#test/support/wire.ts";
import { appWith, HEARTBEAT, HEARTBEAT_MS, RATE, UNSENT_BYTES } from "./slow-clients.fixtures.ts";

const LARGE_BYTES = 7 * 1024 * 1024;

describe("responses to slow clients", () => {
  let app: TestApp;
  let port: number;
  const sockets: Socket[] = [];
  before(async () => {
    app = await appWith(RATE);
    port = await listen(app);
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await app.close();
  });

  /** Runs a test with a window so long that it ends no connection. */
  async function patiently(work: (patient: TestApp) => Promise<void>) {
    const patient = await appWith({ ...RATE, windowMs: 600_000 });
    try {
      port = await listen(patient);
      await work(patient);
    } finally {
      await patient.close();
      port = (app.app.server.address() as AddressInfo).port;
    }
  }

  /** A connection that sends a request and does not read the response. */
  function silent(text: string) {
    const socket = connect({ port, host: "127.0.0.1" });
    sockets.push(socket);
    let closed = false;
    socket.on("error", () => {}).on("close", () => (closed = true));
    socket.pause().write(text);
    return { socket, isClosed: () => closed };
  }
  const GET = (path: string) => `GET /api/v4/${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
  const statusOf = async (path: string, method = "GET") =>
    (await send(port, method, `/api/v4/${path}`, { headers: { host: "localhost" } })).status;
  /** The server's side of connections; a paused client does not notice that they end. */
  const connections = ({ app: { server } }: TestApp) =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  const untilAnswered = (count: number, by = app) =>
    until("the server has answered", async () => {
      return by.logged.filter((line) => line.includes('"answers.read"')).length >= count;
    });
  const untilAllClosed = (by = app) => until("all connections are closed", async () => (await connections(by)) === 0);

  test("a JSON response that is not read ends its connection after the window", async () => {
    silent(GET(`answers/${20 * 1024 * 1024}`));
    await untilAnswered(1);
    await untilAllClosed();
  });

  test("a reader who pauses gets the whole response", () =>
    patiently(async () => {
      const path = `/api/v4/answers/${24 * 1024 * 1024}`;
      const asked = httpRequest({ port, host: "127.0.0.1", path, agent: false });
      asked.end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      let bytes = 0;
      for await (const chunk of answer) {
        bytes += (chunk as Buffer).length;
        await sleep(1);
      }
      assert.equal(bytes, Number(answer.headers["content-length"]));
    }));

  test("large responses beyond a caller's share of memory are 503; small ones and those of writes are sent", () =>
    patiently(async () => {
      const held = silent(GET(`answers/${LARGE_BYTES}`));
      await until("the answer is held", async () => (await statusOf(`answers/${LARGE_BYTES}`)) === 503);
      const refused = await send(port, "GET", `/api/v4/answers/${LARGE_BYTES}`, { headers: { host: "localhost" } });
      assert.deepEqual(refused.body, { message: "503 Service Unavailable" });
      assert.match(refused.headers["retry-after"] ?? "", /^\d+$/);
      assert.equal(refused.headers["etag"], undefined);
      assert.equal(await statusOf("answers/60000"), 200);
      assert.equal(await statusOf(`answers/${LARGE_BYTES}`, "POST"), 201);
      held.socket.destroy();
      await until("the memory is free again", async () => (await statusOf(`answers/${LARGE_BYTES}`)) === 200);
    }));

  test("reserved memory is released if the response is smaller", async () => {
    for (let each = 0; each < 10; each++) assert.equal(await statusOf(`reserved/${UNSENT_BYTES}`), 200);
    assert.equal(await statusOf(`answers/${LARGE_BYTES}`), 200);
  });

  test("small responses that queue on one connection are counted too, and end it beyond a caller's share", () =>
    patiently(async (patient) => {
      silent(GET("answers/60000").repeat(600));
      await untilAnswered(200, patient);
      await untilAllClosed(patient);
      assert.equal(await statusOf(`answers/${LARGE_BYTES}`), 200);
    }));

  test("a long-lived stream has its own limit of connections, and heartbeats instead of a lowest rate", async () => {
    const open = async () => {
      const asked = httpRequest({ port, host: "127.0.0.1", path: "/api/v4/answers/events", agent: false }).end();
      asked.on("error", () => {});
      return (await once(asked, "response")) as [IncomingMessage];
    };
    const [[first], [second]] = await Promise.all([open(), open()]);
    assert.deepEqual([first.statusCode, second.statusCode], [200, 200]);
    const [third] = await open();
    assert.equal(third.statusCode, 503);
    assert.match(third.headers["retry-after"] ?? "", /^\d+$/);
    third.resume();
    let beats = 0;
    first.on("error", () => {}).on("data", (chunk: Buffer) => (beats += chunk.length / HEARTBEAT.length));
    await until("heartbeats came for three windows", async () => beats * HEARTBEAT_MS > 3 * RATE.windowMs);
    assert.equal(first.closed, false);
    second.on("error", () => {}).destroy();
    await until("its place is free", async () => {
      const [again] = await open();
      const { statusCode } = again;
      again.on("error", () => {}).destroy();
      return statusCode === 200;
    });
    first.destroy();
  });
});
