import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { INGESTION_LIMITS, parseJson, parseJsonObject } from "./json.ts";
import { merge } from "./raw.ts";
import { assertQuick, problemOf } from "./test-support.ts";

const parse = (text: string) => parseJson(Buffer.from(text));
const ingest = (text: string) => parseJson(Buffer.from(text), INGESTION_LIMITS);
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

describe("JSON parameters", () => {
  it("are any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value);
        if (/__proto__|constructor|prototype|\\u0000/.test(text)) return;
        assert.deepEqual(parse(text), JSON.parse(text));
        assert.deepEqual(parse(JSON.stringify(value, null, 2)), JSON.parse(text));
      }),
    );
  });

  it("are an object, which may be empty or missing", () => {
    assert.deepEqual({ ...parseJsonObject(Buffer.alloc(0)) }, {});
    assert.deepEqual(parseJsonObject(Buffer.from("{}")), {});
    assert.deepEqual(parseJsonObject(Buffer.from('{"a":[1,{"b":null}]}')), { a: [1, { b: null }] });
    for (const text of ["[]", "1", '"a"', "null", "true"]) {
      assert.equal(
        problemOf(() => parseJsonObject(Buffer.from(text))),
        "The request body is not a JSON object",
      );
    }
  });

  const table: [text: string, problem: string | undefined][] = [
    ["{", "is not valid JSON"],
    [" ", "is not valid JSON"],
    ['{"a":1}x', "is not valid JSON"],
    ["{'a':1}", "is not valid JSON"],
    ['{"a":"\0"}', "is not valid JSON"],
    ['{"a":"unfinished', "is not valid JSON"],
    ['{"a":"unfinished\\', "is not valid JSON"],
    ["]]]]", "is not valid JSON"],
    [nested(32), undefined],
    [nested(33), "nests deeper than 32 levels"],
    [`{"a":${nested(31)}}`, undefined],
    [`{"a":${nested(32)}}`, "nests deeper than 32 levels"],
    [`"${"[".repeat(50)}"`, undefined],
    [`"\\"${"[".repeat(50)}"`, undefined],
    [`[${"1,".repeat(100_000)}1]`, "has more than 100000 elements"],
    [`[${"1,".repeat(99_999)}1]`, undefined],
    [`[${"{},".repeat(60_000)}1]`, "has more than 100000 elements"],
    [`[${'{"a":1},'.repeat(19_999)}{"b":2}]`, undefined],
    [`[${'{"a":1},'.repeat(20_000)}{"b":2}]`, "has more than 20000 keys"],
    ["1".repeat(300), undefined],
    [`0.${"1".repeat(999)}`, undefined],
    [`0.${"1".repeat(1_000)}`, "has a number of more than 1000 digits"],
    [`[${"1".repeat(300)},${"1".repeat(300)},${"1".repeat(300)},${"1".repeat(300)}]`, undefined],
    ["1".repeat(400), "has a number that is too large"],
    ["1e308", undefined],
    ["1e400000", "has a number that is too large"],
    ['{"a":[-1e309]}', "has a number that is too large"],
    ['{"a":"\\u0000"}', "contains a NUL character"],
    ['{"\\u0000":1}', "contains a NUL character"],
    ['{"a":"\\\\u0000"}', undefined],
    ['{"a":"\\ud800"}', "contains a lone surrogate"],
    ['{"a":["\\udc00\\ud800"]}', "contains a lone surrogate"],
    ['{"a":"\\ud83d\\ude00"}', undefined],
    ['{"__proto__":1}', "has the key __proto__, which is not allowed"],
    ['{"\\u005f_proto__":1}', "has the key __proto__, which is not allowed"],
    ['{"a":[{"constructor":{}}]}', "has the key constructor, which is not allowed"],
    ['{"a":{"prototype":1}}', "has the key prototype, which is not allowed"],
    ['{"a":1,"a":1}', "has a key twice in one object"],
    ['{"a":1,"\\u0061":2}', "has a key twice in one object"],
    ['{"b":{"a":1,"c":2,"a":3}}', "has a key twice in one object"],
    ['{"a":{"a":{"a":":::"}}}', undefined],
  ];
  for (const [text, problem] of table) {
    it(`${text.slice(0, 40)} ${problem ?? "is fine"}`, () =>
      assert.equal(
        problemOf(() => parse(text)),
        problem && `The request body ${problem}`,
      ));
  }

  it("are valid UTF-8", () => {
    const problem = "The request body is not valid UTF-8";
    assert.equal(
      problemOf(() => parseJson(Buffer.from([0x22, 0xff, 0x22]))),
      problem,
    );
    assert.equal(
      problemOf(() => parseJson(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))),
      problem,
    );
  });

  it("leave Object.prototype clean", () => {
    const before = Reflect.ownKeys(Object.prototype);
    fc.assert(
      fc.property(fc.json(), fc.boolean(), (json, wrap) => {
        const text = wrap ? `{"__proto__":${json}}` : json;
        problemOf(() => parse(text));
        problemOf(() => ingest(text));
        assert.deepEqual(Reflect.ownKeys(Object.prototype), before);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("JSON of third parties", () => {
  it("keeps the digits of integers that are too long for a number", () => {
    const text =
      '{"id":12345678901234567891,"exact":9007199254740991,"text":"12345678901234567","f":0.1234567890123457}';
    assert.deepEqual(
      { ...(ingest(text) as object) },
      {
        ...{ id: "12345678901234567891", exact: 9007199254740991, text: "12345678901234567", f: 0.1234567890123457 },
      },
    );
    assert.deepEqual({ ...(parse(`{"id":${String(2n ** 60n)}}`) as object) }, { id: 2 ** 60 });
  });

  it("is repaired if its text is invalid", () => {
    assert.deepEqual(ingest('{"a\\u0000":"b\\u0000c","d":["\\ud800x"],"\\udc00":1}'), {
      "a\uFFFD": "b\uFFFDc",
      d: ["\uFFFDx"],
      "\uFFFD": 1,
    });
    assert.equal(parseJson(Buffer.from([0x22, 0xff, 0x22]), INGESTION_LIMITS), "\uFFFD");
  });

  it("keeps odd keys as plain data", () => {
    const value = ingest(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1,"a":2}',
    ) as object;
    assert.deepEqual(Object.keys(value), ["__proto__", "constructor", "a"]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(
      JSON.stringify(value),
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":2}',
    );
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  });

  it("may nest 100 levels, and is otherwise limited too", () => {
    assert.equal(
      problemOf(() => ingest(nested(100))),
      undefined,
    );
    assert.equal(
      problemOf(() => ingest(nested(101))),
      "The request body nests deeper than 100 levels",
    );
    assert.equal(
      problemOf(() => ingest("[1e999]")),
      "The request body has a number that is too large",
    );
    assert.equal(
      problemOf(() => ingest("[")),
      "The request body is not valid JSON",
    );
  });
});

describe("hostile JSON", () => {
  const size = 1_048_576;
  const fill = (text: string) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const keys = Array.from({ length: 60_000 }, (_, index) => `"${index * 7919}":1`).join(",");
  const bodies: [name: string, text: string][] = [
    ["lists", fill("[")],
    ["hashes", fill('{"a":')],
    ["digits", fill("1")],
    ["quotes", fill('"')],
    ["escapes", `"${fill("\\")}`],
    ["escaped quotes", `"${fill('\\"')}`],
    ["a long text", `{"a":"${fill("x")}"}`],
    ["escaped letters", `{"a":"${fill("\\u0061")}"}`],
    ["commas", `[${fill("1,")}1]`],
    ["spaces", fill(" ")],
    ["many keys", `{${keys}}`],
  ];
  for (const [name, text] of bodies) {
    it(`is read in linear time: ${name}`, () => {
      for (const read of [parse, ingest]) assertQuick(() => problemOf(() => read(text)));
    });
  }
});

describe("merging", () => {
  it("prefers the path, then the body, then the query", () => {
    const set = merge({ id: "1" }, { id: "2", a: "query", q: "q" }, { id: "3", a: "body", b: "b" });
    assert.equal(Object.getPrototypeOf(set), null);
    assert.deepEqual({ ...set }, { id: "1", a: "body", q: "q", b: "b" });
    assert.deepEqual({ ...merge({ id: "1" }) }, { id: "1" });
  });
});
