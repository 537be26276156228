import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { fairlead, withDirectory } from "#test/support/command.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("commands", () => {
  let databaseUrl: string;
  let app: TestApp;
  before(async () => {
    databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
  });
  after(() => app.close());

  test("without one, or with an unknown one, the list of them", async () => {
    for (const args of [[], ["help"], ["--help"]]) {
      const { code, stdout } = await fairlead(args, {});
      assert.equal(code, 0);
      for (const name of ["serve", "web", "setup", "token", "invite", "admin", "migrate", "doctor", "config", "seed"]) {
        assert.match(stdout, new RegExp(`^  ${name} +\\S`, "m"));
      }
    }
    const { code, stderr } = await fairlead(["sail"], {});
    assert.equal(code, 1);
    assert.match(stderr, /^fairlead: 'sail' is not a command$/m);
  });

  test("config prints every setting with its value, of secrets only that they are set", async () => {
    const { code, stdout } = await fairlead(["config"], {
      FAIRLEAD_PORT: "4711",
      FAIRLEAD_ROOT_TOKEN: "a-secret-that-nobody-sees",
      FAIRLEAD_ALLOWED_HOSTS: "a.example, b.example",
    });
    assert.equal(code, 0);
    assert.match(stdout, /^FAIRLEAD_PORT=4711$/m);
    assert.match(stdout, /^FAIRLEAD_ROOT_TOKEN=\(set\)$/m);
    assert.match(stdout, /^FAIRLEAD_ALLOWED_HOSTS=a\.example,b\.example$/m);
    assert.match(stdout, /^FAIRLEAD_PLAN=ultimate$/m);
    assert.ok(!stdout.includes("a-secret-that-nobody-sees"));
  });

  test("an unknown or impossible setting stops every command before it does anything", async () => {
    for (const [env, problem] of [
      [{ FAIRLEAD_PROT: "1" }, /FAIRLEAD_PROT is not a setting/],
      [{ FAIRLEAD_PORT: "many" }, /FAIRLEAD_PORT must be a whole number/],
      [{ FAIRLEAD_PLAN: "gold" }, /FAIRLEAD_PLAN must be one of free, premium, ultimate/],
    ] as const) {
      const { code, stderr } = await fairlead(["config"], env);
      assert.equal(code, 1);
      assert.match(stderr, problem);
    }
    const { code } = await fairlead(["serve"], { FAIRLEAD_PROT: "1" });
    assert.equal(code, 1);
  });

  test("migrate brings a database up to date, and says when it is", async () => {
    const empty = await freshDatabase();
    const own = await testApp({ databaseUrl: empty });
    await sql`drop schema public, jobs cascade`.execute(own.services.db.write);
    await sql`create schema public`.execute(own.services.db.write);
    await own.close();
    const env = { FAIRLEAD_DATABASE_URL: empty };
    const first = await fairlead(["migrate"], env);
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, /^Applied 0001_/m);
    const second = await fairlead(["migrate"], env);
    assert.equal(second.stdout, "The database is up to date.\n");
  });

  test("setup makes the first administrator once; token create makes more tokens", () =>
    withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATABASE_URL: databaseUrl, FAIRLEAD_DATA_DIR: directory };
      const first = await fairlead(["setup"], env);
      assert.equal(first.code, 0);
      const [, token = ""] = /^Token \(shown only now\): (\S+)$/m.exec(first.stdout) ?? [];
      const { body } = await app.get("/personal_access_tokens/self", { token });
      assert.ok(body.scopes.includes("sudo") && body.scopes.includes("api"));
      const second = await fairlead(["setup"], env);
      assert.equal(second.code, 0);
      assert.doesNotMatch(second.stdout, /flpat-/);

      const made = await fairlead(
        ["token", "create", "--user", "ROOT", "--name", "mine", "--scopes", "read_api, sudo"],
        env,
      );
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stdout, /^flpat-\S+\n$/, "only the token, so that a script can use it");
      const self = await app.get("/personal_access_tokens/self", { token: made.stdout.trim() });
      assert.equal(self.body.name, "mine");
      assert.deepEqual(self.body.scopes, ["read_api", "sudo"]);
      const { rows } = await sql<{ event: string; details: object }>`
        select event, details from audit_events
        where target_type = 'PersonalAccessToken' and target_id = ${self.body.id}`.execute(app.services.db.write);
      const details = { user_id: 1, scopes: ["read_api", "sudo"], command: "token create" };
      assert.deepEqual(rows, [{ event: "personal_access_token_created", details }]);

      for (const [args, problem] of [
        [["token", "create"], /usage: fairlead token create/],
        [["token", "--user", "root"], /usage: fairlead token create/],
        [["token", "create", "--user", "nobody"], /there is no user 'nobody'/],
        [["token", "create", "--user", "root", "--scopes", "all"], /'all' is not a scope/],
        [["token", "create", "--user", "root", "--expires", "someday"], /fairlead: /],
        [["token", "create", "--user", "root", "--nonsense"], /nonsense/],
      ] as const) {
        const { code, stdout, stderr } = await fairlead(args, env);
        assert.equal(code, 1, args.join(" "));
        assert.match(stderr, problem);
        assert.equal(stdout, "");
        assert.doesNotMatch(stderr, /\n {4}at /, "no stack");
      }
    }));

  test("doctor says what is wrong and what to do, and ends with 1", () =>
    withDirectory(async (directory) => {
      const fresh = await freshDatabase();
      const env = { FAIRLEAD_DATABASE_URL: fresh, FAIRLEAD_DATA_DIR: directory };
      const bad = await fairlead(["doctor"], env);
      assert.equal(bad.code, 1);
      assert.match(bad.stdout, /^BAD +There is no sealing key/m);
      assert.match(bad.stdout, /^BAD +There is no administrator; run: fairlead setup$/m);
      assert.match(bad.stdout, /^Problems found: 2\.$/m);
      await fairlead(["setup"], env);
      const good = await fairlead(["doctor"], env);
      assert.equal(good.code, 0, good.stdout);
      assert.doesNotMatch(good.stdout, /^BAD/m);
      await chmod(join(directory, "sealing.key"), 0o644);
      assert.match((await fairlead(["doctor"], env)).stdout, /^BAD .*can be read by others/m);
      const away = await fairlead(["doctor"], { ...env, FAIRLEAD_DATABASE_URL: "postgres://nobody@127.0.0.1:1/x" });
      assert.equal(away.code, 1);
      assert.match(away.stdout, /^BAD +The database cannot be used: FAIRLEAD_DATABASE_URL: no PostgreSQL answers/m);
    }));

  test("web wants a database", () =>
    withDirectory(async (directory) => {
      const web = await fairlead(["web"], { FAIRLEAD_DATA_DIR: directory });
      assert.equal(web.code, 1);
      assert.match(web.stderr, /FAIRLEAD_DATABASE_URL/);
    }));
});
