import fc, { type Arbitrary } from "fast-check";

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const sized = (length: number) => `{"name":"${"a".repeat(length - 11)}"}`;
const member = (value: string) => `{"name":${value}}`;

/** Small bodies that may confuse a JSON parser. */
const SMALL: readonly string[] = [
  ...[
    "",
    " ",
    "null",
    "true",
    "1",
    '"a"',
    "[]",
    "{}",
    "[{}]",
    "[1,2]",
    "{",
    "}",
    "[",
    '{"name"',
    '{"name":',
    '{"name":"a',
    '{"name":"a"',
  ],
  ...[
    "{'name':'a'}",
    "{name:1}",
    '{"name":1,}',
    '{"name":NaN}',
    '{"name":Infinity}',
    '{"name":undefined}',
    "// a\n{}",
    "{}{}",
    "{} x",
  ],
  ...[
    '{"name":"\\u0000"}',
    '{"\\u0000":1}',
    '{"name":"\\ud800"}',
    '{"name":"\\udc00\\ud800"}',
    '{"name":"\\uD83D\\uDE00"}',
    '{"name":"\\x"}',
  ],
  ...[
    '{"name":"a\tb"}',
    '{"name":"a\0b"}',
    '{"name":"a\nb"}',
    "\0",
    '{"name":"\\',
    '{"name":01}',
    '{"name":.5}',
    '{"name":+1}',
    '{"name":-}',
  ],
  ...[
    "1e400000",
    "1e131071",
    "-1e400000",
    "1e-400000",
    "9".repeat(1000),
    "9".repeat(1001),
    `0.${"3".repeat(1001)}`,
    "-0",
  ].map(member),
  ...['{"name":1,"name":2}', '{"name":1,"n\\u0061me":2}', '{"a":{"b":1,"b":2}}', '{"name":1,"name":1,"name":1}'],
  ...[
    '{"__proto__":{"polluted":"yes"}}',
    '{"constructor":{"prototype":{"polluted":"yes"}}}',
    '{"a":{"__proto__":1}}',
    '{"prototype":1}',
  ],
  ...[
    '{"\\u005f_proto__":{"polluted":"yes"}}',
    '{"a":[{"constructor":1}]}',
    '{"toString":1}',
    '{"hasOwnProperty":1}',
    '{"then":1}',
  ],
  ...[
    '{"private_token":{}}',
    '{"private_token":[]}',
    '{"private_token":1}',
    '{"private_token":{"toString":1}}',
    '{"private_token":null}',
  ],
  ...[
    '{"sudo":{}}',
    '{"sudo":[]}',
    '{"sudo":null}',
    '{"sudo":true}',
    '{"sudo":1.5}',
    '{"sudo":""}',
    '{"sudo":"\\u00ad"}',
    '{"sudo":9007199254740991}',
  ],
  ...[
    nested("[", "]", 32),
    nested("[", "]", 33),
    nested('{"a":', "}", 33),
    member(nested("[", "]", 31)),
    member(nested("[", "]", 32)),
  ],
];

/** Bodies at and over the limits of size, depth and number; too large to be sent often. */
const LARGE: readonly (() => string)[] = [
  () => nested("[", "]", 1000),
  () => "[".repeat(400_000),
  () => '{"a":'.repeat(100_000),
  () => member(`[${"1,".repeat(99_990)}1]`),
  () => member(`[${"1,".repeat(100_001)}1]`),
  () => `{${Array.from({ length: 50_000 }, (_, index) => `"k${index}":1`).join(",")}}`,
  () => `{${Array.from({ length: 60_000 }, (_, index) => `"${index}":1`).join(",")}}`,
  () => sized(1024 * 1024),
  () => sized(1024 * 1024 + 1),
  () => sized(2 * 1024 * 1024),
  () => member(`"${"\\u0041".repeat(150_000)}"`),
  () => member(`"${"\\".repeat(500_001)}"`),
  () => " ".repeat(1024 * 1024),
];

const BYTES: readonly Buffer[] = [
  Buffer.from('\ufeff{"name":"a"}'),
  Buffer.from('\ufeff{"name":"a"}', "utf16le"),
  Buffer.from('{"name":"a"}', "utf16le"),
  Buffer.from('{"name":"a"}', "utf16le").swap16(),
  Buffer.from('{"name":"\xff"}', "latin1"),
  Buffer.from('{"name":"\xed\xa0\x80"}', "latin1"),
  Buffer.from('{"name":"\xc0\x80"}', "latin1"),
  Buffer.from("\x1f\x8b\x08\x00\x00", "latin1"),
];

/** Whole bodies that are JSON, almost JSON, or meant to harm a JSON parser. */
export const hostileJson: Arbitrary<Buffer> = fc.oneof(
  { arbitrary: fc.constantFrom(...SMALL).map((text) => Buffer.from(text)), weight: 60 },
  { arbitrary: fc.constantFrom(...BYTES), weight: 8 },
  { arbitrary: fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text)), weight: 8 },
  { arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)), weight: 4 },
  { arbitrary: fc.constantFrom(...LARGE).map((make) => Buffer.from(make())), weight: 1 },
);
