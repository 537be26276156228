import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { TSchema } from "typebox";
import { type Operation, operationsOf } from "#http/app.ts";
import { pathNames, plainOf, schemaOf, successOf } from "#http/endpoint.ts";
import { pagedOf, paramsOf } from "#http/route.ts";
import { resources } from "#domains/index.ts";
import { runAll } from "#test/matrix/requests.ts";
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

  for (const operation of operationsOf(resources)) {
    const { endpoint } = operation;
    const schema = schemaOf(endpoint.returns);
    const writes = endpoint.method !== "GET";

    describe(keyOf(operation), () => {
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
    });
  }
});

/** The usual request of an administrator: one that succeeds, or could with the right code. */
function asAdministrator(operation: Operation): Cell {
  const line = lines[keyOf(operation)];
  assert.ok(line, `no line for ${keyOf(operation)}`);
  const cells = cellsOf(operation, line).filter(
    ({ verb, form, visibility, caller, scopes, badParameter }) =>
      verb === operation.endpoint.method &&
      form === "plain" &&
      visibility === "public" &&
      caller.name === "administrator" &&
      scopes?.[0] === "api" &&
      !badParameter,
  );
  const cell = cells.find(({ expected }) => Number(expected) < 400) ?? cells[0];
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
