import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { TSchema } from "typebox";
import Value from "typebox/value";
import { type Operation, operationsOf } from "#http/app.ts";
import { pathNames, plainOf, schemaOf, successOf } from "#http/endpoint.ts";
import { pagedOf, paramsOf } from "#http/route.ts";
import { resources } from "#domains/index.ts";
import { type Answer, runAll } from "#test/matrix/requests.ts";
import { callers } from "#test/matrix/callers.ts";
import { type Cell, cellsOf, keyOf } from "#test/matrix/cells.ts";
import { lines } from "#test/matrix/lines.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

/** Rules for every operation; valid requests come from the lines of the matrix. */
describe("every endpoint", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp();
    world = await makeWorld(app);
  });
  after(() => app.close());

  const ask = (cells: readonly Cell[]) => runAll(app.app, world, cells);

  async function auditRows(answers: readonly Answer[]) {
    const ids = answers.map(({ headers }) => String(headers["x-request-id"]));
    const { rows } = await sql<AuditRow>`select event, actor_id, actor_name, sudo_actor_id, target_type, target_id,
      host(ip_address) as ip, request_id from audit_events where request_id = any(${ids})`.execute(
      app.services.db.write,
    );
    return rows;
  }

  for (const operation of operationsOf(resources)) {
    const { endpoint } = operation;
    const schema = schemaOf(endpoint.returns);
    const writes = endpoint.method !== "GET";

    describe(keyOf(operation), () => {
      let accepted: Promise<Answer[]> | undefined;
      const askInOrder = () => (accepted ??= ask(inOrder(operation)));

      test("states what it does, who may call it and its parameters", () => {
        assert.match(endpoint.summary, /^[A-Z].{5,}[^.]$/);
        assert.match(endpoint.access.rule, /^[a-z].+[^.]$/);
        for (const name of pathNames(endpoint.path)) assert.ok(name in endpoint.params.properties, name);
        assert.equal(endpoint.audit !== undefined, writes, "writes name their audit event, reads have none");
        if (typeof endpoint.audit === "string") assert.match(endpoint.audit, /^[a-z_]+$/);
      });

      test("declares every field of its response", () => {
        assert.ok(schema || plainOf(endpoint.returns) || successOf(endpoint) === 204);
        assert.deepEqual(schema ? openObjects(schema) : [], []);
      });

      test("responds to each caller with exactly what it declares", async () => {
        const answers = await askInOrder();
        assert.equal(answers.length === 0, isTriedBeside(operation), "nobody may call it");
        for (const { cell, status, headers, payload, problem } of answers) {
          assert.equal(problem, undefined, cell.caller.name);
          assert.equal(status, successOf(endpoint));
          if (schema) {
            assert.equal(headers["content-type"], "application/json");
            const body: unknown = JSON.parse(payload);
            assert.deepEqual([...Value.Errors(schema, body)].slice(0, 3), [], cell.caller.name);
          } else if (plainOf(endpoint.returns)) {
            assert.ok(headers["content-type"]);
            assert.notEqual(payload, "");
          } else {
            assert.equal(payload, "");
            assert.equal(headers["content-type"], undefined);
          }
        }
      });

      test("refuses a list or a hash in place of a single value", async () => {
        const cell = asAdministrator(operation);
        const wrong = Object.entries(paramsOf(endpoint).properties)
          .filter(([name]) => !pathNames(endpoint.path).includes(name))
          .flatMap(([name, property]) => wrongBrackets(property).map((bracket) => ({ name, bracket })));
        const answers = await ask(
          wrong.map(({ name, bracket }) => withParams(cell, { [name]: undefined, [name + bracket]: "1" })),
        );
        assert.equal(answers.length, wrong.length);
        for (const [index, { status, payload }] of answers.entries()) {
          const { name = "", bracket = "" } = wrong[index] ?? {};
          assert.equal(status, 400, `${name}${bracket}: ${payload}`);
          const told = endpoint.errors === "git" ? payload : (JSON.parse(payload) as { error: string }).error;
          assert.match(told, new RegExp(`\\b${name}\\b`));
        }
      });

      if (pagedOf(endpoint.returns)) {
        test("pages", async () => {
          const { line, ...cell } = { ...asAdministrator(operation), owner: "own" } as const;
          // A search by name would find a single row.
          const { container, ...plain } = line;
          const all = { ...cell, line: container?.foundBy ? plain : line };
          const answers = await ask(["1", "2"].map((page) => withParams(all, { per_page: "1", page })));
          const firsts = answers.map(({ payload, headers }, index) => {
            const items = JSON.parse(payload) as object[];
            assert.equal(items.length, 1);
            assert.equal(headers["x-per-page"], "1");
            assert.equal(headers["x-page"], String(index + 1));
            assert.equal(headers["x-next-page"], String(index + 2));
            assert.match(String(headers["link"]), /rel="next".*rel="first"/);
            assert.equal(headers["x-total-pages"], headers["x-total"]);
            return items[0];
          });
          assert.notDeepEqual(firsts[0], firsts[1]);
        });
      }

      const { user } = lines[keyOf(operation)] ?? {};
      if (typeof user === "object" && user[1] === 404) {
        test("hides another user's object as if it did not exist", async () => {
          const [foreign, missing] = await ask(
            cellsIn(operation).filter(
              ({ caller, scopes, owner, badParameter }) =>
                caller.name === "user" && scopes?.[0] === "api" && owner !== "own" && !badParameter,
            ),
          );
          assert.ok(foreign && missing);
          assert.equal(foreign.status, 404);
          assert.equal(foreign.payload, missing.payload);
          assert.deepEqual(withoutIds(foreign.headers), withoutIds(missing.headers));
        });
      }

      if (typeof endpoint.audit === "string") {
        test("leaves one row in the audit log, and none if it is refused", async () => {
          const answers = await askInOrder();
          assert.equal(answers.length === 0, isTriedBeside(operation), "nobody may call it");
          const rows = await auditRows(answers);
          assert.equal(rows.length, answers.length);
          for (const { cell, headers } of answers) {
            const row = rows.find(({ request_id }) => request_id === headers["x-request-id"]);
            const token = world.accounts.get(cell.caller.name);
            const sudo = cell.caller.sudo?.as;
            const acting = sudo === undefined || sudo === "missing" ? token : world.targets[sudo];
            assert.ok(row);
            assert.equal(row.event, endpoint.audit);
            const { role, carrier } = cell.caller;
            const anonymous = role === "anonymous" || (carrier === "session" && endpoint.access.signsIn === true);
            // The author is the user who signs in, even if the request carries a token.
            const signsIn = endpoint.audit === "user_signed_in";
            assert.equal(row.actor_id, signsIn ? row.target_id : anonymous ? null : acting?.id);
            if (!signsIn) assert.equal(row.actor_name, anonymous ? "" : acting?.username);
            assert.equal(row.sudo_actor_id, sudo === undefined || signsIn ? null : token?.id);
            assert.equal(row.ip, cell.caller.loopback ? "127.0.0.1" : "203.0.113.7");
            assert.equal(Boolean(row.target_type && row.target_id), endpoint.audit !== "password_reset_asked");
          }
          const refused = await ask(
            cellsIn(operation).filter(({ expected, scopes }) => Number(expected) >= 400 && scopes?.[0] === "api"),
          );
          assert.notEqual(refused.length, 0);
          // A revoked token on a rotate path is refused, but revoking its family is an event.
          const left = (await auditRows(refused)).filter(({ event }) => event !== "personal_access_token_reused");
          assert.deepEqual(left, []);
        });
      }
    });
  }
});

interface AuditRow {
  readonly event: string;
  readonly actor_id: number | null;
  readonly actor_name: string;
  readonly sudo_actor_id: number | null;
  readonly target_type: string | null;
  readonly target_id: number | null;
  readonly ip: string;
  readonly request_id: string;
}

/** The cells of an operation that are sent as they are meant to be: in a public container, by an Owner and by all others. */
function cellsIn(operation: Operation): Cell[] {
  const line = lines[keyOf(operation)];
  assert.ok(line, `no line for ${keyOf(operation)}`);
  return cellsOf(operation, line).filter(
    ({ verb, form, visibility, caller }) =>
      verb === operation.endpoint.method &&
      form === "plain" &&
      visibility === "public" &&
      (callers.includes(caller) || caller.name === "owner"),
  );
}

/** Those that succeed, for every caller with access, on their own objects and on others. */
const inOrder = (operation: Operation): Cell[] =>
  cellsIn(operation).filter(
    ({ expected, scopes }) => Number(expected) < 400 && (scopes === undefined || scopes[0] === "api"),
  );

/** Whether it needs more than a line can send, such as a code; its own tests cover that. */
function isTriedBeside(operation: Operation): boolean {
  const { anonymous, user, administrator, session = 400 } = lines[keyOf(operation)] ?? {};
  return [anonymous, user, administrator, session].flat().every((status) => status !== undefined && status >= 400);
}

/** One that succeeds as an administrator, or could with the right code. */
function asAdministrator(operation: Operation): Cell {
  const cells = isTriedBeside(operation) ? cellsIn(operation) : inOrder(operation);
  const cell = cells.find(
    ({ caller: { role, sudo }, scopes = ["api"] }) => role === "administrator" && !sudo && scopes[0] === "api",
  );
  assert.ok(cell, "an administrator may not call it");
  return cell;
}

/** The same cell with other parameters; undefined ones are removed. */
function withParams(cell: Cell, changes: Readonly<Record<string, string | undefined>>): Cell {
  const params = new URLSearchParams(cell.line.send);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) params.delete(name);
    else params.set(name, value);
  }
  return { ...cell, line: { ...cell.line, send: params.toString() } };
}

/** The objects in a schema that allow undeclared fields; a map declares the type of its values instead. */
function openObjects(schema: TSchema, place = "answer"): string[] {
  const {
    type,
    additionalProperties,
    patternProperties,
    properties = {},
    items,
    anyOf = [],
  } = schema as {
    type?: string;
    additionalProperties?: unknown;
    patternProperties?: unknown;
    properties?: Record<string, TSchema>;
    items?: TSchema;
    anyOf?: TSchema[];
  };
  return [
    ...(type === "object" && additionalProperties !== false && !patternProperties ? [place] : []),
    ...Object.entries(properties).flatMap(([name, field]) => openObjects(field, `${place}.${name}`)),
    ...(items ? openObjects(items, `${place}[]`) : []),
    ...anyOf.flatMap((option) => openObjects(option, place)),
  ];
}

/** The ways to send a parameter with the wrong type. */
function wrongBrackets(schema: TSchema): string[] {
  const { type, anyOf = [] } = schema as { type?: string; anyOf?: TSchema[] };
  const types = [type, ...anyOf.map((option) => (option as { type?: string }).type)];
  return [...(types.includes("array") ? [] : ["[]"]), ...(types.includes("object") ? [] : ["[x]"])];
}

function withoutIds({ date: _, "x-request-id": __, ...headers }: Answer["headers"]) {
  return headers;
}
