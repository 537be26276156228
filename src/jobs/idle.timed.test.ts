import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { start, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const WINDOW_MS = 10_000;
const MAX_SETTLING_MS = 180_000;
const MAX_COMMITS = 4;

describe("an idle process", () => {
  test(`commits at most ${MAX_COMMITS} transactions a second`, () =>
    withDirectory(async (directory) => {
      const url = await freshDatabase();
      const serve = start(["serve"], {
        FAIRLEAD_DATABASE_URL: url,
        FAIRLEAD_DATA_DIR: directory,
        FAIRLEAD_PORT: "0",
        FAIRLEAD_SSH_PORT: "off",
      });
      await serve.says(/"msg":"working on /);
      const client = new Client({ connectionString: url });
      await client.connect();
      const commits = async () => {
        const text = "select xact_commit::float8 as commits from pg_stat_database where datname = current_database()";
        return (await client.query<{ commits: number }>(text)).rows[0]?.commits ?? Number.NaN;
      };
      // A process that has just started catches up, and PostgreSQL tidies up its new database.
      let rate = Infinity;
      const deadline = Date.now() + MAX_SETTLING_MS;
      while (!(rate <= MAX_COMMITS) && Date.now() < deadline) {
        const [before, began] = [await commits(), Date.now()];
        await sleep(WINDOW_MS);
        rate = ((await commits()) - before) / ((Date.now() - began) / 1000);
      }
      assert.ok(rate > 0 && rate <= MAX_COMMITS, `${rate} a second`);
      await client.end();
      await serve.stop();
    }));
});
