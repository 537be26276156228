import fc, { type Arbitrary } from "fast-check";
import Type, { type TSchema } from "typebox";
import type { Keywords } from "#http/params/scalars.ts";
import { image } from "./images.ts";
import type { Known } from "./known.ts";
import { PASSWORD_CANARY, Verbatim } from "./marks.ts";

/** Incompressible text, since PostgreSQL compresses long texts in an index. */
export function incompressible(length: number, alphabet: (unit: number) => number): string {
  let state = 0x2545f491;
  let text = "";
  for (let count = 0; count < length; count++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += String.fromCodePoint(alphabet(state >>> 8));
  }
  return text;
}
export const printable = (unit: number) => 0x21 + (unit % 0x5e);
export const astral = (unit: number) => 0x20000 + (unit % 0xa000);

/** Values that PostgreSQL refuses; each is tried on every parameter of every operation. */
export const DATABASE_BREAKERS: Readonly<Record<string, (schema: TSchema) => unknown>> = {
  "NUL in a text": () => "a\u0000b",
  "NUL alone": () => "\u0000",
  "lone surrogate": () => "a\ud800",
  "id past bigint": () => "9223372036854775808",
  "year past timestamp": () => "294277-01-01T00:00:00Z",
  "offset past bigint": () => new Verbatim("92233720368547758070"),
  "key longer than an index row": () => incompressible(3000, printable),
  "longest text in the widest characters": (schema) => incompressible(textLimit(schema), astral),
  "number past numeric": () => new Verbatim("1e400000"),
  "number of 131,072 digits": () => new Verbatim("1e131071"),
};

/** Longer texts are contents of files, which no column stores. */
const MAX_TEXT_LENGTH = 70_000;
const textLimit = (schema: TSchema) => Math.min((withoutNull(schema) as Keywords).maxLength ?? 1024, MAX_TEXT_LENGTH);

const NUMBERS = [
  ...["0", "-1", "1", "00", "01", "-0", "2147483647", "2147483648", "-2147483649", "4294967296"],
  ...["9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808"],
  ...["18446744073709551616", "1e3", "1e20", "1e308", "1e309", "1e-400", "1e400000", "1e131071", "0x1", "0b1", "1_000"],
  ...["1.5", "1.0", ".5", "5.", "+1", " 1", "1 ", "1\t", "١", "１", "NaN", "Infinity", "-Infinity", "9".repeat(1001)],
];

const MOMENTS = [
  ...[
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00+02:00",
    "2026-01-01 00:00:00",
    "0000-01-01",
    "0001-01-01",
  ],
  ...[
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "9999-12-31",
    "10000-01-01",
    "+010000-01-01T00:00:00.000Z",
  ],
  ...["-000001-01-01T00:00:00.000Z", "294276-12-31T23:59:59Z", "294277-01-01T00:00:00Z", "+275760-09-13T00:00:00.000Z"],
  ...[
    "2026-02-29",
    "2026-13-01",
    "2026-00-00",
    "2026-01-01T24:00:00Z",
    "2026-01-01T23:59:60Z",
    "2026-01-01T00:00:00+99:99",
  ],
  ...["infinity", "-infinity", "now", "epoch", "today", "allballs", "J2451187", "2026-W01-1", "20260101", "01/02/2026"],
];

const TEXTS = [
  ...["", " ", "\t", "\u0000", "a\u0000b", "\ud800", "\udc00\ud800", "\ufffe", "\ufeff", "\u202e", "\u200b", "İıſßŉ"],
  ...["null", "undefined", "true", "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then"],
  ...[
    "' or 1=1 --",
    '"; drop table users; --',
    "$1",
    "%",
    "_",
    "\\",
    "%%%",
    "a%\\",
    "%00",
    "%2500",
    "%2e%2e%2f",
    "../../etc",
  ],
  ...[
    "<script>alert(1)</script>",
    "<".repeat(300),
    "${7*7}",
    "{{7*7}}",
    "a\r\nset-cookie: a=b",
    "a\nb",
    "a&b=c",
    "a[b]=c",
  ],
  ...[
    "keyset",
    "_private",
    "ldapmain",
    "root",
    "@",
    "a@b",
    "é@exämple.com",
    `"${"a".repeat(70)}"@example.com`,
    "[",
    "]",
    ",",
    ",,,",
  ],
  ...[
    "a".repeat(256),
    "a".repeat(1025),
    "é".repeat(1024),
    "👩‍👩‍👧‍👦".repeat(30),
    `${"a".repeat(40)}!`,
    "((((((((((",
    "e\u0301".repeat(200),
  ],
  ...[incompressible(3000, printable), incompressible(255, astral), incompressible(1024, astral), "z".repeat(70_000)],
];

const SHAPES: readonly unknown[] = [
  ...[null, true, false, [], {}, [[]], [{}], [null], [""], ["a", ["b"]], { a: {} }, { "": "" }, { a: [1, { b: 2 }] }],
  ...[{ ["__proto__"]: "x" }, { constructor: { prototype: { polluted: "yes" } } }, { toString: 1, valueOf: 2 }],
  ...[Array.from({ length: 101 }, () => "a"), Array.from({ length: 1001 }, (_, index) => index)],
];

const literals = fc.constantFrom(...NUMBERS);

/** A value that is invalid for some parameters. */
export const hostileValue: Arbitrary<unknown> = fc.oneof(
  { arbitrary: literals.map((text) => new Verbatim(text)), weight: 3 },
  { arbitrary: literals, weight: 2 },
  { arbitrary: fc.constantFrom(...MOMENTS), weight: 3 },
  { arbitrary: fc.constantFrom(...TEXTS), weight: 6 },
  { arbitrary: fc.constantFrom(...SHAPES), weight: 3 },
  { arbitrary: fc.string({ unit: "binary", maxLength: 40 }), weight: 2 },
  { arbitrary: fc.double(), weight: 1 },
  { arbitrary: fc.jsonValue({ maxDepth: 3 }), weight: 1 },
);

/** Values of the ordering column in a cursor. */
export const cursorValue: Arbitrary<unknown> = fc.oneof(
  fc.nat(60),
  fc.constantFrom(...MOMENTS, "2026-01-01T00:00:00.000Z", "+010000-01-01T00:00:00.000Z"),
  fc.constantFrom(...TEXTS.filter((text) => text.length < 4000)),
  fc.constantFrom(2 ** 53, 2 ** 63, 1e300, -1, 1.5, null, true, [], {}, "9223372036854775808"),
);

/** Hostile path segments, already encoded. */
export const hostileSegment: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    ...[
      "2147483648",
      "9007199254740992",
      "9007199254740993",
      "9223372036854775808",
      "1e20",
      "1e3",
      "0x1",
      "%201",
      "1%20",
      "+1",
    ],
    ...[
      "%2B1",
      "-1",
      "0",
      "00",
      "1.0",
      "%D9%A1",
      "\xd9\xa1",
      "%00",
      "1%00",
      "%2F",
      "%2f..%2f",
      "%2E%2E",
      "..",
      ".",
      "%2e",
      "%5C",
    ],
    ...[
      "%",
      "%G1",
      "%C3",
      "%C3%28",
      "%ED%A0%80",
      "%F5%80%80%80",
      "%u0031",
      "%25",
      "%2500",
      "1;a=b",
      "1,2",
      "1'",
      "{id}",
      ":id",
    ],
    ...[
      "self",
      "1ASDF",
      "%0d%0aset-cookie:%20a",
      "%FF",
      "\xff",
      "1.json",
      ".json",
      "*",
      "~",
      "[1]",
      "1&a=b",
      "1%3Fa",
      "1%23a",
      "",
    ],
    ...[
      "open%2F..%2Fsecret",
      "open%2F%2Fclub",
      "open%2Fclub%2F",
      "%2Fopen",
      "open%00%2Fclub",
      "deep%2F".repeat(30),
      "9".repeat(400),
      "a".repeat(4000),
      "a".repeat(8200),
      "%41".repeat(2000),
      encodeURIComponent(incompressible(255, astral)),
    ],
  ),
  fc.webPath({ size: "small" }).map((path) => path.slice(1)),
  fc.integer().map(String),
);

const withoutNull = (schema: TSchema): TSchema =>
  Type.IsUnion(schema) ? (schema.anyOf.find((option) => !Type.IsNull(option)) ?? schema) : schema;

export const isFile = (schema: TSchema) => (withoutNull(schema) as Keywords).format === "binary";

const id = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 40 }), weight: 8 },
  { arbitrary: fc.nat(100_000), weight: 1 },
);
const unique = fc.integer({ min: 0, max: 2 ** 40 }).map((number) => number.toString(36));
const hour = fc.integer({ min: 0, max: 23 }).map((number) => String(number).padStart(2, "0"));
const day = fc
  .integer({ min: -400, max: 400 })
  .map((days) => new Date(Date.UTC(2026, 10, 15 + days)).toISOString().slice(0, 10));
const words = fc.constantFrom("Zoe", "Ann de Vries", "name of user", "Zürich", "東京", "o'neil", "a_b", "100%");

/** Texts whose parameter name tells their format. */
function namedText(name: string): Arbitrary<string> | undefined {
  if (name === "username") return unique.map((text) => `fz-${text}`);
  if (name === "email") return unique.map((text) => `fz-${text}@example.com`);
  if (/^(?:current_|new_)?password(?:_again)?$/.test(name)) return unique.map((text) => `${PASSWORD_CANARY}${text}`);
  if (name === "login") return fc.constantFrom("root", "boss", "user", "reader", "person-0@example.com");
  if (name === "code" || name === "otp_attempt") return fc.nat(999_999).map((code) => String(code).padStart(6, "0"));
  if (name === "domain") return unique.map((text) => `fz-${text}.example`);
  if (name === "emoji") return fc.constantFrom("coffee", "+1", "speech_balloon");
  if (name === "commit_email") return fc.constantFrom("_private", "");
  if (name === "public_email") return fc.constant("");
  if (name === "extern_uid") return unique;
  if (name === "provider") return fc.constantFrom("ldapmain", "saml", "github");
  if (name === "pagination") return fc.constantFrom("keyset", "offset");
  if (name === "two_factor") return fc.constantFrom("enabled", "disabled");
  if (name === "website_url") return fc.constantFrom("https://example.com/a", "example.com", "");
  if (name === "discord") return fc.constant("123456789012345678");
  if (name === "path") return unique.map((text) => `fz-${text}`);
  if (name === "default_branch" || name === "default_branch_name") return fc.constantFrom("main", "trunk/ünï");
  if (name === "repository_storage") return fc.constant("default");
  if (name === "file") return fc.constantFrom("default.svg", "avatar.png", "avatar.gif", "swagger-ui.css");
  return undefined;
}

function textFor(name: string, { format, minLength = 0, maxLength = 100 }: Keywords): Arbitrary<string> {
  if (format === "date") return day;
  if (format === "date-time") return fc.tuple(day, hour).map(([on, at]) => `${on}T${at}:00:00Z`);
  return (
    namedText(name) ?? fc.oneof(words, fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, 20) }))
  );
}

/** A value that the schema of a parameter accepts; `name` and `known` make it meaningful. */
export function validValue(name: string, given: TSchema, known: Known): Arbitrary<unknown> {
  if (Type.IsUnion(given)) {
    const options = given.anyOf.map((option) =>
      Type.IsNull(option)
        ? { arbitrary: fc.constant(null), weight: 1 }
        : { arbitrary: validValue(name, option, known), weight: 6 },
    );
    return fc.oneof(...options);
  }
  if (Type.IsArray(given)) return listOf(validValue(name, given.items, known), given as Keywords);
  return known(name, given) ?? valueOf(name, given, known);
}

/** A list, which some parameters also accept as one text. */
function listOf(
  items: Arbitrary<unknown>,
  { commaList, minItems = 1 }: Keywords & { minItems?: number },
): Arbitrary<unknown> {
  const list = fc.array(items, { minLength: minItems, maxLength: 3 });
  return commaList
    ? fc.oneof(
        list,
        list.map((values) => values.join(",")),
      )
    : list;
}

function valueOf(name: string, schema: TSchema, known: Known): Arbitrary<unknown> {
  const { minimum, maximum } = schema as Keywords;
  if (Type.IsString(schema)) return textFor(name, schema as Keywords);
  if (Type.IsBoolean(schema)) return fc.boolean();
  if (Type.IsInteger(schema) || Type.IsNumber(schema)) {
    const least = Math.max(minimum ?? 1, 1);
    return minimum === 0 && maximum === undefined
      ? id
      : fc.integer({ min: least, max: Math.min(maximum ?? least + 5, least + 5) });
  }
  if (Type.IsEnum(schema)) return fc.constantFrom(...schema.enum);
  if (Type.IsLiteral(schema)) return fc.constant(schema.const);
  if (Type.IsRecord(schema))
    return fc.dictionary(
      fc.constantFrom("team", "site", "default"),
      validValue(name, Type.RecordValue(schema), known),
      {
        maxKeys: 2,
        noNullPrototype: true,
      },
    );
  if (Type.IsObject(schema)) {
    const properties = Object.entries(schema.properties);
    const requiredKeys = properties.filter(([, inner]) => !Type.IsOptional(inner)).map(([key]) => key);
    return fc.record(Object.fromEntries(properties.map(([key, inner]) => [key, validValue(key, inner, known)])), {
      requiredKeys,
    });
  }
  if (isFile(schema)) return image;
  return words;
}
