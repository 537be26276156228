import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fairlead, fairleadProcess, start, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";

/** What these take must not be left to the process of the test. */
const SERVING = new Set<string | undefined>(["serve", "web", "worker", "ssh"]);

describe("a start that cannot succeed says in one sentence which setting, what was seen and what to do", () => {
  let databaseUrl: string;
  before(async () => {
    databaseUrl = await freshDatabase();
  });

  const saysOnly = async (args: readonly string[], env: Record<string, string>, sentence: RegExp) => {
    const run = SERVING.has(args[0]) ? fairleadProcess : fairlead;
    const { code, stdout, stderr } = await run(args, { FAIRLEAD_PORT: "0", ...env });
    const what = `${args.join(" ")} ${JSON.stringify(env)}`;
    assert.equal(code, 1, what);
    assert.match(stderr, sentence, what);
    assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    assert.doesNotMatch(stdout, /Fairlead is at|"level":"(?:error|fatal)"/, what);
    assert.ok(!stderr.includes("s3cret"), "the password is not shown");
  };
  const changed = (parts: Partial<Record<"username" | "pathname", string>>) =>
    Object.assign(new URL(databaseUrl), parts).href;

  test("a database that cannot be used", () =>
    withDirectory(async (directory) => {
      const cases: [string, RegExp][] = [
        [
          "postgres://ada:s3cret@127.0.0.1:1/x",
          /^fairlead: FAIRLEAD_DATABASE_URL: no PostgreSQL answers at 127\.0\.0\.1:1 \(.*ECONNREFUSED.*\); start it/,
        ],
        [
          "postgres://ada:s3cret@localhost:1/x",
          /^fairlead: FAIRLEAD_DATABASE_URL: no PostgreSQL answers at localhost:1 \(.*ECONNREFUSED.*\); start it/,
        ],
        [
          "postgres://ada:s3cret@nowhere.invalid/x",
          /^fairlead: FAIRLEAD_DATABASE_URL: the host nowhere\.invalid cannot be found/,
        ],
        ["postgres://ada:s3cret@%2Fnone/x", /^fairlead: FAIRLEAD_DATABASE_URL: no PostgreSQL answers in \/none /],
        [
          changed({ username: "stranger" }),
          /^fairlead: FAIRLEAD_DATABASE_URL: PostgreSQL .* refused the user stranger \(role "stranger" does not exist\)/,
        ],
        [
          changed({ pathname: "/absent" }),
          /^fairlead: FAIRLEAD_DATABASE_URL: database "absent" does not exist .*; create it/,
        ],
      ];
      const commands = [
        ...[["serve"], ["migrate"], ["worker"], ["setup"], ["seed"], ["ssh"], ["jobs", "dead"]],
        ...[
          ["token", "create", "--user", "root"],
          ["authorized-keys", "ssh-ed25519", KEY],
        ],
      ];
      // All commands connect by one function, so each of them has one of the problems.
      for (const [index, args] of commands.entries()) {
        const [url, sentence] = cases[index % cases.length] ?? ["", /$^/];
        await saysOnly(args, { FAIRLEAD_DATABASE_URL: url, FAIRLEAD_DATA_DIR: join(directory, "data") }, sentence);
      }
      assert.ok(!existsSync(join(directory, "data")), "nothing was created");
    }));

  test("another kind of database, and what is no address", async () => {
    for (const url of ["mysql://ada:s3cret@127.0.0.1/x", "127.0.0.1/x", "postgres//ada:s3cret@host/x"])
      await saysOnly(
        ["serve"],
        { FAIRLEAD_DATABASE_URL: url },
        /^fairlead: Configuration: FAIRLEAD_DATABASE_URL must be like postgres:\/\//,
      );
  });

  test("a web process waits for its database, and does not tell callers where that is", () =>
    withDirectory(async (directory) => {
      const url = "postgres://ada:s3cret@127.0.0.1:1/x";
      const web = start(["web"], { FAIRLEAD_DATABASE_URL: url, FAIRLEAD_DATA_DIR: directory, FAIRLEAD_PORT: "0" });
      const [, address = ""] = await web.says(/"msg":"Fairlead is at (http:[^"]+)"/);
      const answer = await fetch(`${address}/-/readiness`);
      assert.equal(answer.status, 503);
      assert.deepEqual(await answer.json(), { message: "503 Service Unavailable - The database cannot be reached" });
      await web.says(/"reason":"FAIRLEAD_DATABASE_URL: no PostgreSQL answers at 127\.0\.0\.1:1 .*"msg":"not ready"/);
      await web.stop();
      assert.equal(web.stdout().split('"msg":"not ready"').length, 2);
    }));

  test("a data directory that cannot be created or written", () =>
    withDirectory(async (directory) => {
      const file = join(directory, "file");
      await writeFile(file, "");
      const sentence = /^fairlead: FAIRLEAD_DATA_DIR: .* cannot be used \(.*\); set it to a directory/;
      const unusable = [file, join(file, "below"), ...(process.platform === "linux" ? ["/proc/none/below"] : [])];
      // Each kind of directory is met by a command with a database and by one without.
      for (const [index, dataDir] of unusable.entries()) {
        const env = { FAIRLEAD_DATA_DIR: dataDir };
        await saysOnly([["serve", "setup", "migrate"][index] ?? ""], env, sentence);
        const another = ["web", "worker", "ssh"][index] ?? "";
        await saysOnly([another], { ...env, FAIRLEAD_DATABASE_URL: databaseUrl }, sentence);
      }
    }));

  test("a storage that cannot be written", () =>
    withDirectory(async (directory) => {
      const file = join(directory, "file");
      await writeFile(file, "");
      const env = {
        FAIRLEAD_DATABASE_URL: databaseUrl,
        FAIRLEAD_DATA_DIR: join(directory, "data"),
        FAIRLEAD_STORAGES: `default=${directory}/good,archive=${file}`,
      };
      for (const command of ["serve", "web", "worker", "ssh"])
        await saysOnly(
          [command],
          env,
          /^fairlead: FAIRLEAD_STORAGES: the storage archive cannot be written \(.*ENOTDIR.*\);/,
        );
    }));

  test("doctor changes nothing", () =>
    withDirectory(async (directory) => {
      const dataDir = join(directory, "data");
      const env = { FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_STORAGES: `default=${directory}/storage` };
      const without = await fairlead(["doctor"], env);
      assert.equal(without.code, 1);
      assert.match(without.stdout, /^BAD +There is no database yet/m);
      assert.match(without.stdout, /^ok +Storage default/m);
      await fairlead(["doctor"], { ...env, FAIRLEAD_DATABASE_URL: databaseUrl });
      assert.deepEqual(await readdir(directory), []);
      await mkdir(dataDir);
      await fairlead(["doctor"], env);
      assert.deepEqual(await readdir(directory, { recursive: true }), ["data"]);
    }));
});

const KEY = Buffer.concat([lengthPrefixed("ssh-ed25519"), lengthPrefixed(Buffer.alloc(32, 7))]).toString("base64");

function lengthPrefixed(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
