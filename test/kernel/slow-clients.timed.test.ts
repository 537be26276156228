import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { listen } from "#test/support/wire.ts";
import { appWith, RATE } from "./slow-clients.fixtures.ts";

describe("responses to slow clients", () => {
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
});
