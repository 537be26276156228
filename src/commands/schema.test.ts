import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Client } from "pg";
import { fairlead, fairleadProcess, type Running, start, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";

const NEWER = /A newer version of Fairlead migrated the database \(9999_later\.sql\); start that version/;

async function database(statement: string): Promise<string> {
  const url = await freshDatabase();
  await execute(url, statement);
  return url;
}

async function execute(url: string, statement: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

const ask = async (address: string, path: string) => {
  const answer = await fetch(`${address}${path}`, { headers: { "private-token": "flpat-unknown-token-of-nobody" } });
  return { status: answer.status, text: await answer.text() };
};

const PATHS = [
  "/-/readiness",
  "/-/metrics",
  "/api/v4/users",
  "/api/v4/projects/1",
  "/a/b.git/info/refs?service=git-upload-pack",
];

const withWeb = (url: string, work: (web: Running, address: string, env: Record<string, string>) => Promise<void>) =>
  withDirectory(async (directory) => {
    const env = { FAIRLEAD_DATABASE_URL: url, FAIRLEAD_DATA_DIR: directory, FAIRLEAD_PORT: "0" };
    const web = start(["web"], env);
    const [, address = ""] = await web.says(/"msg":"Fairlead is at (http:[^"]+)"/);
    await work(web, address, env);
    assert.equal((await web.stop()).code, 0);
  });

const refuses = async (address: string, problem: RegExp) => {
  for (const path of PATHS) {
    const { status, text } = await ask(address, path);
    assert.equal(status, 503, path);
    assert.match(text, problem, path);
  }
  assert.equal((await ask(address, "/-/liveness")).status, 200);
};

describe("a schema that does not fit the code", () => {
  test("on an empty database web answers 503 with the reason, logs it once, and serves once it is migrated", async () => {
    const url = await database("drop schema public, jobs cascade; create schema public");
    await withWeb(url, async (web, address, env) => {
      await refuses(address, /The database has not been set up; run: fairlead migrate/);
      await refuses(address, /The database has not been set up/);
      assert.equal((await fairlead(["migrate"], env)).code, 0);
      await until("ready", async () => (await fetch(`${address}/-/readiness`)).status === 200);
      assert.equal((await ask(address, "/api/v4/users")).status, 401);
      await web.says(/"msg":"ready"/);
      assert.equal(web.stdout().split('"msg":"not ready"').length, 2, web.stdout());
      assert.doesNotMatch(web.stdout(), /"stack"|could not/);
    });
  });

  test("an older schema names the migration that is missing", async () => {
    const last = (await readdir(join(import.meta.dirname, "../../migrations"))).toSorted().at(-1);
    const url = await database(`delete from schema_migrations where name = '${last}'`);
    const lacks = new RegExp(`The database lacks ${last}; run: fairlead migrate`);
    await withWeb(url, async (_web, address, env) => {
      await refuses(address, lacks);
      for (const command of ["worker", "ssh"]) {
        const { code, stderr } = await fairleadProcess([command], env);
        assert.equal(code, 1, command);
        assert.match(stderr, new RegExp(`^fairlead: ${lacks.source}\n$`), command);
      }
    });
  });

  test("nothing starts on a newer schema, but what runs goes on", async () => {
    const later = "insert into schema_migrations (name, checksum) values ('9999_later.sql', 'unknown')";
    await withWeb(await database(later), async (_web, address, env) => {
      await refuses(address, NEWER);
      for (const command of ["serve", "worker", "ssh"]) {
        const { code, stderr } = await fairleadProcess([command], env);
        assert.equal(code, 1, command);
        assert.match(stderr, new RegExp(`^fairlead: ${NEWER.source}\n$`), command);
      }
    });
    const url = await freshDatabase();
    await withWeb(url, async (_web, address) => {
      await execute(url, later);
      assert.equal((await ask(address, "/-/readiness")).status, 401);
      assert.equal((await fetch(`${address}/-/readiness`)).status, 200);
    });
  });
});
