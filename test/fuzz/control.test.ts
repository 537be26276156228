import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import { fuzz, REPORTED_AS } from "./control.ts";
import { EARLY_PLANTS, PLANTS } from "./plants.ts";

/** A few defects at small endpoints; `npm run test:fuzz -- --plants` finds all of them. */
const FEW = ["leak-token", "wrong-shape", "wrong-type"];
const OPERATIONS = "^(versions|users.current$)";

describe("The fuzzer", () => {
  let postgres = "";
  before(async () => {
    postgres = process.env[POSTGRES_VARIABLE] ?? (await startTestPostgres());
  });

  test("finds planted defects", async () => {
    const report = await fuzz(
      postgres,
      ...["--cases", "300", "--seed", "1", "--operations", OPERATIONS, "--plant", FEW.join(",")],
    );
    assert.ok(report.isRed, report.text);
    for (const name of FEW) assert.match(report.causes, REPORTED_AS[name] ?? /$^/);
  });

  test("refuses a plant that it does not know", async () => {
    const { code } = await fuzz(postgres, "--plant", "no-such-plant");
    assert.notEqual(code, 0);
  });

  test("has a line of the report for every plant", () => {
    assert.deepEqual(Object.keys(REPORTED_AS).toSorted(), Object.keys({ ...PLANTS, ...EARLY_PLANTS }).toSorted());
  });
});
