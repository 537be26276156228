import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { takeTurns, takeTurnsByKey } from "./turns.ts";

describe("turns", () => {
  test("so many run at once, the others one after the other, and an error ends only its own", async () => {
    const inTurn = takeTurns(2);
    let running = 0;
    let most = 0;
    const work = (fails: boolean) => async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      if (fails) throw new Error("no");
      return "done";
    };
    const ends = await Promise.allSettled(Array.from({ length: 7 }, (_, i) => inTurn(work(i % 3 === 0))));
    assert.equal(most, 2);
    assert.equal(running, 0);
    assert.deepEqual(
      ends.map(({ status }) => status),
      ["rejected", "fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled", "rejected"],
    );
    assert.equal(await inTurn(work(false)), "done");
  });

  test("where too many wait, the next is refused", async () => {
    const inTurn = takeTurns(1, 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = inTurn(() => promise);
    const second = inTurn(async () => {});
    await assert.rejects(
      inTurn(async () => {}),
      { kind: "unavailable" },
    );
    resolve();
    await Promise.all([first, second]);
  });

  test("of each key one runs at a time, in order, whatever those of other keys do", async () => {
    const inTurn = takeTurnsByKey(2);
    const { promise, resolve } = Promise.withResolvers<void>();
    const order: string[] = [];
    const work = (name: string, wait?: Promise<void>) => async () => {
      await wait;
      order.push(name);
    };
    const all = [inTurn("a", work("a1", promise)), inTurn("a", work("a2")), inTurn("a", work("a3"))];
    await assert.rejects(inTurn("a", work("a4")), { kind: "unavailable" });
    await inTurn("b", work("b1"));
    assert.deepEqual(order, ["b1"]);
    resolve();
    await Promise.all(all);
    await inTurn("a", work("a5"));
    assert.deepEqual(order, ["b1", "a1", "a2", "a3", "a5"]);
  });
});
