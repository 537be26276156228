import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, describe, test } from "node:test";
import { until } from "#test/support/until.ts";
import { limitConnections } from "./connections.ts";

const ANSWER = "HTTP/1.1 200 OK";

describe("connections", () => {
  const server = createServer((_request, response) => response.end());
  // Addresses of loopback are networks of their own here, but for one.
  limitConnections(server, { maxConnections: 8, trustedProxies: [] }, (address) => address === "127.0.0.9");
  const listening = once(server.listen(0, "0.0.0.0"), "listening");
  after(() => server.close().closeAllConnections());

  /** A connection that asks once and stays; undefined where it was closed instead. */
  async function open(localAddress: string): Promise<Socket | undefined> {
    await listening;
    const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const answer = await Promise.race([once(socket, "data"), once(socket, "close")]);
    return String(answer[0]).startsWith(ANSWER) ? socket : undefined;
  }

  test("are bounded by network and in total, and released when they end", async () => {
    const first = await open("127.0.0.2");
    assert.ok(first);
    assert.ok(await open("127.0.0.2"));
    assert.equal(await open("127.0.0.2"), undefined);
    assert.ok(await open("127.0.0.3"));
    first.destroy();
    await until("its place is free", async () => (await open("127.0.0.2")) !== undefined);
    for (let proxied = 0; proxied < 5; proxied++) assert.ok(await open("127.0.0.9"));
    assert.equal(await open("127.0.0.9"), undefined);
    assert.equal(await open("127.0.0.4"), undefined);
  });
});
