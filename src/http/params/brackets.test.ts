import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseQuery } from "./brackets.ts";
import { assertQuick, problemOf } from "./test-support.ts";

/** Plain objects, so that deepEqual compares contents and not the missing prototypes. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const refusalOf = (text: string) => problemOf(() => parseQuery(text));

describe("parsing a query", () => {
  const table: [text: string, set: unknown][] = [
    ["", {}],
    ["&&&", {}],
    ["=1", {}],
    ["a=1", { a: "1" }],
    ["a", { a: "" }],
    ["a=", { a: "" }],
    ["a=b=c", { a: "b=c" }],
    ["a=1&a=2", { a: "2" }],
    ["a=1&b=2&", { a: "1", b: "2" }],
    ["a=x+y%2Bz", { a: "x y+z" }],
    ["a+b=1", { "a b": "1" }],
    ["a=%C3%A9", { a: "é" }],
    ["a=\u00c3\u00a9", { a: "é" }],
    ["a=%F0%9F%98%80", { a: "😀" }],
    ["a[]=1&a[]=2", { a: ["1", "2"] }],
    ["a%5B%5D=1&a%5B%5D=2", { a: ["1", "2"] }],
    ["h[k]=v&h[j]=w", { h: { k: "v", j: "w" } }],
    ["h[k]=v&h[k]=w", { h: { k: "w" } }],
    ["h[a][b][c]=1", { h: { a: { b: { c: "1" } } } }],
    ["h[k][]=1&h[k][]=2", { h: { k: ["1", "2"] } }],
    ["a[0][k]=1&a[1][k]=2", { a: { 0: { k: "1" }, 1: { k: "2" } } }],
    ["a[][k]=1&a[][j]=2", { a: [{ k: "1", j: "2" }] }],
    ["a[][k]=1&a[][k]=2", { a: [{ k: "1" }, { k: "2" }] }],
    ["a[][k]=1&a[][j]=2&a[][k]=3", { a: [{ k: "1", j: "2" }, { k: "3" }] }],
    ["a[][k][]=1&a[][k][]=2", { a: [{ k: ["1", "2"] }] }],
    ["a[][h][k]=1&a[][h][k]=2", { a: [{ h: { k: "1" } }, { h: { k: "2" } }] }],
    ["a[][]=1&a[][]=2", { a: [["1", "2"]] }],
    ["[a]=1&b[=2&c]=3&d[x]y=4&e[[x]]=5", { "[a]": "1", "b[": "2", "c]": "3", "d[x]y": "4", "e[[x]]": "5" }],
    ["hasOwnProperty=1&toString[x]=2", { hasOwnProperty: "1", toString: { x: "2" } }],
  ];
  for (const [text, set] of table) it(text || "nothing", () => assert.deepEqual(plain(parseQuery(text)), set));

  it("has no prototype at any level", () => {
    const set = parseQuery("a[b][c]=1") as { a: { b: object } };
    for (const level of [set, set.a, set.a.b]) assert.equal(Object.getPrototypeOf(level), null);
  });
});

describe("refused queries", () => {
  const utf8 = "The parameters are not percent-encoded UTF-8";
  const nul = "The parameters contain a NUL character";
  const table: [text: string, problem: string][] = [
    ["a=1&a[b]=2", "a is invalid"],
    ["a[b]=2&a=1", "a is invalid"],
    ["a[]=2&a=1", "a is invalid"],
    ["a[]=1&a[b]=2", "a is invalid"],
    ["a[b]=1&a[]=2", "a is invalid"],
    ["a[]=1&a[0]=2", "a is invalid"],
    ["a[b]=1&a[b][c]=2", "a is invalid"],
    ["a[][k]=1&a[][k][j]=2", "a is invalid"],
    ["a[b][c][d][e]=1", "Parameters nest deeper than 4 levels"],
    ["__proto__=1", "__proto__ is not allowed as a name"],
    ["__proto__[x]=1", "__proto__ is not allowed as a name"],
    ["a[__proto__]=1", "__proto__ is not allowed as a name"],
    ["a[__proto__][x]=1", "__proto__ is not allowed as a name"],
    ["a[][__proto__]=1", "__proto__ is not allowed as a name"],
    ["%5F_proto__[x]=1", "__proto__ is not allowed as a name"],
    ["constructor[prototype][x]=1", "constructor is not allowed as a name"],
    ["a[prototype]=1", "prototype is not allowed as a name"],
    ["a=%", utf8],
    ["a=%zz", utf8],
    ["%=1", utf8],
    ["a=%C3", utf8],
    ["a=%FF", utf8],
    ["a=%C0%80", utf8],
    ["a=%ED%A0%80", utf8],
    ["a=\u00ff", utf8],
    ["a=\ud800", utf8],
    ["a=\u4e00", utf8],
    ["a=%00", nul],
    ["a%00=1", nul],
    ["a=\0", nul],
  ];
  for (const [text, problem] of table) it(JSON.stringify(text), () => assert.equal(refusalOf(text), problem));

  it("limits parameters to 1,000 and items to 100", () => {
    const many = (count: number, one: (index: number) => string) =>
      Array.from({ length: count }, (_, i) => one(i)).join("&");
    assert.equal(refusalOf(many(1_000, (index) => `p${index}=1`)), undefined);
    assert.equal(refusalOf(many(1_001, (index) => `p${index}=1`)), "More than 1000 parameters");
    assert.equal(refusalOf(many(1_001, () => "a=1")), "More than 1000 parameters");
    assert.equal(refusalOf(many(100, () => "a[]=1")), undefined);
    assert.equal(refusalOf(many(101, () => "a[]=1")), "A list has more than 100 items");
    assert.equal(refusalOf(many(101, () => "a[][k]=1")), "A list has more than 100 items");
  });

  it("does not repeat a name of any length", () => {
    const name = "n".repeat(100_000);
    assert.equal(refusalOf(`${name}=1&${name}[a]=1`)?.length, 100 + " is invalid".length);
  });
});

describe("hostile queries", () => {
  it("leave Object.prototype clean, 200,000 of them", () => {
    const word = fc.constantFrom(
      "__proto__",
      "constructor",
      "prototype",
      "polluted",
      "a",
      "",
      "0",
      "%5F_proto__",
      "toString",
    );
    const name = fc
      .tuple(
        word,
        fc.array(fc.tuple(fc.constantFrom("[", "%5B", ""), word, fc.constantFrom("]", "%5D", "")), { maxLength: 4 }),
      )
      .map(([root, rest]) => root + rest.flat().join(""));
    const text = fc
      .array(fc.oneof({ weight: 9, arbitrary: name }, fc.string()), { maxLength: 4 })
      .map((names) => names.map((one) => `${one}=polluted`).join("&"));
    const before = Reflect.ownKeys(Object.prototype);
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(text, { minLength: 200, maxLength: 200 }), (texts) => {
        for (const each of texts) if (refusalOf(each) === undefined) accepted++;
        assert.deepEqual(Reflect.ownKeys(Object.prototype), before);
        assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
        assert.equal(([] as unknown as Record<string, unknown>)["polluted"], undefined);
      }),
      { numRuns: 1_000 },
    );
    assert.ok(accepted > 10_000, `only ${accepted} were accepted`);
  });

  it("round-trip through encoding", () => {
    const name = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !/[[\]\0]/.test(text));
    const value = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0"));
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 20 }), (set) => {
        const entries = Object.entries(set).filter(([key]) => !["__proto__", "constructor", "prototype"].includes(key));
        const text = new URLSearchParams(entries).toString();
        assert.deepEqual({ ...parseQuery(text) }, Object.fromEntries(entries));
      }),
    );
  });

  const size = 1_048_576;
  const fill = (text: string) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
  for (const text of [
    "&",
    "=",
    "a",
    "a&",
    "a=&",
    "[",
    "]",
    "a[",
    "a[]",
    "a[b]",
    "%41",
    "%",
    "+",
    "a[]=1&",
    "a[][k]=1&",
    "é",
  ]) {
    it(`are read in linear time: ${text}`, () => {
      const hostile = Buffer.from(fill(text)).toString("latin1");
      for (const input of [hostile, `a=${hostile}`, `${hostile}=1`]) assertQuick(() => refusalOf(input));
    });
  }
});
