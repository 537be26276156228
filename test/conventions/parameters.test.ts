import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { DateTime, Hash, Id } from "#http/params/vocabulary.ts";
import { resources } from "#domains/index.ts";
import { type Call, type TestApp, testApp } from "#test/support/app.ts";
import { multipart } from "#test/support/wire.ts";

const Params = Type.Object({
  id: Id,
  text: Type.Optional(Type.String()),
  flag: Type.Optional(Type.Boolean()),
  count: Type.Optional(Type.Integer()),
  list: Type.Optional(Type.Array(Type.String())),
  hash: Type.Optional(Hash),
  links: Type.Optional(Type.Array(Type.Object({ url: Type.String(), rank: Type.Optional(Type.Integer()) }))),
  moment: Type.Optional(DateTime),
});
const common = {
  path: "/echo/:id",
  summary: "Echo",
  access: anyone(),
  params: Params,
  returns: Type.Unknown(),
} as const;
const handle = ({ params }: { params: unknown }) => params;
const echo = {
  get: endpoint({ ...common, method: "GET", handle }),
  post: endpoint({ ...common, method: "POST", audit: "echo", handle }),
  put: endpoint({ ...common, method: "PUT", audit: "echo", handle }),
  patch: endpoint({ ...common, method: "PATCH", audit: "echo", handle }),
  delete: endpoint({ ...common, method: "DELETE", status: 200, audit: "echo", handle }),
};

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "content-type": "application/json" };

describe("parameters", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ resources: { ...resources, echo } });
  });
  after(() => app.close());

  const read = async (method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", query: string, call?: Call) => {
    const { status, body } = await app.call(method, `/echo/7${query}`, call);
    return status < 300 ? body : `${status} ${JSON.stringify(body)}`;
  };

  test("all parameters are merged for every verb: the path wins, then the body, then the query", async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"] as const) {
      assert.deepEqual(
        await read(method, "?text=query&count=1&id=8", { payload: { text: "body", flag: true, id: 9 } }),
        { id: 7, text: "body", flag: true, count: 1 },
        method,
      );
    }
  });

  test("JSON, urlencoded with brackets and multipart are equivalent", async () => {
    const said = {
      id: 7,
      text: "a b",
      list: ["x", "y"],
      hash: { k: "v" },
      links: [{ url: "u", rank: 1 }, { url: "w" }],
    };
    const pairs = {
      text: "a b",
      "hash[k]": "v",
      "links[0][url]": "u",
      "links[0][rank]": "1",
      "links[1][url]": "w",
    };
    const form = `${new URLSearchParams(pairs).toString()}&list[]=x&list[]=y`;
    assert.deepEqual(await read("POST", "", { payload: said }), said);
    assert.deepEqual(await read("POST", "", { payload: form, headers: FORM }), said);
    assert.deepEqual(await read("GET", `?${form}`), said);
    assert.deepEqual(await read("POST", "?list[]=x&list[]=y", multipart(pairs)), said);
  });

  test("an array of hashes may omit its indexes", async () => {
    const form = "links[][url]=u&links[][rank]=1&links[][url]=w";
    const { links } = await read("GET", `?${form}`);
    assert.deepEqual(links, [{ url: "u", rank: 1 }, { url: "w" }]);
  });

  test("an empty body with a JSON type is accepted", async () => {
    for (const method of ["GET", "POST", "DELETE"] as const) {
      assert.deepEqual(
        await read(method, "?text=t", { headers: JSON_TYPE, payload: "" }),
        { id: 7, text: "t" },
        method,
      );
      assert.deepEqual(await read(method, "", { headers: { ...JSON_TYPE, "content-length": "0" } }), { id: 7 }, method);
    }
  });

  test("a body on DELETE is accepted", async () => {
    assert.deepEqual(await read("DELETE", "", { payload: {} }), { id: 7 });
    assert.deepEqual(await read("DELETE", "", { payload: { count: 3 } }), { id: 7, count: 3 });
    assert.deepEqual(await read("DELETE", "", { payload: "count=3", headers: FORM }), { id: 7, count: 3 });
  });

  test("unknown parameters are ignored in path, query and body", async () => {
    assert.deepEqual(await read("POST", "?all=False&key_id[]=1", { payload: { project_id: {}, zzz: [1] } }), { id: 7 });
    assert.deepEqual(await read("GET", "?&&=x&all"), { id: 7 });
  });

  test("booleans in every spelling that clients use", async () => {
    for (const [spelling, value] of [
      [true, true],
      ["true", true],
      ["True", true],
      [1, true],
      ["1", true],
      [false, false],
      ["false", false],
      ["False", false],
      [0, false],
      ["0", false],
    ] as const) {
      assert.deepEqual(await read("POST", "", { payload: { flag: spelling } }), { id: 7, flag: value }, `${spelling}`);
      assert.deepEqual(await read("GET", `?flag=${spelling}`), { id: 7, flag: value }, `${spelling}`);
    }
    assert.equal(await read("GET", "?flag=maybe"), '400 {"error":"flag is invalid"}');
    assert.equal(await read("GET", "?flag=2"), '400 {"error":"flag is invalid"}');
  });

  test("numbers may be sent as strings, and strings as numbers", async () => {
    assert.deepEqual(await read("POST", "", { payload: { count: "42", text: 42 } }), { id: 7, count: 42, text: "42" });
    for (const bad of ["4.5", "1e3", "0x10", " 1", "four"]) {
      assert.equal(await read("POST", "", { payload: { count: bad } }), '400 {"error":"count is invalid"}', bad);
    }
  });

  test("an array or object for a scalar is 400", async () => {
    for (const name of ["text", "flag", "count", "moment"]) {
      for (const value of [[1], { a: 1 }]) {
        const told = await read("POST", "", { payload: { [name]: value } });
        assert.equal(told, `400 {"error":"${name} is invalid"}`);
      }
      assert.equal(await read("GET", `?${name}[]=1`), `400 {"error":"${name} is invalid"}`);
      assert.equal(await read("GET", `?${name}[a]=1`), `400 {"error":"${name} is invalid"}`);
    }
    assert.equal(await read("GET", "?text=1&text[a]=1"), '400 {"error":"text is invalid"}');
  });

  test("null counts as absent if the parameter is not nullable", async () => {
    assert.deepEqual(await read("POST", "", { payload: { text: null, flag: null, count: null, list: null } }), {
      id: 7,
    });
  });

  test("a + in a query is a space, so a time zone with an unencoded + is 400", async () => {
    assert.deepEqual(await read("GET", "?text=a+b%2Bc"), { id: 7, text: "a b+c" });
    assert.equal(await read("GET", "?moment=2026-01-01T10:00:00+02:00"), '400 {"error":"moment is invalid"}');
    assert.deepEqual(await read("GET", "?moment=2026-01-01T10:00:00%2B02:00"), {
      id: 7,
      moment: "2026-01-01T08:00:00.000Z",
    });
  });

  test("an unknown content type is 415", async () => {
    for (const type of ["text/xml", "application/octet-stream"]) {
      const reply = await app.post("/echo/7", { payload: "x", headers: { "content-type": type } });
      assert.equal(reply.status, 415);
      assert.deepEqual(reply.body, { error: `The provided content-type '${type}' is not supported.` });
    }
  });

  test("a JSON type with a charset, and a type that ends in +json, are accepted", async () => {
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"]) {
      assert.deepEqual(await read("POST", "", { payload: '{"text":"é"}', headers: { "content-type": type } }), {
        id: 7,
        text: "é",
      });
    }
  });
});
