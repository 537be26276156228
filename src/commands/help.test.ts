import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { Client } from "pg";
import { RELEASE } from "#lib/release.ts";
import { fairlead, fairleadProcess, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const program = join(import.meta.dirname, "../../bin/fairlead");

const commandNames = async () =>
  [...(await fairlead([], {})).stdout.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map(([, name = ""]) => name);

describe("help", () => {
  test("every command has --help, refuses unknown options, and creates nothing by either", () =>
    withDirectory(async (directory) => {
      const dataDir = join(directory, "data");
      const env = { FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_PORT: "0" };
      const names = await commandNames();
      assert.equal(names.length, 16);
      await Promise.all(
        names.map(async (name) => {
          const help = await fairleadProcess([name, "--help"], env);
          assert.deepEqual([help.code, help.stderr], [0, ""], name);
          assert.match(help.stdout, new RegExp(`^Usage: fairlead ${name}\\b[\\s\\S]*^  --help  `, "m"), name);
          const unknown = await fairlead([name, "--nonsense"], env);
          assert.deepEqual([unknown.code, unknown.stdout], [1, ""], name);
          const problem = `fairlead: Unknown option '--nonsense'; 'fairlead ${name} --help' lists what it takes\n`;
          assert.equal(unknown.stderr, problem);
        }),
      );
      assert.ok(!existsSync(dataDir));
    }));

  test("arguments that a command does not take are refused", async () => {
    for (const args of [
      ["serve", "now"],
      ["migrate", "back"],
      ["config", "FAIRLEAD_PORT"],
      ["doctor", "repositories"],
    ]) {
      const { code, stderr } = await fairlead(args, {});
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^fairlead: Unexpected argument '${args[1]}'`));
    }
    const token = await fairlead(["token", "create", "extra", "--user", "root"], {});
    assert.match(token.stderr, /usage: fairlead token create/);
  });

  test("--version prints the release", async () => {
    assert.deepEqual(await fairlead(["--version"], {}), { code: 0, stdout: `fairlead ${RELEASE}\n`, stderr: "" });
  });

  test("a reader that closes the pipe early ends a command quietly", async () => {
    const { stdout, stderr } = await promisify(execFile)("sh", [
      "-c",
      `"${program}" config | head -n 1; "${program}" config | true`,
    ]);
    assert.match(stdout, /^FAIRLEAD_DATABASE_URL=\n$/);
    assert.equal(stderr, "");
  });

  test("migrate --dry-run prints what would run and what it locks, and runs nothing", () =>
    withDirectory(async (directory) => {
      const url = await freshDatabase();
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query("drop schema public, jobs cascade; create schema public");
      const env = { FAIRLEAD_DATABASE_URL: url, FAIRLEAD_DATA_DIR: directory };
      const empty = await fairlead(["migrate", "--dry-run"], env);
      assert.equal(empty.code, 0, empty.stderr);
      assert.match(empty.stdout, /^0001_users_and_tokens\.sql would run; the rehearsal took \d+ ms\n {2}no lock/);
      assert.equal((await client.query("select to_regclass('users') as users")).rows[0].users, null);
      await client.end();
      assert.equal((await fairlead(["migrate"], env)).code, 0);
      const done = await fairlead(["migrate", "--dry-run"], env);
      assert.equal(done.stdout, "The database is up to date; nothing would run.\n");
      const none = await fairlead(["migrate", "--dry-run"], { FAIRLEAD_DATA_DIR: join(directory, "none") });
      assert.match(none.stdout, /^There is no database yet/);
      assert.ok(!existsSync(join(directory, "none")));
    }));
});
