import assert from "node:assert/strict";
import { describe, it } from "node:test";
import Type from "typebox";
import { administrator, anyone } from "#access/access.ts";
import { SCOPES } from "#access/scopes.ts";
import { operationsOf } from "./app.ts";
import { type Endpoint, endpoint, plain } from "./endpoint.ts";
import { openApiOf } from "./openapi.ts";
import type { Json } from "./openapi-schema.ts";
import { pageOf } from "./paging.ts";
import { CommaList, DateOnly, File, Hash, Id, Nullable, Text } from "./params/vocabulary.ts";

const Ship = Type.Object({ id: Type.Integer(), note: Nullable(Type.String()) }, { title: "Ship" });

const ships = {
  list: endpoint({
    method: "GET",
    path: "/ports/:id/ships",
    summary: "List ships",
    access: anyone({ scopes: ["read_user"] }),
    params: Type.Object(
      {
        id: Id,
        kinds: Type.Optional(Type.Array(Type.String())),
        states: Type.Optional(CommaList(Type.Enum(["in", "out"]))),
        tags: Type.Optional(Hash),
        after: DateOnly,
        crew: Type.Integer({ default: 1, description: "Least crew", plan: "premium", offering: ["hosted"] }),
      },
      { mutuallyExclusive: [["kinds", "states"]] },
    ),
    returns: pageOf(Ship, { id: "id" }),
    handle: () => [],
  }),
  create: endpoint({
    method: "POST",
    path: "/ships",
    summary: "Launch a ship",
    access: administrator(),
    params: Type.Object(
      {
        name: Text(),
        note: Type.Optional(Nullable(Type.String({ description: "About it" }))),
        picture: Type.Optional(Nullable(File)),
        plans: Type.Optional(File),
        holds: Type.Optional(Type.Array(Type.Integer())),
        flags: Type.Optional(CommaList(Type.String())),
      },
      { atLeastOneOf: [["note", "plans"]], allOrNoneOf: [["holds", "flags"]] },
    ),
    returns: Ship,
    audit: "ship_launched",
    plan: "ultimate",
    offering: ["self-managed"],
    unchanged: true,
    deprecated: { since: "2021-11-22", replacement: "`POST /boats`" },
    handle: () => ({ id: 1, note: null }),
  }),
  sink: endpoint({
    method: "DELETE",
    path: "/ships/:id",
    summary: "Sink a ship",
    access: { ...administrator(), scopes: SCOPES },
    params: Type.Object({ id: Id, reason: Type.Optional(Type.String()) }),
    audit: "ship_sunk",
    handle: () => undefined,
  }),
  report: endpoint({
    method: "POST",
    path: "/*port.harbour/reports/:key",
    mount: "root",
    summary: "Report",
    access: anyone(),
    params: Type.Object({ port: Type.String(), key: Type.String(), kind: Type.Optional(Type.String()) }),
    body: "stream",
    limit: "ingestion",
    status: 202,
    returns: plain("text/plain"),
    audit: "reported",
    handle: () => "ok",
  }),
  drift: endpoint({
    method: "PUT",
    path: "/projects/:id/drifts/:drift_iid",
    summary: "Drift",
    access: anyone(),
    params: Type.Object({ id: Id, drift_iid: Id }),
    limit: "none",
    audit: "drifted",
    handle: () => undefined,
  }),
} satisfies Record<string, Endpoint>;

const { paths, components } = openApiOf(operationsOf({ ships })) as any;
const list = paths["/api/v4/ports/{id}/ships"].get;
const create = paths["/api/v4/ships"].post;
const sink = paths["/api/v4/ships/{id}"].delete;
const report = paths["/{port}.harbour/reports/{key}"].post;
const drift = paths["/api/v4/projects/{id}/drifts/{drift_iid}"].put;

const parameter = (operation: { parameters: Json[] }, name: string) =>
  operation.parameters.find((given) => given["name"] === name);
const places = (operation: { parameters: Json[] }) =>
  operation.parameters.map(({ in: place, name, $ref }) => $ref ?? `${String(place)} ${String(name)}`);

describe("parameters in the document", () => {
  it("are in the path, else in the query of GET and DELETE", () => {
    assert.deepEqual(places(list), [
      "path id",
      ...["query page", "query per_page", "query kinds[]", "query states", "query tags", "query after", "query crew"],
      "#/components/parameters/sudo",
    ]);
    assert.deepEqual(places(sink), ["path id", "query reason", "#/components/parameters/sudo"]);
    assert.equal(list.requestBody, undefined);
  });

  it("say how lists and hashes are spelled", () => {
    assert.deepEqual(parameter(list, "states"), {
      name: "states",
      in: "query",
      style: "form",
      explode: false,
      schema: { type: "array", items: { type: "string", enum: ["in", "out"] }, "x-comma-list": true },
    });
    assert.deepEqual(parameter(list, "tags"), {
      name: "tags",
      in: "query",
      style: "deepObject",
      explode: true,
      schema: { type: "object", additionalProperties: { type: "string" } },
      example: {},
    });
  });

  it("are required unless they may be left out or have a default", () => {
    assert.equal(parameter(list, "after")?.["required"], true);
    assert.deepEqual(parameter(list, "crew"), {
      name: "crew",
      in: "query",
      description: "Least crew",
      schema: { type: "integer", default: 1 },
      "x-plan": "premium",
      "x-offering": ["hosted"],
    });
  });

  it("tell ids from numbers in a project", () => {
    assert.equal(parameter(sink, "id")?.["description"], "The `id` of the ship");
    assert.equal(parameter(drift, "id")?.["description"], "The `id` of the project");
    const number = "The `iid` of the drift: its number in the project, not its `id`";
    assert.equal(parameter(drift, "drift_iid")?.["description"], number);
    assert.equal(parameter(report, "key")?.["description"], undefined);
  });

  it("show the usual page and its largest size", () => {
    assert.deepEqual(parameter(list, "page")?.["schema"], { type: "integer", default: 1, minimum: 1 });
    const size = { type: "integer", default: 20, minimum: 1, maximum: 100 };
    assert.deepEqual(parameter(list, "per_page")?.["schema"], size);
  });

  it("are otherwise in the body, with files in multipart only", () => {
    const { content, required } = create.requestBody;
    assert.equal(required, true);
    assert.deepEqual(Object.keys(content), [
      "application/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
    ]);
    assert.deepEqual(components.schemas["ships.create"], {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1 },
        note: { type: ["string", "null"], description: "About it" },
        picture: { type: "null" },
        holds: { type: "array", items: { type: "integer" } },
        flags: { type: "array", items: { type: "string" }, "x-comma-list": true },
      },
      required: ["name"],
    });
    const names = (type: string) => Object.keys(content[type].schema.properties);
    assert.deepEqual(names("application/x-www-form-urlencoded"), ["name", "note", "picture", "holds[]", "flags"]);
    assert.deepEqual(names("multipart/form-data"), ["name", "note", "picture", "plans", "holds[]", "flags"]);
    const file = { type: "string", format: "binary" };
    assert.deepEqual(content["multipart/form-data"].schema.properties.picture, file);
    assert.deepEqual(content["multipart/form-data"].encoding, { flags: { style: "form", explode: false } });
    assert.equal(drift.requestBody, undefined);
  });

  it("do not include a raw body", () => {
    assert.deepEqual(places(report), ["path port", "path key", "query kind", "#/components/parameters/sudo"]);
    assert.deepEqual(report.requestBody, { required: true, content: { "*/*": {} } });
  });
});

describe("an operation in the document", () => {
  it("states who may call, with which scopes, and from which plan on", () => {
    assert.equal(create.operationId, "ships.create");
    assert.deepEqual(create.tags, ["Ships"]);
    assert.equal(create.deprecated, true);
    assert.equal(create["x-access"], "administrators");
    assert.deepEqual(create["x-scopes"], ["api"]);
    assert.equal(create["x-plan"], "ultimate");
    assert.deepEqual(create["x-offering"], ["self-managed"]);
    assert.equal(create["x-audit-event"], "ship_launched");
    assert.deepEqual(create["x-at-least-one-of"], [["note", "plans"]]);
    assert.deepEqual(create["x-all-or-none-of"], [["holds", "flags"]]);
    assert.equal(
      create.description,
      [
        "Who may call: administrators.",
        "Scopes of the token, one of them: `api`.",
        "From plan: ultimate.",
        "Offering: self-managed.",
        "Deprecated since 2021-11-22. Replacement: `POST /boats`.",
        "Give at least one of `note`, `plans`.",
        "Give all or none of `holds`, `flags`.",
      ].join("\n\n"),
    );
    assert.deepEqual(list["x-scopes"], ["api", "read_api", "read_user"]);
    assert.match(list.description, /Give at most one of `kinds`, `states`\.$/);
    assert.match(sink.description, /one of them: any\./);
  });

  it("needs a token unless anyone may call", () => {
    assert.equal(create.security.length, 4);
    assert.deepEqual(list.security[0], {});
  });

  it("responds with its status, its schema and its paging headers", () => {
    assert.deepEqual(Object.keys(list.responses["200"].headers), [
      ...["X-Request-Id", "Link", "X-Page", "X-Per-Page", "X-Next-Page", "X-Prev-Page", "X-Total", "X-Total-Pages"],
    ]);
    assert.deepEqual(Object.keys(create.responses["201"].headers), ["X-Request-Id", "Deprecation"]);
    const ship = { $ref: "#/components/schemas/Ship" };
    assert.deepEqual(list.responses["200"].content["application/json"].schema, { type: "array", items: ship });
    assert.deepEqual(create.responses["201"].content, { "application/json": { schema: ship } });
    assert.equal(sink.responses["204"].content, undefined);
    assert.deepEqual(report.responses["202"].content, { "text/plain": {} });
    assert.deepEqual(components.schemas.Ship.properties.note, { type: ["string", "null"] });
  });

  it("lists the refusals that are possible", () => {
    const refusals = ({ responses }: { responses: Json }) =>
      Object.keys(responses).filter((status) => !status.startsWith("2"));
    const always = ["400", "401", "403", "404"];
    assert.deepEqual(refusals(list), ["304", ...always, "414", "429", "default"]);
    assert.deepEqual(refusals(report), [...always, "409", "414", "422", "503", "default"]);
    assert.deepEqual(refusals(drift), ["308", ...always, "409", "414", "422", "default"]);
    assert.deepEqual(refusals(create), ["304", ...always, "409", "414", "422", "429", "default"]);
  });
});

it("two schemas cannot have one title", () => {
  const other = endpoint({
    method: "GET",
    path: "/other",
    summary: "Another",
    access: anyone(),
    params: Type.Object({}),
    returns: Type.Object({ id: Type.String() }, { title: "Ship" }),
    handle: () => ({ id: "" }),
  });
  assert.throws(() => openApiOf(operationsOf({ ships, others: { other } })), /Two schemas are called Ship/);
});
