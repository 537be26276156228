import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningServer, startServer } from "#test/support/server.ts";

/** A request whose head is sent, while the test decides when the body follows. */
async function begin(server: RunningServer, username: string) {
  const body = JSON.stringify({
    username,
    name: "In flight",
    email: `${username}@example.com`,
    force_random_password: true,
  });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  await once(socket, "connect");
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
  const closed = once(socket, "close");
  socket.write(
    `POST /api/v4/users HTTP/1.1\r\nhost: 127.0.0.1\r\nprivate-token: ${server.token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  );
  return {
    async finish() {
      socket.write(body.slice(10));
      await closed;
      return received;
    },
    async cutOff() {
      await closed;
      return received;
    },
  };
}

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A server that only this test uses and may stop. */
async function served(work: (server: RunningServer) => Promise<void>) {
  const server = await startServer();
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

describe("graceful stop", { concurrency: true }, () => {
  test("SIGTERM: the request in flight completes, no new one is accepted, the process exits with 0", () =>
    served(async (server) => {
      const request = await begin(server, "in-flight");
      // Once the server has answered a request on another connection, the head has arrived.
      assert.equal((await fetch(`${server.url}/-/liveness`)).status, 200);
      const stopped = server.exited();
      process.kill(server.pid, "SIGTERM");
      const began = Date.now();
      let status: number | "refused" = 200;
      while (status === 200 && Date.now() - began < 60_000) {
        status = await fetch(`${server.url}/-/readiness`).then(
          (answer) => answer.status,
          () => "refused" as const,
        );
        await sleep(20);
      }
      assert.ok(status === 503 || status === "refused", String(status));
      assert.ok(isRunning(server.pid), "it waits for the request in flight");
      const answer = await request.finish();
      assert.match(answer, /^HTTP\/1\.1 201 /);
      assert.match(answer, /\r\nconnection: close\r\n/i);
      assert.match(answer, /"username":"in-flight"/);
      assert.deepEqual(await stopped, { code: 0, signal: null });
      // What does not end is aborted after ten seconds.
      assert.ok(Date.now() - began < 9_500, "nothing else holds it up");
      assert.match(server.log(), /"signal":"SIGTERM","msg":"stopping"/);
      assert.match(server.log(), /"operation":"users\.create","status":201/);
    }));

  test("a request that does not end is aborted after ten seconds", () =>
    served(async (server) => {
      const request = await begin(server, "never-ends");
      assert.equal((await fetch(`${server.url}/-/liveness`)).status, 200);
      const began = Date.now();
      const stopped = server.exited();
      process.kill(server.pid, "SIGTERM");
      assert.deepEqual(await stopped, { code: 0, signal: null });
      const took = Date.now() - began;
      assert.ok(took > 9000 && took < 60_000, `${took} ms`);
      assert.doesNotMatch(await request.cutOff(), /^HTTP\/1\.1 201/);
    }));
});
