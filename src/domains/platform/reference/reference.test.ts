import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { operationsOf } from "#http/app.ts";
import { openApiOf } from "#http/openapi.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { SUBJECTS } from "./subjects.ts";

const document = openApiOf(operationsOf(resources), SUBJECTS) as any;
const operations: [path: string, operation: any][] = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
  Object.values(methods).map((operation): [string, any] => [path, operation]),
);

/** Every object in the document, with its JSON pointer. */
function* nodes(node: unknown, pointer = "#"): Generator<[pointer: string, node: Record<string, unknown>]> {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) yield [pointer, node as Record<string, unknown>];
  for (const [key, value] of Object.entries(node)) yield* nodes(value, `${pointer}/${key}`);
}

const resolve = (reference: string) =>
  reference
    .slice(2)
    .split("/")
    .reduce((at: any, key) => at?.[key], document);

/** Every schema in the document, including nested ones. */
function* schemas(): Generator<[pointer: string, schema: Record<string, unknown>]> {
  for (const [pointer, node] of nodes(document)) {
    if (/\/(schema|items|additionalProperties|(schemas|properties)\/[^/]+|anyOf\/\d+)$/.test(pointer))
      yield [pointer, node];
  }
}

describe("the document of the whole API", () => {
  it("has no dangling references", () => {
    const references = [...nodes(document)].flatMap(([, { $ref }]) => (typeof $ref === "string" ? [$ref] : []));
    assert.ok(references.length > 100);
    assert.deepEqual(
      references.filter((reference) => resolve(reference) === undefined),
      [],
    );
  });

  it("has sections by subject, each named for people", () => {
    const names: string[] = document.tags.map(({ name }: { name: string }) => name);
    for (const name of names) assert.match(name, /^[A-Z][A-Za-z]*( [a-zA-Z]+)*$/);
    assert.ok(names.length >= 15 && names.length < Object.keys(resources).length, String(names.length));
    const known = Object.keys(resources);
    assert.deepEqual(
      Object.keys(SUBJECTS).filter((name) => !known.includes(name)),
      [],
    );
    for (const [, { operationId, tags }] of operations) assert.ok(names.includes(tags[0]), operationId);
  });

  it("has no unused schema", () => {
    const text = JSON.stringify(document);
    const references = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    const unused = references.filter((reference) => !text.includes(`"${reference}"`));
    assert.deepEqual(unused, []);
  });

  it("names each operation once and declares every path parameter", () => {
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

  it("has no two paths that differ only in parameter names", () => {
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, "{}"));
    assert.deepEqual(shapes, [...new Set(shapes)]);
  });

  it("gives every operation a success response, a description of each response, and a declared security scheme", () => {
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

  it("uses JSON Schema, with our own keywords prefixed", () => {
    const known = new Set([
      ...["$ref", "type", "title", "description", "default", "examples", "deprecated", "format", "enum", "const"],
      ...["minLength", "maxLength", "pattern", "minimum", "maximum", "not", "anyOf", "items", "minItems", "maxItems"],
      ...["properties", "required", "additionalProperties"],
    ]);
    const found = [...schemas()];
    assert.ok(found.length > 300);
    for (const [pointer, schema] of found) {
      const foreign = Object.keys(schema).filter((keyword) => !known.has(keyword) && !keyword.startsWith("x-"));
      assert.deepEqual(foreign, [], pointer);
      const { properties = {}, required = [] } = schema as { properties?: object; required?: string[] };
      assert.deepEqual(
        required.filter((name) => !(name in properties)),
        [],
        pointer,
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

  it("serves the document that is assembled from those of the domains", async () => {
    const assembled = await readFile(join(import.meta.dirname, "../../../../docs/openapi.json"), "utf8");
    assert.deepEqual((await get("/-/api/openapi.json")).json(), JSON.parse(assembled));
  });

  it("every GET that needs no parameter works as the page first sends it", async () => {
    const { token } = await app.makeUser({ admin: true });
    let tried = 0;
    for (const [path, { get: operation }] of Object.entries<any>(document.paths)) {
      if (!operation || !path.startsWith("/api/")) continue;
      const given = operation.parameters.map((each: any) => (each.$ref ? resolve(each.$ref) : each));
      if (given.some(({ required }: any) => required)) continue;
      const query = new URLSearchParams(given.flatMap(prefilled)).toString();
      const answer = await get(`${path}?${query}`, { "private-token": token, host: "localhost" });
      assert.ok(answer.statusCode < 400, `${path}?${query}: ${answer.statusCode} ${answer.payload.slice(0, 200)}`);
      if (path === "/api/v4/users") assert.notDeepEqual(answer.json(), [], "the list has the caller at least");
      tried++;
    }
    assert.ok(tried > 20, String(tried));
  });

  it("redirects from the root to the page", async () => {
    const answer = await get("/");
    assert.equal(answer.statusCode, 302);
    assert.equal(answer.headers["location"], "/-/api");
  });

  it("serves the page under a policy that forbids other origins and inline scripts", async () => {
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
    it(`serves ${file} with its type, and answers 304 to a cached copy`, async () => {
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

  it("refuses an invalid file name", async () => assert.equal((await get("/-/api/%00")).statusCode, 400));
});

/** What Swagger UI fills in of a parameter before anybody types: an example or a default, or a sample of an object. */
function prefilled({ name, example, schema }: any): [string, string][] {
  const value = example ?? schema.example ?? schema.default;
  if (value !== undefined)
    return typeof value === "object" ? Object.entries(value).map(pairOf) : [[name, String(value)]];
  return schema.type === "object" ? [[`${name}[additionalProp1]`, "string"]] : [];

  function pairOf([key, each]: [string, unknown]): [string, string] {
    return [`${name}[${key}]`, String(each)];
  }
}
