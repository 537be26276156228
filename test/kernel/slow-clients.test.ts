import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { listen, send } from "#test/support/wire.ts";

const RATE = { minBytes: 16 * 1024, windowMs: 600 };
const UNSENT_BYTES = 32 * 1024 * 1024;
const LARGE_BYTES = 7 * 1024 * 1024;
const Text = Type.Object({ text: Type.String() });
const params = Type.Object({ bytes: Type.Integer() });
const HEARTBEAT = ":\n\n";

const answers = {
  read: endpoint({
    method: "GET",
    path: "/answers/:bytes",
    summary: "Get an answer of any size",
    access: anyone(),
    params,
    returns: Text,
    handle: ({ params: { bytes } }) => ({ text: "x".repeat(bytes) }),
  }),
  write: endpoint({
    method: "POST",
    path: "/answers/:bytes",
    summary: "Write, and get an answer of any size",
    access: anyone(),
    params,
    returns: Text,
    audit: "answered",
    handle: ({ params: { bytes } }) => ({ text: "x".repeat(bytes) }),
  }),
  reserved: endpoint({
    method: "GET",
    path: "/reserved/:bytes",
    summary: "Reserve more than the answer needs",
    access: anyone(),
    params,
    returns: Text,
    handle({ params: { bytes }, reserveMemory }) {
      reserveMemory(bytes);
      return { text: "small" };
    },
  }),
  events: endpoint({
    method: "GET",
    path: "/answers/events",
    summary: "Get a stream without an end",
    access: anyone(),
    params: Type.Object({}),
    returns: plain("text/event-stream"),
    longLived: { maxConnections: 2, heartbeatMs: 20, heartbeat: HEARTBEAT },
    handle: () => new Readable({ read() {} }),
  }),
};

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

  const appWith = (minTransferRate: typeof RATE) =>
    testApp({
      resources: { answers },
      env: { FAIRLEAD_MAX_UNSENT_BYTES: String(UNSENT_BYTES) },
      options: { minTransferRate },
    });

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
  const connections = () =>
    new Promise<number>((resolve, reject) => {
      app.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  const untilAnswered = (count: number) =>
    until("the server has answered", async () => {
      return app.logged.filter((line) => line.includes('"answers.read"')).length >= count;
    });
  const untilAllClosed = () => until("all connections are closed", async () => (await connections()) === 0);

  test("a JSON response that is not read ends its connection after the window", async () => {
    silent(GET(`answers/${20 * 1024 * 1024}`));
    await untilAnswered(1);
    await untilAllClosed();
  });

  test("a reader above the lowest rate gets the whole response, in any number of windows", async () => {
    // The buffers of the system hide for a while that the client reads, so the window is longer than they last.
    const rate = { ...RATE, windowMs: 3_000 };
    const tolerant = await appWith(rate);
    const path = `/api/v4/answers/${24 * 1024 * 1024}`;
    const asked = httpRequest({ port: await listen(tolerant), host: "127.0.0.1", path, agent: false });
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const began = performance.now();
    let bytes = 0;
    for await (const chunk of answer) {
      bytes += (chunk as Buffer).length;
      await sleep(12);
    }
    assert.equal(bytes, Number(answer.headers["content-length"]));
    assert.ok(performance.now() - began > rate.windowMs);
    await tolerant.close();
  });

  test("large responses beyond a caller's share of memory are 503; small ones and those of writes are sent", async () => {
    // Its window is so long that the response is held until the client leaves.
    const patient = await appWith({ ...RATE, windowMs: 120_000 });
    port = await listen(patient);
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
    await patient.close();
    port = (app.app.server.address() as AddressInfo).port;
  });

  test("reserved memory is released if the response is smaller", async () => {
    for (let each = 0; each < 10; each++) assert.equal(await statusOf(`reserved/${UNSENT_BYTES}`), 200);
    assert.equal(await statusOf(`answers/${LARGE_BYTES}`), 200);
  });

  test("small responses that queue on one connection are counted too", async () => {
    app.logged.length = 0;
    silent(GET("answers/60000").repeat(600));
    await untilAnswered(200);
    await untilAllClosed();
    assert.equal(await statusOf(`answers/${LARGE_BYTES}`), 200);
  });

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
    const began = performance.now();
    await until("heartbeats came", async () => beats > 10 && performance.now() - began > 3 * RATE.windowMs);
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
