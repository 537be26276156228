import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { memoryBudget } from "./memory-budget.ts";

const of = (principal: string | undefined, network = "192.0.2.1") => ({ principal, network });

describe("memory that is held for callers", () => {
  test("is bounded by principal and by network, each a quarter of the whole", () => {
    const budget = memoryBudget(400);
    budget.charge(of("user 1"), 60);
    assert.equal(budget.hasRoom(of("user 1", "192.0.2.2"), 40), true);
    assert.equal(budget.hasRoom(of("user 1", "192.0.2.2"), 41), false);
    assert.equal(budget.hasRoom(of("user 2"), 41), false);
    assert.equal(budget.hasRoom(of(undefined), 40), true);
    assert.equal(budget.hasRoom(of("user 2", "192.0.2.2"), 100), true);
  });

  test("is bounded in all, however many hold it", () => {
    const budget = memoryBudget(400);
    for (let user = 0; user < 4; user++) budget.charge(of(`user ${user}`, `192.0.2.${user}`), 100);
    assert.equal(budget.hasRoom(of("user 9", "192.0.2.9"), 1), false);
  });

  test("lets whoever holds nothing have one answer, and is free once that was released", () => {
    const budget = memoryBudget(400);
    assert.equal(budget.hasRoom(of("user 1"), 300), true);
    const charge = budget.charge(of("user 1"), 300);
    assert.equal(budget.hasRoom(of("user 1"), 1), false);
    charge.resize(50);
    assert.equal(budget.hasRoom(of("user 1"), 50), true);
    charge.release();
    charge.release();
    assert.equal(budget.hasRoom(of("user 1"), 400), true);
  });
});
