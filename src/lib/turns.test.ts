import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { takeTurns } from "./turns.ts";

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
});
