import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { watchTransfers } from "./transfer-rate.ts";

const RATE = { minBytes: 1000, windowMs: 600 };

describe("the lowest rate of a transfer", () => {
  /** Watches a transfer for some windows, in each of which the peer takes this many bytes. */
  function windows(t: test.TestContext, count: number, bytesEach: number, isWaiting = true) {
    t.mock.timers.enable({ apis: ["setInterval"] });
    let bytes = 0;
    let ended = 0;
    const stop = watchTransfers([{ bytes: () => bytes, isWaiting: () => isWaiting }], () => ended++, RATE);
    for (let window = 0; window < count; window++) {
      bytes += bytesEach;
      t.mock.timers.tick(RATE.windowMs);
    }
    stop();
    t.mock.timers.reset();
    return ended;
  }

  test("a peer above it is not ended, in any number of windows", (t) => {
    assert.equal(windows(t, 50, RATE.minBytes), 0);
  });

  test("a peer below it is ended, but not one that waits for us", (t) => {
    assert.equal(windows(t, 1, 0), 1);
    assert.equal(windows(t, 50, 0, false), 0);
  });
});
