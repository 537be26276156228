import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { until } from "#test/support/until.ts";
import { type Claim, fairSemaphore, mutexByKey, type Release, semaphore } from "./semaphore.ts";

describe("a semaphore", () => {
  test("limits how many run concurrently, and an error rejects only its own work", async () => {
    const run = semaphore(2);
    let running = 0;
    let most = 0;
    const work = (fails: boolean) => async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      if (fails) throw new Error("no");
      return "done";
    };
    const ends = await Promise.allSettled(Array.from({ length: 7 }, (_, i) => run(work(i % 3 === 0))));
    assert.equal(most, 2);
    assert.equal(running, 0);
    assert.deepEqual(
      ends.map(({ status }) => status),
      ["rejected", "fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled", "rejected"],
    );
    assert.equal(await run(work(false)), "done");
  });

  test("refuses work if too much waits", async () => {
    const run = semaphore(1, 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = run(() => promise);
    const second = run(async () => {});
    await assert.rejects(
      run(async () => {}),
      { kind: "unavailable" },
    );
    resolve();
    await Promise.all([first, second]);
  });

  test("runs the work of each key one at a time and in order, independently of other keys", async () => {
    const run = mutexByKey(2);
    const { promise, resolve } = Promise.withResolvers<void>();
    const order: string[] = [];
    const work = (name: string, wait?: Promise<void>) => async () => {
      await wait;
      order.push(name);
    };
    const all = [run("a", work("a1", promise)), run("a", work("a2")), run("a", work("a3"))];
    await assert.rejects(run("a", work("a4")), { kind: "unavailable" });
    await run("b", work("b1"));
    assert.deepEqual(order, ["b1"]);
    resolve();
    await Promise.all(all);
    await run("a", work("a5"));
    assert.deepEqual(order, ["b1", "a1", "a2", "a3", "a5"]);
  });
});

describe("a fair semaphore", () => {
  const claim = (queue: string, max = Infinity, rest: Partial<Claim> = {}): Claim => ({
    queue,
    shares: [{ name: queue, max }],
    ...rest,
  });

  /** Claims a slot and records the name of its queue once it is granted. */
  function book(limits: Parameters<typeof fairSemaphore>[0]) {
    const { acquire } = fairSemaphore(limits);
    const granted: string[] = [];
    const releases: Release[] = [];
    const wait = async (of: Claim) => {
      releases.push(await acquire(of));
      granted.push(of.queue);
    };
    return {
      acquire,
      wait,
      granted,
      /** Releases the slot that was granted first. */
      async release() {
        releases.shift()?.();
        await Promise.resolve();
      },
    };
  }
  const isBusy = { kind: "unavailable" };

  test("serves the queues in turn, so that a queue of 200 claims does not delay the first claim of another", async () => {
    const { wait, granted, release } = book({ slots: 1 });
    const all = Array.from({ length: 200 }, () => wait(claim("many")));
    all.push(wait(claim("few")), wait(claim("few")), wait(claim("one")));
    for (let at = 0; at < all.length; at++) {
      await until("the next is granted", async () => granted.length > at, undefined, 1);
      await release();
    }
    await Promise.all(all);
    assert.deepEqual(granted.slice(0, 7), ["many", "many", "few", "one", "many", "few", "many"]);
    assert.equal(granted.filter((name) => name === "many").length, 200);
  });

  test("grants slots that a full share may not hold to other claims at once", async () => {
    const { wait, granted, release } = book({ slots: 4 });
    const greedy = Array.from({ length: 3 }, () => wait(claim("greedy", 1)));
    await wait(claim("other", 1));
    assert.deepEqual(granted, ["greedy", "other"]);
    await release();
    await greedy[1];
    assert.deepEqual(granted, ["greedy", "other", "greedy"]);
    await release();
    await release();
    await Promise.all(greedy);
  });

  test("counts a claim in each of its shares", async () => {
    const { wait, granted, release } = book({ slots: 9 });
    const from = (principal: string, network: string): Claim => ({
      queue: principal,
      shares: [
        { name: principal, max: 2 },
        { name: network, max: 3 },
      ],
    });
    const all = ["a", "a", "a", "b", "b", "c"].map((principal) => wait(from(principal, "home")));
    await wait(from("d", "away"));
    assert.deepEqual(granted, ["a", "a", "b", "d"], "two of a principal, three of a network");
    await release();
    await until("the next of the network is granted", async () => granted.length === 5, undefined, 1);
    while (granted.length < all.length + 1) await release();
    await Promise.all(all);
    assert.deepEqual(granted.toSorted(), ["a", "a", "a", "b", "b", "c", "d"]);
  });

  test("refuses a claim if its queue or the total is full, while other queues still have room", async () => {
    const { wait, acquire, release } = book({ slots: 1, maxWaiting: 3, maxWaitingEach: 2 });
    await wait(claim("a"));
    const waiting = [wait(claim("a")), wait(claim("a"))];
    await assert.rejects(acquire(claim("a")), isBusy);
    waiting.push(wait(claim("b")));
    await assert.rejects(acquire(claim("c")), isBusy);
    for (let at = 0; at < 4; at++) await release();
    await Promise.all(waiting);
  });

  test("removes a claim that is aborted or waited too long, and serves the claims behind it", async () => {
    const { wait, acquire, granted, release } = book({ slots: 2, maxWaiting: 2 });
    const full = [{ name: "full", max: 1 }];
    await wait({ queue: "a", shares: full });
    const caller = new AbortController();
    const aborted = assert.rejects(acquire({ queue: "b", shares: full, signal: caller.signal }), /gone/);
    const behind = wait(claim("b"));
    caller.abort(new Error("gone"));
    await aborted;
    await behind;
    assert.deepEqual(granted, ["a", "b"]);
    await assert.rejects(acquire({ queue: "b", shares: [], signal: caller.signal }), /gone/);
    await release();
    await release();

    const hasty = fairSemaphore({ slots: 1, maxWaiting: 1, maxWaitMs: 10 });
    const held = await hasty.acquire(claim("a"));
    await assert.rejects(hasty.acquire(claim("b")), isBusy);
    const next = hasty.acquire(claim("b"));
    held();
    (await next)();
  });

  test("releases slots, shares and queue places however a claim ends", async () => {
    const { acquire } = fairSemaphore({ slots: 2, maxWaiting: 4, maxWaitingEach: 2 });
    const work = async (at: number) => {
      const caller = new AbortController();
      const acquired = acquire(claim(`queue ${at % 3}`, 1, { signal: caller.signal }));
      if (at % 4 === 0) caller.abort(new Error("gone"));
      const release = await acquired;
      await new Promise((resolve) => setImmediate(resolve));
      release();
      release();
    };
    for (let round = 0; round < 20; round++) {
      await Promise.allSettled(Array.from({ length: 30 }, (_, at) => work(at)));
    }
    const both = [await acquire(claim("queue 0", 1)), await acquire(claim("queue 1", 1))];
    let third = false;
    const waiting = acquire(claim("queue 2", 1)).then((release) => {
      third = true;
      release();
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(third, false, "a second release gave back nothing");
    for (const release of both) release();
    await waiting;
  });
});
