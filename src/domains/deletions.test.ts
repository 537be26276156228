import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { Outcome } from "#domains/foundation/deletions/deletions.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { contracts } from "#test/support/contracts.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { deletions } from "./index.ts";

/** Columns that end in `_id`, with the action of their foreign key: PostgreSQL's letter, or null without one. */
interface IdColumn {
  readonly name: string;
  readonly target: string | null;
  readonly action: string | null;
}

const TARGETS = ["users", "namespaces", "projects", "repositories"];

/** What the foreign key must do for an outcome; where our code acts first, any action will do. */
const ACTIONS: Partial<Record<Outcome, string>> = { cascade: "c", "set null": "n" };

/** What domains say in their lists, and what resources that only cascade say in their contracts. */
const outcomes: Readonly<Record<string, Outcome>> = {
  ...deletions.columns,
  ...Object.fromEntries(contracts.flatMap(({ cascades = [] }) => cascades.map((name) => [name, "cascade" as const]))),
};

describe("deletions", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
  });
  after(() => app.close());

  const idColumns = async () => {
    const { rows } = await sql<IdColumn>`
      select t.relname || '.' || a.attname as name, f.confrelid::regclass::text as target, f.confdeltype as action
      from pg_class t
        join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
        left join pg_constraint f on f.conrelid = t.oid and f.contype = 'f' and f.conkey = array[a.attnum]
      where t.relnamespace = 'public'::regnamespace and t.relkind in ('r', 'p') and not t.relispartition
        and (f.oid is not null or (a.atttypid = 'bigint'::regtype and a.attname like '%\\_id'))
      order by name`.execute(app.services.db.write);
    return rows;
  };

  /** Columns that name a user, namespace, project or repository, or may, and that no domain takes care of. */
  const unclaimed = async () =>
    (await idColumns())
      .filter(({ target }) => target === null || TARGETS.includes(target))
      .map(({ name }) => name)
      .filter((name) => !(name in outcomes));

  test("every column that names a user, namespace, project or repository has an outcome", async () => {
    assert.deepEqual(await unclaimed(), []);
  });

  test("a new foreign key, and a new id without one, are reported until a domain claims them", async () => {
    const { write } = app.services.db;
    await sql`create table planted (author_id bigint references users, reader_id bigint, text_id text)`.execute(write);
    assert.deepEqual(await unclaimed(), ["planted.author_id", "planted.reader_id"]);
    await sql`drop table planted`.execute(write);
  });

  test("each outcome is of a column that exists, and what the database does is what it says", async () => {
    const known = new Map((await idColumns()).map((column) => [column.name, column]));
    for (const [name, outcome] of Object.entries(outcomes)) {
      const column = known.get(name);
      assert.ok(column, `${name} does not exist`);
      const action = ACTIONS[outcome];
      if (action !== undefined) assert.equal(column.action, action, `${name} says ${outcome}`);
    }
  });
});
