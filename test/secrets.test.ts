import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import { operationsOf } from "#http/app.ts";
import { plainOf, schemaOf } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { type Answer, runAll } from "#test/matrix/requests.ts";
import { type Cell, cellsOf, keyOf } from "#test/matrix/cells.ts";
import { lines } from "#test/matrix/lines.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { oneOfEach } from "./access/support.ts";

const PASSWORD = "Canary-Sings-At-Dawn-77";
const DIGEST = "canary-digest-of-a-password";
const CALLERS = [
  "anonymous",
  "user",
  "administrator",
  "unknown token",
  "revoked token",
  "blocked",
  "administrator for a user",
];
const TOKEN = /flpat-[\w-]{20,}/;

/** Calls every endpoint as callers of every kind, with valid and invalid requests, and searches all responses and logs. */
describe("secrets are not disclosed", () => {
  let app: TestApp;
  let world: World;
  let answers: Answer[];

  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
    await app.services.db.write.updateTable("users").set({ password_digest: DIGEST }).execute();
    const cells = operationsOf(resources).flatMap((operation) => {
      const line = lines[keyOf(operation)];
      assert.ok(line, `no line for ${keyOf(operation)}`);
      const takesPassword = "password" in operation.endpoint.params.properties;
      const given = takesPassword ? { ...line, send: `${line.send ?? ""}&password=${PASSWORD}` } : line;
      const cells = cellsOf(operation, given).filter(
        ({ caller, scopes }) => CALLERS.includes(caller.name) && (scopes === undefined || scopes[0] === "api"),
      );
      // Whatever the visibility and state of a project, the same status has the same fields. Another verb or form of the
      // path is answered by the router, or like the plain one: each endpoint is tried with it by one caller.
      const isUsual = ({ verb, form }: Cell) => verb === operation.endpoint.method && form === "plain";
      const kindOf = ({ caller, owner, verb, form, broken, expected }: Cell) => [
        verb,
        form,
        broken,
        expected,
        owner,
        caller.name,
      ];
      return [
        ...oneOfEach(cells.filter(isUsual), kindOf),
        ...oneOfEach(
          cells.filter((cell) => !isUsual(cell)),
          (cell) => kindOf(cell).slice(0, 4),
        ),
      ];
    });
    answers = await runAll(app.app, world, cells);
    const carried = `flpat-${"canary".repeat(5)}`;
    await app.get(`/users?private_token=${carried}`);
    await app.get(`/users?access_token=${carried}&${carried}=1`);
    await app.get(`/users/${carried}`, { headers: { authorization: `Bearer ${carried}` } });
    await app.get(`/personal_access_tokens/${carried}`, { token: carried, headers: { sudo: carried } });
    await app.post("/users", { payload: { private_token: carried, password: PASSWORD } });
    await app.get(`/nowhere/${carried}?x=${carried}`, { headers: { authorization: `Basic ${btoa(`x:${carried}`)}` } });
  });
  after(() => app.close());

  const digests = () => {
    const digest = tokenDigest(world.otherUser.token);
    return [digest, Buffer.from(digest, "hex").toString("base64")];
  };

  test("responses contain no password, no digest, and a token only when it was just created", () => {
    const secrets = [PASSWORD, DIGEST, "argon2", ...digests()];
    for (const { cell, payload, headers } of answers) {
      const text = `${payload} ${JSON.stringify(headers)}`;
      const place = `${keyOf(cell.operation)} as ${cell.caller.name}`;
      for (const secret of secrets) assert.ok(!text.includes(secret), `${place} shows ${secret}`);
      const makesToken =
        "token" in ((schemaOf(cell.operation.endpoint.returns) as { properties?: object })?.properties ?? {});
      if (!makesToken) assert.doesNotMatch(text, TOKEN, place);
    }
    const made = answers.filter(({ payload }) => TOKEN.test(payload));
    assert.notEqual(made.length, 0, "no answer held a token, so nothing was looked for");
  });

  test("only administrators see the address of another user", () => {
    const told = answers.filter(({ payload }) => payload.includes(world.otherUser.email));
    assert.notEqual(told.length, 0);
    for (const { cell } of told) assert.equal(cell.caller.name, "administrator", keyOf(cell.operation));
  });

  test("the log contains none", () => {
    const text = app.logged.join("");
    assert.ok(app.logged.length > answers.length);
    for (const secret of [PASSWORD, DIGEST, "argon2", "canarycanary", ...digests()])
      assert.ok(!text.includes(secret), secret);
    assert.doesNotMatch(text, TOKEN);
  });

  test("the log of a failure contains nothing of the row that failed", async () => {
    const before = app.logged.length;
    await sql`alter table users add constraint made_by_test check (bio <> 'break') not valid`.execute(
      app.services.db.write,
    );
    const token = world.accounts.get("administrator")?.token;
    const { status, text } = await app.put(`/users/${world.otherUser.id}`, { token, payload: { bio: "break" } });
    assert.equal(status, 500);
    assert.equal(text, '{"message":"500 Internal Server Error"}');
    const logged = app.logged.slice(before).join("");
    assert.match(logged, /made_by_test/);
    for (const secret of [DIGEST, world.otherUser.email]) assert.ok(!logged.includes(secret), secret);
  });

  test("the audit log contains none", async () => {
    const { rows } = await sql<{ text: string }>`select audit_events::text as text from audit_events`.execute(
      app.services.db.write,
    );
    assert.notEqual(rows.length, 0);
    const text = rows.map((row) => row.text).join("\n");
    for (const secret of [PASSWORD, DIGEST, "argon2", ...digests()]) assert.ok(!text.includes(secret), secret);
    assert.doesNotMatch(text, TOKEN);
  });

  test("refusals have one of the known shapes and reveal no internals", () => {
    const refused = answers.filter(({ status, cell }) => status >= 400 && cell.verb !== "HEAD");
    assert.notEqual(refused.length, 0);
    for (const { payload, cell, headers } of refused) {
      if (plainOf(cell.operation.endpoint.returns)?.contentType === headers["content-type"]) continue;
      assert.doesNotMatch(payload, /\bat \/|select |insert |\/home|node_modules|ECONN/i, keyOf(cell.operation));
      if (cell.operation.endpoint.errors === "git" && headers["content-type"] === "text/plain") continue;
      assert.equal(headers["content-type"], "application/json");
      const body = JSON.parse(payload) as Record<string, unknown>;
      const shape = Object.keys(body).join(" ");
      assert.match(shape, /^(message|error|error error_description( scope)?)$/, keyOf(cell.operation));
    }
  });
});
