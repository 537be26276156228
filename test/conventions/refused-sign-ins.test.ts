import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { SIGN_IN_KINDS } from "#lib/refusal.ts";
import { makePerson, PASSWORD, signIn, tryToSignIn } from "#domains/identity/sessions/test-support.ts";
import { type Reply, type TestApp, testApp } from "#test/support/app.ts";
import { appCode } from "#test/support/totp.ts";

interface Line {
  readonly level: string;
  readonly kind: string;
  readonly ip: string;
  readonly reason: string;
  readonly request_id: string;
}

const ADDRESS = "203.0.113.7";
const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/running.md"), "utf8");

describe("refused sign-ins", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  /** The text of the one line that a refused request left, and what it says. */
  function refusalOf({ status, headers }: Reply) {
    assert.ok(status >= 400 && status < 500, String(status));
    const id = headers["x-request-id"] ?? "no id";
    const lines = app.logged.filter((line) => line.includes(id) && line.includes('"msg":"sign-in refused"'));
    assert.equal(lines.length, 1);
    return { text: lines[0] ?? "", line: JSON.parse(lines[0] ?? "") as Line };
  }

  function assertRefused(reply: Reply, kind: string, reason: string) {
    const { line } = refusalOf(reply);
    assert.deepEqual([line.level, line.kind, line.ip, line.reason], ["warn", kind, "127.0.0.1", reason]);
  }

  async function counted(kind: string): Promise<number> {
    const { text } = await app.get("/-/metrics");
    const [, count] = new RegExp(`^fairlead_sign_ins_refused_total\\{kind="${kind}"\\} (\\d+)$`, "m").exec(text) ?? [];
    return Number(count);
  }

  test("each kind counts from 0 and by 1", async () => {
    for (const kind of SIGN_IN_KINDS) assert.equal(await counted(kind), 0, kind);
    await app.get("/user", { token: "flpat-unknown" });
    assert.equal(await counted("token"), 1);
    await app.get("/user");
    assert.equal(await counted("token"), 1, "a request without credentials is no sign-in");
  });

  test("a token that is unknown, has expired, was revoked or is not the only one", async () => {
    const user = await app.makeUser();
    const expired = await app.makeToken(user.id, { expires_at: "2020-01-01" });
    const revoked = await app.makeToken(user.id, { revoked_at: "2020-01-01T00:00:00Z" });
    assertRefused(await app.get("/user", { token: "flpat-unknown" }), "token", "unknown token");
    assertRefused(await app.get("/user", { token: expired.token }), "token", "expired token");
    assertRefused(await app.get("/user", { token: revoked.token }), "token", "revoked token");
    const two = { token: user.token, headers: { authorization: "Bearer other" } };
    assertRefused(await app.get("/user", two), "token", "two different tokens");
    const blocked = await app.makeUser({ state: "blocked" });
    assertRefused(await app.get("/user", { token: blocked.token }), "token", "Your account has been blocked.");
  });

  test("git over HTTP with a wrong token, but not its first request without one", async () => {
    const user = await app.makeUser();
    const project = await app.post("/projects", { token: user.token, payload: { name: "Pier" } });
    const path = `/${project.body.path_with_namespace}.git/info/refs?service=git-upload-pack`;
    const ask = (headers: Record<string, string>) =>
      app.call("GET", new URL(path, "http://localhost").href, { headers });
    const basic = { authorization: `Basic ${Buffer.from("git:flpat-wrong").toString("base64")}` };
    assertRefused(await ask(basic), "git_http", "unknown token");
    const before = app.logged.length;
    assert.equal((await ask({})).status, 401);
    assert.ok(!app.logged.slice(before).join("").includes("sign-in refused"));
  });

  test("a password that is wrong, of nobody, or of an account that is locked or blocked", async () => {
    const person = await makePerson(app);
    assertRefused(await tryToSignIn(app, person.username, "wrong"), "password", "wrong password");
    assertRefused(await tryToSignIn(app, "nobody-of-that-name", "wrong"), "password", "unknown login");
    for (let attempt = 2; attempt <= 10; attempt++) await tryToSignIn(app, person.username, "wrong");
    assertRefused(await tryToSignIn(app, person.username, PASSWORD), "password", "locked account");
    const blocked = await makePerson(app, { state: "blocked" });
    const refused = await tryToSignIn(app, blocked.username, PASSWORD);
    assertRefused(refused, "password", "Your account has been blocked.");
    const expired = await makePerson(app, { password_expired: true });
    assertRefused(await tryToSignIn(app, expired.username, PASSWORD), "password", "expired password");
  });

  test("a second factor that is missing or wrong, at sign-in and later", async () => {
    const person = await makePerson(app);
    const { headers } = await signIn(app, person);
    const wrongPassword = { headers, payload: { current_password: "wrong" } };
    assertRefused(await app.post("/user/two_factor", wrongPassword), "password", "wrong password");
    const begun = await app.post("/user/two_factor", { headers, payload: { current_password: PASSWORD } });
    const enabled = await app.put("/user/two_factor", { headers, payload: { code: appCode(begun.body.secret) } });
    assert.equal(enabled.status, 200, enabled.text);
    assertRefused(await tryToSignIn(app, person.username, PASSWORD), "second_factor", "no code");
    const more = { otp_attempt: "000000x" };
    assertRefused(await tryToSignIn(app, person.username, PASSWORD, { more }), "second_factor", "wrong code");
    const wrongCode = { token: person.token, payload: { code: "000000x" } };
    assertRefused(await app.delete("/user/two_factor", wrongCode), "second_factor", "wrong code");
  });

  test("a session that ended or never was, and a request of another site", async () => {
    const person = await makePerson(app);
    const { headers } = await signIn(app, person);
    const foreign = { headers: { ...headers, "x-csrf-token": "forged" }, payload: { message: "x" } };
    assertRefused(await app.put("/user/status", foreign), "session", "not made by a page of this site");
    await sql`update sessions set ends_at = now() - interval '1 ms' where user_id = ${person.id}`.execute(
      app.services.db.write,
    );
    assertRefused(await app.get("/user", { headers }), "session", "ended session");
    await sql`delete from sessions where user_id = ${person.id}`.execute(app.services.db.write);
    assertRefused(await app.get("/user", { headers }), "session", "unknown session");
  });

  test("no secret or name that was tried gets into the log", async () => {
    const person = await makePerson(app);
    await tryToSignIn(app, "somebody-particular", "A-Secret-Of-Mine");
    await tryToSignIn(app, person.username, "A-Secret-Of-Mine");
    await app.get("/user", { token: "flpat-a-token-of-mine" });
    assert.doesNotMatch(app.logged.join(""), /somebody-particular|A-Secret-Of-Mine|a-token-of-mine/);
  });

  test("the filter for fail2ban in the guide finds the address in a line, and in no other line", async () => {
    const [, failregex = ""] = /^failregex = (.+)$/m.exec(guide) ?? [];
    const [, ignoreregex = ""] = /^ignoreregex = (.+)$/m.exec(guide) ?? [];
    const banned = (line: string) => {
      // fail2ban removes the time before it looks for a match.
      const text = line.trimEnd().replace(/"time":"[^"]*"/, "");
      if (new RegExp(ignoreregex).test(text)) return undefined;
      return new RegExp(failregex.replace("<ADDR>", "(?<address>[0-9a-fA-F.:]+)")).exec(text)?.groups?.["address"];
    };
    const refused = refusalOf(await app.get("/user", { token: "flpat-unknown", remoteAddress: ADDRESS }));
    assert.equal(banned(refused.text), ADDRESS);
    const ipv6 = refusalOf(await app.get("/user", { token: "flpat-unknown", remoteAddress: "2001:db8::7" }));
    assert.equal(banned(ipv6.text), "2001:db8::7");

    const before = app.logged.length;
    const forged = '/api/v4/x","kind":"token","ip":"198.51.100.9","reason":"x","msg":"sign-in refused"}';
    await app.call("GET", forged);
    await app.call("GET", encodeURI(forged));
    const person = await makePerson(app);
    await signIn(app, person);
    for (const line of app.logged.slice(before)) assert.equal(banned(line), undefined, line);
  });
});
