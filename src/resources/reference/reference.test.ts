import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { operationsOf } from "#http/app.ts";
import { openApiOf } from "#http/openapi.ts";
import { resources } from "#resources/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

const document = openApiOf(operationsOf(resources)) as any;
const operations: [path: string, operation: any][] = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
  Object.values(methods).map((operation): [string, any] => [path, operation]),
);

/** Every object in the document, with its place. */
function* nodes(node: unknown, place = "#"): Generator<[place: string, node: Record<string, unknown>]> {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) yield [place, node as Record<string, unknown>];
  for (const [key, value] of Object.entries(node)) yield* nodes(value, `${place}/${key}`);
}

const resolve = (reference: string) =>
  reference
    .slice(2)
    .split("/")
    .reduce((at: any, key) => at?.[key], document);

/** Every schema in the document, those inside others too. */
function* schemas(): Generator<[place: string, schema: Record<string, unknown>]> {
  for (const [place, node] of nodes(document)) {
    if (/\/(schema|items|additionalProperties|(schemas|properties)\/[^/]+|anyOf\/\d+)$/.test(place))
      yield [place, node];
  }
}

describe("the document of the whole API", () => {
  it("refers only to what is in it", () => {
    const references = [...nodes(document)].flatMap(([, { $ref }]) => (typeof $ref === "string" ? [$ref] : []));
    assert.ok(references.length > 100);
    assert.deepEqual(
      references.filter((reference) => resolve(reference) === undefined),
      [],
    );
  });

  it("holds no schema that nothing refers to", () => {
    const text = JSON.stringify(document);
    const references = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    const unused = references.filter((reference) => !text.includes(`"${reference}"`));
    assert.deepEqual(unused, []);
  });

  it("names each operation once and declares each name of a path", () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    assert.deepEqual(ids, [...new Set(ids)]);
    assert.equal(ids.length, operationsOf(resources).length);
    for (const [path, { operationId, parameters }] of operations) {
      const declared = parameters.map((given: any) => (given.$ref ? resolve(given.$ref) : given));
      const inPath = declared.filter((given: any) => given.in === "path");
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(
        inPath.map((given: any) => given.name),
        names,
        operationId,
      );
      assert.ok(
        inPath.every((given: any) => given.required === true),
        operationId,
      );
      const places = declared.map((given: any) => `${given.in} ${given.name}`);
      assert.deepEqual(places, [...new Set(places)], operationId);
      assert.ok(places.includes("query sudo"), operationId);
    }
  });

  it("has no two paths that differ only in the names of their parameters", () => {
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, "{}"));
    assert.deepEqual(shapes, [...new Set(shapes)]);
  });

  it("gives every operation a success, a description of each answer, and a token that is described", () => {
    for (const [, { operationId, responses, security }] of operations) {
      assert.ok(
        Object.keys(responses).some((status) => /^[23]\d\d$/.test(status)),
        operationId,
      );
      for (const answer of Object.values<any>(responses)) {
        assert.equal(typeof (answer.$ref ? resolve(answer.$ref) : answer).description, "string", operationId);
      }
      for (const scheme of security.flatMap(Object.keys))
        assert.ok(document.components.securitySchemes[scheme], scheme);
    }
  });

  it("speaks JSON Schema, with our own keywords marked as such", () => {
    const known = new Set([
      ...["$ref", "type", "title", "description", "default", "examples", "deprecated", "format", "enum", "const"],
      ...["minLength", "maxLength", "pattern", "minimum", "maximum", "not", "anyOf", "items", "minItems", "maxItems"],
      ...["properties", "required", "additionalProperties"],
    ]);
    const found = [...schemas()];
    assert.ok(found.length > 300);
    for (const [place, schema] of found) {
      const foreign = Object.keys(schema).filter((keyword) => !known.has(keyword) && !keyword.startsWith("x-"));
      assert.deepEqual(foreign, [], place);
      const { properties = {}, required = [] } = schema as { properties?: object; required?: string[] };
      assert.deepEqual(
        required.filter((name) => !(name in properties)),
        [],
        place,
      );
    }
  });
});

describe("the reference on the wire", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  const get = async (url: string, headers: Record<string, string> = {}) =>
    app.app.inject({ method: "GET", url, headers });

  it("serves the document", async () => {
    const answer = await get("/-/api/openapi.json");
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.deepEqual(answer.json(), JSON.parse(JSON.stringify(document)));
  });

  it("leads from the front door to the page", async () => {
    const answer = await get("/");
    assert.equal(answer.statusCode, 302);
    assert.equal(answer.headers["location"], "/-/api");
  });

  it("serves the page under a policy that lets in nothing from elsewhere and nothing inline", async () => {
    const answer = await get("/-/api");
    assert.equal(answer.headers["content-type"], "text/html; charset=utf-8");
    const policy = String(answer.headers["content-security-policy"]);
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|http|\*/);
    assert.doesNotMatch(answer.payload, /https?:|<style|<script>|style=| on\w+=/);
  });

  const types = {
    "start.js": "text/javascript; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
    "favicon-32x32.png": "image/png",
  };
  for (const [file, type] of Object.entries(types)) {
    it(`serves ${file} with its type, and only once to who keeps it`, async () => {
      const answer = await get(`/-/api/${file}`);
      assert.equal(answer.statusCode, 200);
      assert.equal(answer.headers["content-type"], type);
      assert.ok(answer.rawPayload.length > 0);
      const again = await get(`/-/api/${file}`, { "if-none-match": String(answer.headers["etag"]) });
      assert.equal(again.statusCode, 304);
      assert.equal(again.payload, "");
      const other = await get(`/-/api/${file}`, { "if-none-match": 'W/"another"' });
      assert.equal(other.statusCode, 200);
    });
  }

  for (const file of ["package.json", "index.html", "swagger-ui.js", "..%2Fpackage.json", "constructor"]) {
    it(`does not serve ${file}`, async () => assert.equal((await get(`/-/api/${file}`)).statusCode, 404));
  }

  it("refuses a name that no file can have", async () => assert.equal((await get("/-/api/%00")).statusCode, 400));
});
