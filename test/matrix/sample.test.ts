import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import { type Cell, cellsOf, linesOf } from "./cells.ts";
import { isAllowed, isRefused, sampleOf } from "./sample.ts";

const ONE_IN = 8;
const SEEDS = [1, 2, 3, 4];

describe("a sample of the matrix", () => {
  const whole = operationsOf(resources).map((operation) =>
    linesOf(operation).flatMap((line) => cellsOf(operation, line)),
  );
  const samplesBy = (seed: number) => whole.map((cells, index) => sampleOf(cells, { oneIn: ONE_IN, seed }, index));
  const samples = samplesBy(1);

  test("holds about one in so many cells", () => {
    const part = samples.flat().length / whole.flat().length;
    assert.ok(Math.abs(part - 1 / ONE_IN) < 0.01, `${part}`);
  });

  test("is the same for the same seed and differs by the seed", () => {
    const taken = new Set(samples.flat());
    assert.equal(new Set(samplesBy(1).flat()).difference(taken).size, 0);
    const others = new Set(samplesBy(2).flat()).difference(taken);
    assert.ok(others.size > taken.size / 2, `${others.size}`);
  });

  test("keeps an allowed and a refused cell of each endpoint", () => {
    for (const [index, cells] of whole.entries())
      for (const isWanted of [isAllowed, isRefused])
        assert.equal(samples[index]?.some(isWanted), cells.some(isWanted), cells[0]?.operation.name ?? "");
  });

  test("meets each caller, verb, form, visibility, state and scope about as often as the whole does", () => {
    const several = SEEDS.flatMap((seed) => samplesBy(seed).flat());
    for (const kindOf of [
      ({ caller }: Cell) => caller.name,
      ({ verb, form }: Cell) => `${verb} ${form}`,
      ({ visibility, state, owner }: Cell) => `${visibility} ${state} ${owner}`,
      ({ scopes }: Cell) => scopes?.join(" ") ?? "none",
    ]) {
      const taken = Map.groupBy(several, kindOf);
      for (const [kind, cells] of Map.groupBy(whole.flat(), kindOf)) {
        const drawn = cells.length * SEEDS.length;
        const part = (taken.get(kind)?.length ?? 0) / drawn;
        // Among so many kinds, each new endpoint draws anew: six standard deviations do not come by chance.
        const chance = 6 * Math.sqrt((1 / ONE_IN) * (1 - 1 / ONE_IN) * (1 / drawn));
        assert.ok(Math.abs(part - 1 / ONE_IN) <= chance, `${kind}: ${part} of ${drawn}`);
      }
    }
  });
});
