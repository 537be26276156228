import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { makeLimiter, refuseOverBudget, takeBudget } from "./rate-limits.ts";

const MINUTE = 60_000;

describe("the limiter", () => {
  test("counts each caller separately, and from 0 in every minute", () => {
    let now = 100 * MINUTE + 59_999;
    const limiter = makeLimiter(() => now);
    assert.deepEqual(limiter.take("a", "n", 5), { name: "n", limit: 5, observed: 1, reset: 101 * 60 });
    assert.equal(limiter.take("a", "n", 5).observed, 2);
    assert.equal(limiter.take("b", "n", 5).observed, 1);
    now += 1;
    assert.deepEqual(limiter.take("a", "n", 5), { name: "n", limit: 5, observed: 1, reset: 102 * 60 });
  });

  test("drains only changed counts, with their full value", () => {
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

  test("adds the counts of other processes until the minute ends", () => {
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

  test("many callers evict the oldest counts, but no exhausted budget", () => {
    const limiter = makeLimiter(() => 0, 10);
    limiter.take("old", "n", 5);
    for (let n = 0; n < 6; n++) limiter.take("used up", "n", 5);
    for (let n = 0; n < 10; n++) limiter.take(`caller ${n}`, "n", 5);
    assert.equal(limiter.take("used up", "n", 5).observed, 7);
    assert.equal(limiter.take("caller 9", "n", 5).observed, 2);
    assert.equal(limiter.take("caller 1", "n", 5).observed, 2);
    assert.equal(limiter.take("old", "n", 5).observed, 1);
    assert.equal(limiter.take("caller 0", "n", 5).observed, 1, "it was the oldest when the old one came again");
  });

  test("the number of counts is bounded", () => {
    const limiter = makeLimiter(() => 0, 10);
    for (let n = 0; n < 1000; n++) limiter.take(`caller ${n}`, "n", 5);
    for (let n = 0; n < 1000; n++) for (let taken = 0; taken < 5; taken++) limiter.take(`used up ${n}`, "n", 5);
    limiter.setOthers(0, new Map(Array.from({ length: 1000 }, (_, n) => [`other ${n}`, 1])));
    assert.ok(limiter.drain().counts.size <= 20);
    assert.equal(limiter.take("other 0", "n", 5).observed, 1);
    assert.equal(limiter.take("other 999", "n", 5).observed, 2);
  });

  test("anonymous requests are counted by the network of their address", () => {
    const limiter = makeLimiter(() => 0);
    const config = readConfig({});
    for (const limit of ["api", "git", "ingestion", "sign-in"] as const) {
      const observed = (address: string) => takeBudget(limiter, config, limit, undefined, address).observed;
      assert.equal(observed("2001:db8:1:2::1"), 1, limit);
      assert.equal(observed("2001:db8:1:2:3:4:5:6"), 2, limit);
      assert.equal(observed("2001:0DB8:0001:0002::1"), 3, limit);
      assert.equal(observed("2001:db8:1:3::1"), 1, limit);
      assert.equal(observed("192.0.2.1"), 1, limit);
      assert.equal(observed("::ffff:192.0.2.1"), 2, limit);
      assert.equal(observed("::FFFF:c000:201"), 3, limit);
      assert.equal(observed("::ffff:192.0.2.2"), 1, limit);
    }
  });

  test("Retry-After is in whole seconds and at least one", () => {
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

  test("signing in is counted by address for every caller, and by network for IPv6", () => {
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
