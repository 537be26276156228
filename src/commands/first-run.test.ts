import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fairlead, fairleadProcess, start, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const statusOf = async (address: string, token: string) =>
  (await fetch(`${address}/api/v4/user`, { headers: { "private-token": token } })).status;
const ADDRESS = /"msg":"Fairlead is at (http:[^"]+)"/;

describe("first run", () => {
  test("on an empty directory: a PostgreSQL of its own, the address and the token once, and what to do next", () =>
    withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATA_DIR: join(directory, "data"), FAIRLEAD_PORT: "0" };
      const first = start(["serve"], env);
      const [, address = ""] = await first.says(ADDRESS);
      const [, token = ""] = await first.says(/^Token \(shown only now\): (flpat-\S+)$/m);
      assert.match(first.stderr(), new RegExp(`curl --header "PRIVATE-TOKEN: ${token}" ${address}/api/v4/user`));
      assert.match(first.stderr(), new RegExp(`${address}/-/api`));
      const answer = await fetch(`${address}/api/v4/user`, { headers: { "private-token": token } });
      const root = (await answer.json()) as Record<string, unknown>;
      assert.equal(root["id"], 1);
      assert.equal(root["username"], "root");
      assert.equal(root["is_admin"], true);
      assert.equal(root["created_by"], null);
      assert.equal(((await stat(join(directory, "data/sealing.key"))).mode & 0o777).toString(8), "600");

      const doctor = await fairlead(["doctor"], env);
      assert.equal(doctor.code, 0, doctor.stdout);
      assert.match(doctor.stdout, /No problems found\./);
      assert.match(doctor.stdout, /trial server/);
      const isRoot = process.getuid?.() === 0;
      assert.match(doctor.stdout, isRoot ? /^WARN This is running as root/m : /^ok +Runs as user \d+$/m);
      const setup = await fairlead(["setup"], env);
      assert.equal(setup.code, 0);
      assert.match(setup.stdout, /Users already exist/);
      const stopped = await first.stop();
      assert.equal(stopped.code, 0);
      const logged = stopped.stdout.trimEnd().split("\n");
      for (const line of logged) assert.equal(typeof JSON.parse(line).time, "string", "standard output is JSON");
      assert.equal(logged.join("").includes("Fairlead is running as root"), isRoot);
      assert.ok(logged.length > 0 && !logged.join("").includes(token), "the log holds no token");

      const second = start(["serve"], env);
      const [, again = ""] = await second.says(ADDRESS);
      assert.equal(await statusOf(again, token), 200, "the data is still there");
      const { stdout, stderr, code } = await second.stop();
      assert.equal(code, 0);
      assert.doesNotMatch(stdout + stderr, /flpat-|shown only now|first administrator/);
    }));

  test("a given token opens the first administrator's account and is never printed", () =>
    withDirectory(async (directory) => {
      const token = randomBytes(24).toString("base64url");
      const env = {
        FAIRLEAD_DATA_DIR: directory,
        FAIRLEAD_PORT: "0",
        FAIRLEAD_DATABASE_URL: await freshDatabase(),
        FAIRLEAD_ROOT_TOKEN: token,
      };
      const first = start(["serve"], env);
      const [, address = ""] = await first.says(ADDRESS);
      assert.equal(await statusOf(address, token), 200);
      const headers = { "private-token": token };
      const revoked = await fetch(`${address}/api/v4/personal_access_tokens/self`, { method: "DELETE", headers });
      assert.equal(revoked.status, 204);
      const ended = await first.stop();
      assert.ok(!`${ended.stdout}${ended.stderr}`.includes(token));

      const second = start(["serve"], env);
      const [, again = ""] = await second.says(ADDRESS);
      assert.equal(await statusOf(again, token), 401, "a revoked token is not revived");
      await second.stop();
    }));

  test("weak tokens and passwords are refused, and nothing is made", () =>
    withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATA_DIR: directory, FAIRLEAD_PORT: "0", FAIRLEAD_DATABASE_URL: await freshDatabase() };
      for (const [name, value, run = fairlead] of [
        ["FAIRLEAD_ROOT_TOKEN", "short-secret", fairleadProcess],
        ["FAIRLEAD_ROOT_TOKEN", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
        ["FAIRLEAD_ROOT_TOKEN", "two words of which each is long enough"],
        ["FAIRLEAD_ROOT_PASSWORD", "Ab3$xyz"],
        ["FAIRLEAD_ROOT_PASSWORD", "my-password-is-long"],
      ] as const) {
        const { code, stdout, stderr } = await run(["setup"], { ...env, [name]: value });
        assert.equal(code, 1, value);
        assert.match(stderr, new RegExp(`^fairlead: ${name} `, "m"));
        assert.ok(!`${stdout}${stderr}`.includes(value), "it is not repeated");
      }
      const setup = await fairlead(["setup"], env);
      assert.equal(setup.code, 0);
      assert.match(setup.stdout, /Token \(shown only now\): flpat-/, "the database was still empty");
    }));

  test("two processes that start at once make one administrator", () =>
    withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATA_DIR: directory, FAIRLEAD_PORT: "0", FAIRLEAD_DATABASE_URL: await freshDatabase() };
      const both = await Promise.all([fairleadProcess(["setup"], env), fairleadProcess(["setup"], env)]);
      assert.deepEqual(
        both.map(({ code }) => code),
        [0, 0],
      );
      assert.equal(both.filter(({ stdout }) => stdout.includes("shown only now")).length, 1);
    }));
});
