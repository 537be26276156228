import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { begin, served, untilRefused } from "./stop.fixtures.ts";

describe("graceful stop", { concurrency: true }, () => {
  test("SIGTERM: once the request in flight is complete, the process exits at once", () =>
    served(async (server) => {
      const request = await begin(server, "in-flight");
      assert.equal((await fetch(`${server.url}/-/liveness`)).status, 200);
      const stopped = server.exited();
      process.kill(server.pid, "SIGTERM");
      const began = performance.now();
      await untilRefused(server);
      await request.finish();
      await stopped;
      // What does not end is aborted after ten seconds.
      assert.ok(performance.now() - began < 9_500, "nothing else holds it up");
    }));

  test("a request that does not end is aborted after ten seconds", () =>
    served(async (server) => {
      await begin(server, "never-ends");
      assert.equal((await fetch(`${server.url}/-/liveness`)).status, 200);
      const began = performance.now();
      const stopped = server.exited();
      process.kill(server.pid, "SIGTERM");
      await stopped;
      const took = performance.now() - began;
      assert.ok(took > 9000 && took < 60_000, `${took} ms`);
    }));
});
