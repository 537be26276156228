import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { fairlead, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { startSmtp } from "#test/support/smtp.ts";

const GOOD = "correct-horse-battery";
const LINK = /^http:\/\/127\.0\.0\.1:8080(\/-\/account\/password\?token=([\w-]{43}))\n$/;

describe("fairlead invite", () => {
  let databaseUrl: string;
  let app: TestApp;
  before(async () => {
    databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
  });
  after(() => app.close());

  const run = (directory: string, args: string[], env = {}) =>
    fairlead(["invite", ...args], { FAIRLEAD_DATABASE_URL: databaseUrl, FAIRLEAD_DATA_DIR: directory, ...env });
  const eventsOf = async (username: string) => {
    const { rows } = await sql<{ event: string; command: string }>`
      select event, details->>'command' as command from audit_events where target_name = ${username} order by id`.execute(
      app.services.db.write,
    );
    return rows;
  };

  test("creates an account and prints only the link to choose its password by", () =>
    withDirectory(async (directory) => {
      const made = await run(directory, ["ada", "--email", "ada@example.com", "--name", "Ada"]);
      assert.equal(made.code, 0, made.stderr);
      const [, path = "", token = ""] = LINK.exec(made.stdout) ?? [];
      assert.match(made.stderr, /ada chooses a password, once, until \d{4}-/);
      assert.doesNotMatch(made.stderr, /mailed|token/);
      assert.match((await app.get(path)).text, /Your username is ada\./);
      const form = { token, password: GOOD, password_again: GOOD };
      assert.equal((await app.post("/-/account/password", { payload: form })).status, 200);
      const { status, body } = await app.post("/session", { payload: { login: "ada", password: GOOD } });
      assert.equal(status, 201);
      assert.equal(body.user.name, "Ada");
      assert.deepEqual((await eventsOf("ada")).slice(0, 2), [
        { event: "user_created", command: "invite" },
        { event: "user_invited", command: "invite" },
      ]);
      const again = await run(directory, ["ada"]);
      assert.equal(again.code, 1);
      assert.match(again.stderr, /has signed in before/);
    }));

  test("issues a new link for somebody who never signed in, which ends the old one", () =>
    withDirectory(async (directory) => {
      const user = await app.makeUser();
      const [first, second] = [await run(directory, [user.username]), await run(directory, [user.username])];
      const open = async (stdout: string) => (await app.get(LINK.exec(stdout)?.[1] ?? "")).status;
      assert.deepEqual([await open(first.stdout), await open(second.stdout)], [404, 200]);
    }));

  test("queues a letter where there is a mail server", () =>
    withDirectory(async (directory) => {
      const smtp = await startSmtp();
      try {
        const { stderr } = await run(directory, ["mel", "--email", "mel@example.com"], {
          FAIRLEAD_SMTP_URL: smtp.url,
        });
        assert.match(stderr, /also mailed to mel@example\.com/);
        const { rows } = await sql<{ kind: string }>`
          select data->'payload'->>'kind' as kind from jobs.job j join users u on u.username = 'mel'
          where j.name = 'mail' and data->'payload'->>'userId' = u.id::text`.execute(app.services.db.write);
        assert.deepEqual(rows, [{ kind: "invitation" }]);
      } finally {
        await smtp.close();
      }
    }));

  test("says what is wrong, and creates nothing then", () =>
    withDirectory(async (directory) => {
      const user = await app.makeUser();
      for (const [args, problem] of [
        [[], /usage: fairlead invite/],
        [["a", "b"], /usage: fairlead invite/],
        [["nobody-yet"], /there is no user 'nobody-yet'; --email ADDRESS creates the account/],
        [[user.username, "--email", "x@example.com"], /has an account already: leave --email and --name out/],
        [["nobody-yet", "--email", "no address"], /email .*invalid/],
        [["nobody-yet", "--email", user.email], /Email has already been taken/],
        [["nobody-yet", "--nonsense"], /nonsense/],
      ] as const) {
        const { code, stdout, stderr } = await run(directory, [...args]);
        assert.equal(code, 1, args.join(" "));
        assert.match(stderr, problem);
        assert.equal(stdout, "");
      }
      assert.deepEqual(await eventsOf("nobody-yet"), []);
      const { body } = await app.get("/users?username=nobody-yet");
      assert.deepEqual(body, []);
    }));
});
