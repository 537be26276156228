import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { memoryBudget } from "./memory-budget.ts";

const of = (principal: string | undefined, network = "192.0.2.1") => ({ principal, network });

describe("memory that is held for callers", () => {
  test("is bounded for each principal and each network, to a quarter of the total", () => {
    const budget = memoryBudget(400);
    budget.charge(of("user 1"), 60);
    assert.equal(budget.hasRoom(of("user 1", "192.0.2.2"), 40), true);
    assert.equal(budget.hasRoom(of("user 1", "192.0.2.2"), 41), false);
    assert.equal(budget.hasRoom(of("user 2"), 41), false);
    assert.equal(budget.hasRoom(of(undefined), 40), true);
    assert.equal(budget.hasRoom(of("user 2", "192.0.2.2"), 100), true);
  });

  test("is bounded in total", () => {
    const budget = memoryBudget(400);
    for (let user = 0; user < 4; user++) budget.charge(of(`user ${user}`, `192.0.2.${user}`), 100);
    assert.equal(budget.hasRoom(of("user 9", "192.0.2.9"), 1), false);
  });

  test("admits one response of any size for a caller who holds nothing, and frees it on release", () => {
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
