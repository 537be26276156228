import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { pino } from "pino";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { testDatabase } from "#test/support/postgres.ts";
import { openDatabase, type Databases } from "./database.ts";

describe("parsing of PostgreSQL's values", () => {
  let db: Databases;
  before(async () => {
    db = openDatabase({ url: await testDatabase(), log: pino({ level: "silent" }), ...PATIENT_DATABASE });
  });
  after(() => db.close());

  const valueOf = async (expression: string) => {
    const { rows } = await sql<{ value: unknown }>`select ${sql.raw(expression)} as value`.execute(db.read);
    return rows[0]?.value;
  };

  const cases: [expression: string, value: unknown][] = [
    ["9007199254740991::bigint", 9007199254740991],
    ["array[1, null, 3]::bigint[]", [1, null, 3]],
    ["timestamptz '2026-11-15 01:54:42.123+00'", "2026-11-15T01:54:42.123Z"],
    ["timestamptz '2026-11-15 01:54:42.12+00'", "2026-11-15T01:54:42.120Z"],
    ["timestamptz '2026-11-15 01:54:42.1+00'", "2026-11-15T01:54:42.100Z"],
    ["timestamptz '2026-11-15 01:54:42+00'", "2026-11-15T01:54:42.000Z"],
    ["timestamptz '2026-11-15 01:54:42.1234+00'", "2026-11-15T01:54:42.123Z"],
    ["timestamptz '2026-11-15 01:54:42.123456+00'", "2026-11-15T01:54:42.123Z"],
    ["timestamptz '2026-11-15 01:54:42+05:30'", "2026-11-14T20:24:42.000Z"],
    ["timestamptz '0001-01-01 00:00:00+00'", "0001-01-01T00:00:00.000Z"],
    ["timestamptz 'infinity'", null],
    ["timestamptz '-infinity'", null],
    ["array[timestamptz '2026-11-15 01:54:42+00', null]", ["2026-11-15T01:54:42.000Z", null]],
    ["date '2026-11-15'", "2026-11-15"],
    ["array[date '2026-11-15']", ["2026-11-15"]],
    ["1.50::numeric", "1.50"],
    ["inet '10.0.0.1'", "10.0.0.1"],
    ["'{\"a\": [1, null]}'::jsonb", { a: [1, null] }],
    ["'\\x00ff'::bytea", Buffer.from([0, 255])],
    ["array['a', 'b\"c']", ["a", 'b"c']],
    ["true", true],
    ["null::timestamptz", null],
  ];
  for (const [expression, value] of cases) {
    it(`${expression} is ${JSON.stringify(value)}`, async () => assert.deepEqual(await valueOf(expression), value));
  }

  it("formats any time as JavaScript does", async () => {
    const { rows } = await sql<{ time: string; ms: number }>`
      select time, (extract(epoch from time) * 1000)::bigint as ms
      from (select (timestamptz '1970-01-01 00:00:00+00' + random() * interval '200 years')::timestamptz(3) as time
            from generate_series(1, 1000)) times`.execute(db.read);
    assert.equal(rows.length, 1000);
    for (const { time, ms } of rows) assert.equal(time, new Date(ms).toISOString());
  });

  it("refuses a time outside the years 1 to 9999", () =>
    assert.rejects(valueOf("timestamptz '10000-01-01 00:00:00+00'")));
});
