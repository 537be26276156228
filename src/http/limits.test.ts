import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { makeLimiter, refuseOverBudget, takeBudget } from "./limits.ts";

const MINUTE = 60_000;

describe("the limiter", () => {
  test("counts each caller by itself, and anew with every minute", () => {
    let now = 100 * MINUTE + 59_999;
    const limiter = makeLimiter(() => now);
    assert.deepEqual(limiter.take("a", "n", 5), { name: "n", limit: 5, observed: 1, reset: 101 * 60 });
    assert.equal(limiter.take("a", "n", 5).observed, 2);
    assert.equal(limiter.take("b", "n", 5).observed, 1);
    now += 1;
    assert.deepEqual(limiter.take("a", "n", 5), { name: "n", limit: 5, observed: 1, reset: 102 * 60 });
  });

  test("hands on only what changed, and whole counts", () => {
    const limiter = makeLimiter(() => 0);
    limiter.take("a", "n", 5);
    limiter.take("b", "n", 5);
    assert.deepEqual(
      limiter.drain().counts,
      new Map([
        ["a", 1],
        ["b", 1],
      ]),
    );
    assert.equal(limiter.drain().counts.size, 0);
    limiter.take("a", "n", 5);
    assert.deepEqual(limiter.drain().counts, new Map([["a", 2]]));
  });

  test("adds what others counted in this minute, keeps it, and forgets it with the minute", () => {
    let now = 7 * MINUTE;
    const limiter = makeLimiter(() => now);
    limiter.take("a", "n", 5);
    limiter.setOthers(7, new Map([["a", 10]]));
    limiter.setOthers(7, new Map([["b", 1]]));
    limiter.setOthers(6, new Map([["a", 99]]));
    assert.equal(limiter.take("a", "n", 5).observed, 12);
    now += MINUTE;
    assert.equal(limiter.take("a", "n", 5).observed, 1);
  });

  test("many callers do not fill the memory", () => {
    const limiter = makeLimiter(() => 0);
    for (let n = 0; n < 200_500; n++) limiter.take(`caller ${n}`, "n", 5);
    assert.ok(limiter.drain().counts.size < 1000);
  });

  test("the wait is in whole seconds and at least one", () => {
    const over = { name: "n", limit: 1, observed: 2, reset: 120 };
    const waitAt = (now: number) => {
      try {
        refuseOverBudget(over, "api", now);
      } catch (error) {
        return (error as { details: { retryAfter: number } }).details.retryAfter;
      }
      return undefined;
    };
    assert.equal(waitAt(60_500), 60);
    assert.equal(waitAt(119_999), 1);
    assert.equal(waitAt(125_000), 1);
    assert.doesNotThrow(() => refuseOverBudget({ ...over, observed: 1 }, "api", 0));
  });

  test("signing in is counted by address, whoever asks, and by the network of an IPv6 address", () => {
    const limiter = makeLimiter(() => 0);
    const config = readConfig({});
    const observed = (address: string, userId?: number) => takeBudget(limiter, config, "sign-in", userId, address);
    assert.deepEqual(observed("192.0.2.1"), { name: "throttle_sign_in", limit: 20, observed: 1, reset: 60 });
    assert.equal(observed("192.0.2.1", 7).observed, 2);
    assert.equal(observed("192.0.2.2").observed, 1);
    assert.equal(observed("::ffff:192.0.2.3").observed, 1);
    assert.equal(observed("::ffff:192.0.2.4").observed, 1);
    for (const [turn, address] of [
      "2001:db8:1:2::1",
      "2001:db8:1:2:3:4:5:6",
      "2001:db8:1:2:ffff::",
      "2001:db8:1:2::",
    ].entries())
      assert.equal(observed(address).observed, turn + 1, address);
    for (const [turn, address] of ["2001:db8:1::1", "2001:db8:1:0:9::", "2001:db8:1::2:3:4:5"].entries())
      assert.equal(observed(address).observed, turn + 1, address);
    assert.equal(observed("::1").observed, 1);
    assert.equal(observed("fe80::1%eth0").observed, 1);
    assert.equal(
      takeBudget(limiter, config, "api", undefined, "192.0.2.1").observed,
      1,
      "other requests are not in it",
    );
  });
});
