import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { begin, served, untilRefused } from "./stop.fixtures.ts";

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("graceful stop", { concurrency: true }, () => {
  test("SIGTERM: the request in flight completes, no new one is accepted, the process exits with 0", () =>
    served(async (server) => {
      const request = await begin(server, "in-flight");
      // Once the server has answered a request on another connection, the head has arrived.
      assert.equal((await fetch(`${server.url}/-/liveness`)).status, 200);
      const stopped = server.exited();
      process.kill(server.pid, "SIGTERM");
      const status = await untilRefused(server);
      assert.ok(status === 503 || status === "refused", String(status));
      assert.ok(isRunning(server.pid), "it waits for the request in flight");
      const answer = await request.finish();
      assert.match(answer, /^HTTP\/1\.1 201 /);
      assert.match(answer, /\r\nconnection: close\r\n/i);
      assert.match(answer, /"username":"in-flight"/);
      assert.deepEqual(await stopped, { code: 0, signal: null });
      assert.match(server.log(), /"signal":"SIGTERM","msg":"stopping"/);
      assert.match(server.log(), /"operation":"users\.create","status":201/);
    }));

  test("SIGTERM: a request that does not end is aborted, the process exits with 0", () =>
    served(async (server) => {
      const request = await begin(server, "never-ends");
      assert.equal((await fetch(`${server.url}/-/liveness`)).status, 200);
      const stopped = server.exited();
      process.kill(server.pid, "SIGTERM");
      assert.deepEqual(await stopped, { code: 0, signal: null });
      assert.doesNotMatch(await request.cutOff(), /^HTTP\/1\.1 201/);
    }));
});
