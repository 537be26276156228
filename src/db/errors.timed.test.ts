import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sql } from "kysely";
import { pino } from "pino";
import { testDatabase } from "#test/support/postgres.ts";
import { openDatabase } from "./database.ts";
import { refusalOf } from "./errors.ts";

describe("errors of the database", () => {
  it("refuses when every connection is in use for two seconds", async () => {
    const narrow = openDatabase({ url: await testDatabase(), log: pino({ level: "silent" }), poolSize: 1 });
    const began = performance.now();
    const error = await narrow.transaction(() => sql`select 1`.execute(narrow.read).catch((reason: unknown) => reason));
    const waited = performance.now() - began;
    assert.equal(refusalOf(error)?.kind, "unavailable");
    assert.ok(waited > 1_900, `${waited} ms`);
    await narrow.close();
  });
});
