import assert from "node:assert/strict";
import { describe, it } from "node:test";
import Type, { type TSchema } from "typebox";
import { Refusal } from "#lib/refusal.ts";
import { parseQuery } from "./brackets.ts";
import { compileParams } from "./coerce.ts";
import { merge } from "./raw.ts";
import { problemOf } from "./test-support.ts";
import { DateOnly, Flag, Id, Nullable, Text } from "./vocabulary.ts";

describe("a set of parameters", () => {
  const schema = Type.Object({
    name: Text(255),
    sort: Type.Enum(["asc", "desc"], { default: "desc" }),
    labels: Type.Array(Type.String(), { default: [] }),
    expires_at: Type.Optional(Nullable(DateOnly)),
    platform_kubernetes_attributes: Type.Object({
      api_url: Text(),
      token: Type.String(),
      namespace: Type.Optional(Type.String()),
    }),
  });
  const read = compileParams(schema);
  const cluster = { api_url: "https://k8s", token: "t" };

  it("has its types, its defaults, and nothing undeclared", () => {
    const params = read(
      merge(
        {},
        parseQuery(
          "name=a&all=False&platform_kubernetes_attributes[api_url]=u&platform_kubernetes_attributes[token]=t",
        ),
      ),
    );
    const name: string = params.name;
    const order: "asc" | "desc" = params.sort;
    const expires: string | null | undefined = params.expires_at;
    assert.deepEqual([name, order, expires], ["a", "desc", undefined]);
    assert.deepEqual(params, {
      name: "a",
      sort: "desc",
      labels: [],
      platform_kubernetes_attributes: { api_url: "u", token: "t" },
    });
    assert.ok(!("expires_at" in params));
  });

  it("gets its own copy of a default", () => {
    const raw = { name: "a", platform_kubernetes_attributes: cluster };
    read(raw).labels.push("mine");
    assert.deepEqual(read(raw).labels, []);
  });

  it("distinguishes null from absent only if null is a value", () => {
    const raw = {
      name: "a",
      platform_kubernetes_attributes: { ...cluster, namespace: null },
      expires_at: "",
      sort: null,
    };
    assert.deepEqual(read(raw), {
      name: "a",
      sort: "desc",
      labels: [],
      expires_at: null,
      platform_kubernetes_attributes: cluster,
    });
  });

  it("reports all its problems at once", () => {
    assert.equal(
      problemOf(() =>
        read({ name: " ", sort: "up", expires_at: "soon", platform_kubernetes_attributes: { api_url: [] } }),
      ),
      "name is empty, sort does not have a valid value, expires_at is invalid, " +
        "platform_kubernetes_attributes[api_url] is invalid, platform_kubernetes_attributes[token] is missing",
    );
    assert.equal(
      problemOf(() => read({ name: "a" })),
      "platform_kubernetes_attributes is missing, platform_kubernetes_attributes[api_url] is missing, " +
        "platform_kubernetes_attributes[token] is missing",
    );
    assert.equal(
      problemOf(() => read({ name: "a", platform_kubernetes_attributes: "x" })),
      "platform_kubernetes_attributes is invalid",
    );
  });
});

describe("rules about several parameters", () => {
  const given = Type.Optional(Type.String());
  const read = compileParams(
    Type.Object(
      {
        password: given,
        reset_password: Flag,
        extern_uid: given,
        provider: given,
        a: given,
        b: given,
        c: given,
        h: Type.Optional(Type.Object({ k: given, j: given }, { allOrNoneOf: [["k", "j"]] })),
      },
      {
        atLeastOneOf: [["password", "reset_password", "not_offered_here"]],
        allOrNoneOf: [["extern_uid", "provider"]],
        mutuallyExclusive: [["a", "b", "c"]],
      },
    ),
  );
  const rows: [query: string, problem: string | undefined][] = [
    ["", "password, reset_password are missing, at least one parameter must be provided"],
    ["reset_password=", "password, reset_password are missing, at least one parameter must be provided"],
    ["password=", undefined],
    ["password=x", undefined],
    ["reset_password=false", undefined],
    ["password=x&extern_uid=1", "extern_uid, provider provide all or none of parameters"],
    ["password=x&extern_uid=1&provider=", "extern_uid, provider provide all or none of parameters"],
    ["password=x&extern_uid=1&provider=p", undefined],
    ["password=x&a=1&c=1", "a, c are mutually exclusive"],
    ["password=x&h[k]=1", "h[k], h[j] provide all or none of parameters"],
    [
      "extern_uid=1&a=1&b=1",
      "password, reset_password are missing, at least one parameter must be provided, extern_uid, provider provide all or none of parameters, a, b are mutually exclusive",
    ],
  ];
  for (const [query, problem] of rows)
    it(query || "nothing", () =>
      assert.equal(
        problemOf(() => read(parseQuery(query))),
        problem,
      ),
    );
});

describe("a number in the path", () => {
  const read = compileParams(Type.Object({ user_id: Id, other_id: Type.Optional(Id) }), ["user_id"]);

  it("is 404 if no row can have it", () => {
    for (const user_id of ["9007199254740992", "9223372036854775808", "9".repeat(1_000), "-1"]) {
      assert.throws(
        () => read({ user_id }),
        (error) => error instanceof Refusal && error.kind === "missing" && error.message === "404 Not Found",
      );
    }
  });

  it("is 400 if it is no number, and everywhere except in the path", () => {
    for (const user_id of ["ASDF", "1e3", "0x1", " 1", "1.0"])
      assert.equal(
        problemOf(() => read({ user_id })),
        "user_id is invalid",
      );
    assert.equal(
      problemOf(() => read({ user_id: "1", other_id: "9007199254740992" })),
      "other_id is invalid",
    );
    assert.equal(
      problemOf(() => read({ user_id: "1", other_id: "-1" })),
      "other_id does not have a valid value",
    );
    assert.deepEqual(read({ user_id: "7" }), { user_id: 7 });
  });
});

it("NUL is refused in a path, as in a query or body", () => {
  const read = compileParams(Type.Object({ name: Type.String() }), ["name"]);
  assert.equal(
    problemOf(() => read({ name: "a\0b" })),
    "name is invalid",
  );
  assert.deepEqual(read({ name: "ab" }), { name: "ab" });
});

describe("a schema that cannot be enforced", () => {
  const impossible: TSchema[] = [
    Type.String({ pattern: "a" }),
    Type.Integer({ exclusiveMinimum: 1 }),
    Type.Array(Type.String({ pattern: "a" })),
    Type.Object({ x: Type.Any() }),
    Type.Unsafe({ type: "string" }),
  ];
  for (const schema of impossible) {
    it(JSON.stringify(schema), () =>
      assert.throws(() => compileParams(Type.Object({ x: schema })), /^Error: No parameter can have/),
    );
  }
});
