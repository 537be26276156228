import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import Type, { type TSchema } from "typebox";
import { compileParams } from "./coerce.ts";
import { type RawSet, UploadedFile } from "./raw.ts";
import { assertQuick, problemOf } from "./test-support.ts";
import { CommaList, File, Flag, Hash, Line, Nullable, Text } from "./vocabulary.ts";

/** What one parameter `x` of this schema makes of a value: the value, or the problem as a text in brackets. */
function outcome(schema: TSchema, value: unknown): unknown {
  const read = compileParams(Type.Object({ x: schema }));
  const raw: RawSet = value === undefined ? {} : { x: value };
  const problem = problemOf(() => read(raw));
  return problem === undefined ? (read(raw) as { x?: unknown }).x : `<${problem}>`;
}

const invalid = "<x is invalid>";
const unlisted = "<x does not have a valid value>";
const missing = "<x is missing>";
const hash: unknown = { a: "1" };
const file = new UploadedFile("a.png", "image/png", Buffer.from("png"));
const sort = Type.Enum(["asc", "desc"]);
const level = Type.Enum([10, 20, 30]);

const tables: Record<string, [schema: TSchema, rows: [value: unknown, outcome: unknown][]]> = {
  text: [
    Type.String({ maxLength: 5 }),
    [
      ["a", "a"],
      ["", ""],
      [" a ", " a "],
      [7, "7"],
      [1.5, "1.5"],
      [true, "true"],
      [2 ** 53, invalid],
      ["aaaaa", "aaaaa"],
      ["aaaaaa", "<x is too long (maximum is 5 characters)>"],
      ["😀😀😀😀😀", "😀😀😀😀😀"],
      ["😀😀😀😀😀😀", "<x is too long (maximum is 5 characters)>"],
      [["a"], invalid],
      [hash, invalid],
      [file, invalid],
      [null, missing],
      [undefined, missing],
    ],
  ],
  "text without a limit of its own": [
    Type.String(),
    [
      ["a".repeat(1_048_576), "a".repeat(1_048_576)],
      ["a".repeat(1_048_577), "<x is too long (maximum is 1048576 characters)>"],
    ],
  ],
  "text that may not be blank": [
    Text(),
    [
      ["a", "a"],
      ["", "<x is empty>"],
      [" \t\n", "<x is empty>"],
      [null, missing],
    ],
  ],
  "single line": [
    Line(5),
    [
      ["a\r\nb", "a b"],
      ["\ta\u2028\u0085b\n", "a b"],
      ["a  b", "a  b"],
      ["\r\n", "<x is empty>"],
      ["abcdef", "<x is too long (maximum is 5 characters)>"],
      ["a".repeat(100_000), "<x is too long (maximum is 5 characters)>"],
    ],
  ],
  "short text": [
    Type.String({ minLength: 3 }),
    [
      ["ab", "<x is too short>"],
      ["abc", "abc"],
    ],
  ],
  integer: [
    Type.Integer({ minimum: -5, maximum: 2 ** 53 }),
    [
      [1, 1],
      ["1", 1],
      ["-1", -1],
      ["007", 7],
      ["-0", 0],
      [1.5, invalid],
      ["1.5", invalid],
      [" 1", invalid],
      ["1 ", invalid],
      ["1\n", invalid],
      ["+1", invalid],
      ["0x1", invalid],
      ["1e3", invalid],
      ["1_000", invalid],
      ["١", invalid],
      ["NaN", invalid],
      ["-", invalid],
      ["9007199254740991", 9007199254740991],
      ["9007199254740992", invalid],
      [9007199254740992, invalid],
      ["9".repeat(100_000), invalid],
      [1e20, invalid],
      ["-6", unlisted],
      [-6, unlisted],
      [true, invalid],
      [["1"], invalid],
      [hash, invalid],
      ["", missing],
      [null, missing],
    ],
  ],
  per_page: [
    Type.Integer({ minimum: 1, not: { enum: [0] }, default: 20 }),
    [
      ["0", "<x has a value not allowed>"],
      ["-1", unlisted],
      ["101", 101],
      ["", 20],
      [undefined, 20],
      [null, 20],
    ],
  ],
  number: [
    Type.Number({ maximum: 100 }),
    [
      ["1.5", 1.5],
      [1.5, 1.5],
      ["-3", -3],
      ["1e3", invalid],
      [".5", invalid],
      ["Infinity", invalid],
      ["9".repeat(400), invalid],
      [101, unlisted],
    ],
  ],
  boolean: [
    Type.Boolean(),
    [
      ...[true, "true", "True", "TRUE", "t", "T", "yes", "on", 1, "1"].map((value): [unknown, unknown] => [
        value,
        true,
      ]),
      ...[false, "false", "False", "FALSE", "f", "no", "off", 0, "0"].map((value): [unknown, unknown] => [
        value,
        false,
      ]),
      ...["2", 2, "maybe", " true", "truе", [true], hash].map((value): [unknown, unknown] => [value, invalid]),
      ["", missing],
      [null, missing],
    ],
  ],
  "boolean that may be left out": [
    Flag,
    [
      ["", undefined],
      [null, undefined],
      [undefined, undefined],
      ["1", true],
    ],
  ],
  "boolean that may be null": [
    Nullable(Type.Boolean()),
    [
      ["", null],
      [null, null],
      [undefined, missing],
      ["0", false],
    ],
  ],
  "closed list": [
    sort,
    [
      ["asc", "asc"],
      ["ASC", unlisted],
      ["", unlisted],
      ["toString", unlisted],
      [true, unlisted],
      [["asc"], invalid],
      [hash, invalid],
    ],
  ],
  "closed list of numbers": [
    level,
    [
      ["10", 10],
      [20, 20],
      ["010", unlisted],
      [15, unlisted],
    ],
  ],
  "union of literals": [
    Type.Union([Type.Literal("a"), Type.Literal(2)]),
    [
      ["a", "a"],
      ["2", 2],
      [2, 2],
      ["b", unlisted],
      [[], invalid],
    ],
  ],
  "number or text": [
    Type.Union([Type.Integer(), sort]),
    [
      ["1", 1],
      ["asc", "asc"],
      ["b", invalid],
      ["", invalid],
    ],
  ],
  "closed list that may be null": [
    Type.Optional(Nullable(sort)),
    [
      ["asc", "asc"],
      [null, null],
      [undefined, undefined],
    ],
  ],
  "list of numbers": [
    Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 3 }),
    [
      [
        ["1", 2],
        [1, 2],
      ],
      [[], []],
      ["", []],
      [[""], []],
      [{ 1: "8", 0: "7" }, [7, 8]],
      [{ 0: "7", k: "8" }, invalid],
      [{ "00": "7" }, invalid],
      ["1", invalid],
      [7, invalid],
      [["a", "b"], invalid],
      [[null], invalid],
      [[["1"]], invalid],
      [["-1"], unlisted],
      [[1, 2, 3, 4], "<x is too long (maximum is 3 items)>"],
      [file, invalid],
    ],
  ],
  "list with commas": [
    CommaList(sort, { minItems: 1 }),
    [
      ["asc", ["asc"]],
      ["asc, desc,", ["asc", "desc"]],
      [
        ["asc", "desc"],
        ["asc", "desc"],
      ],
      ["asc,none", unlisted],
      [
        ["asc,desc", "asc"],
        ["asc", "desc", "asc"],
      ],
      [["asc,none"], unlisted],
      [[" ,asc", ""], ["asc"]],
      ["", "<x is empty>"],
      [",", "<x is empty>"],
    ],
  ],
  "list of any length": [
    Type.Array(Type.Integer()),
    [
      [Array(1_001).fill(1), "<x is too long (maximum is 1000 items)>"],
      [{ ...Array(100).fill(1) }, Array(100).fill(1)],
      [{ ...Array(101).fill(1) }, invalid],
    ],
  ],
  "list of hashes": [
    Type.Array(Type.Object({ k: Type.Integer(), v: Type.Optional(Type.String()) })),
    [
      [[{ k: "1", other: 1 }], [{ k: 1 }]],
      [{ 0: { k: "1" }, 1: { k: "2", v: "b" } }, [{ k: 1 }, { k: 2, v: "b" }]],
      [[{ k: 1 }, { v: "a" }, {}], "<x[1][k] is missing>"],
      [[{ k: "a" }], "<x[0][k] is invalid>"],
      [["a"], "<x[0] is invalid>"],
      [[null], "<x[0] is invalid>"],
    ],
  ],
  file: [
    Type.Optional(Nullable(File)),
    [
      [file, file],
      ["", null],
      [null, null],
      ["a", invalid],
      [hash, invalid],
      [[file], invalid],
    ],
  ],
  "file that cannot be cleared": [
    Type.Optional(File),
    [
      ["", undefined],
      [file, file],
    ],
  ],
};

for (const [name, [schema, rows]] of Object.entries(tables)) {
  describe(name, () => {
    for (const [value, expected] of rows) {
      const shown = JSON.stringify(value)?.slice(0, 40) ?? "absent";
      it(shown, () => assert.deepEqual(outcome(schema, value), expected));
    }
  });
}

describe("a hash of the caller's own names", () => {
  it("has the names and values that were sent, without a prototype", () => {
    const read = compileParams(Type.Object({ x: Hash }));
    const { x } = read({ x: { toString: "1", b: 2 } });
    assert.equal(Object.getPrototypeOf(x), null);
    assert.deepEqual({ ...x }, { toString: "1", b: "2" });
  });

  it("is bounded", () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
    assert.equal(Object.keys(outcome(Hash, keys(100)) as object).length, 100);
    assert.equal(outcome(Hash, keys(101)), "<x is too long (maximum is 100 keys)>");
    assert.equal(outcome(Hash, { ["k".repeat(256)]: "v" }), invalid);
    assert.equal(outcome(Hash, { k: ["v"] }), "<x[k] is invalid>");
    assert.equal(outcome(Hash, { k: null }), "<x[k] is invalid>");
    assert.equal(outcome(Hash, ["v"]), invalid);
    assert.equal(outcome(Hash, "v"), invalid);
  });
});

describe("hostile values", () => {
  const everything = Type.Partial(
    Type.Object(Object.fromEntries(Object.entries(tables).map(([name, [schema]]) => [name, schema]))),
  );
  const read = compileParams(everything);

  it("are converted or refused with a parameter error, never anything else", () => {
    const value = fc.oneof(fc.anything({ withNullPrototype: true }), fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(tables)), value, (name, sent) => {
        problemOf(() => read({ [name]: sent }));
      }),
      { numRuns: 20_000 },
    );
  });

  it("are refused in linear time", () => {
    for (const unit of ["9", "-", "a", "0", ",", "1,", " ", "2020-01-01", "é"]) {
      const text = unit.repeat(1_048_576 / unit.length);
      assertQuick(
        () => problemOf(() => read(Object.fromEntries(Object.keys(tables).map((name) => [name, text])))),
        200,
      );
    }
  });
});
