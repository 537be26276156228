/** A request as bytes, with the expected statuses of the responses, in order. */
export interface RawCase {
  readonly name: string;
  readonly bytes: Buffer;
  readonly answers: readonly (readonly number[])[];
  /** Whether more responses may follow. */
  readonly more?: true;
  /** Whether the client ends its side after the last byte. */
  readonly ends?: true;
  /** Milliseconds within which the response must arrive, for clients that are slow on purpose. */
  readonly patience?: number;
}

const LIST = "/api/v4/users";
const HOST = "host: localhost";
const BAD = [400];
const REFUSED = [400, 431];
/** Beyond 64 KiB the parser stops and no longer knows whether it was in the target or in a header. */
const TOO_LONG = [414, 431];

const request = (line: string, headers: readonly string[], body = "") =>
  Buffer.from([line, ...headers, "", body].join("\r\n"), "latin1");
const get = (target: string, ...headers: string[]) => request(`GET ${target} HTTP/1.1`, [HOST, ...headers]);
const post = (headers: readonly string[], body: string) =>
  request("POST /api/v4/users HTTP/1.1", [HOST, "content-type: application/json", ...headers], body);
const target = (length: number) => `${LIST}?a=`.padEnd(length, "b");
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const one = (name: string, statuses: readonly number[], bytes: Buffer): RawCase => ({
  name,
  bytes,
  answers: [statuses],
});

const LINES: readonly RawCase[] = [
  one("no request at all", BAD, Buffer.from("GARBAGE\r\n\r\n")),
  one("a verb alone", BAD, Buffer.from("GET\r\n\r\n")),
  one("a request of HTTP/0.9", [200, 400], Buffer.from(`GET ${LIST}\r\n\r\n`)),
  one("a version to come", BAD, request("GET / HTTP/9.9", [HOST])),
  one("a version without number", BAD, request("GET / HTTP/", [HOST])),
  one("words after the version", BAD, request(`GET ${LIST} HTTP/1.1 more`, [HOST])),
  one("a space in the target", BAD, request("GET /a b HTTP/1.1", [HOST])),
  one("a verb in small letters", BAD, request(`get ${LIST} HTTP/1.1`, [HOST])),
  one("an unknown verb", BAD, request(`FETCH ${LIST} HTTP/1.1`, [HOST])),
  one("a space before the verb", BAD, request(` GET ${LIST} HTTP/1.1`, [HOST])),
  one("empty lines before the verb", [200], Buffer.concat([Buffer.from("\r\n\r\n"), get(LIST)])),
  one("zero bytes", BAD, Buffer.alloc(100)),
  one("a TLS greeting", BAD, Buffer.from("16030100a5010000a10303", "hex")),
  one("an SSH greeting", BAD, Buffer.from("SSH-2.0-OpenSSH_9.2\r\n")),
  one("an HTTP/2 greeting", BAD, Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
  one("a control character in the target", BAD, get("/api/v4/users?a=\x01")),
  one("a NUL in the target", BAD, get("/api/v4/users?a=\0")),
  one("a fragment", [200, 400, 404], get(`${LIST}#a`)),
  one("an address instead of a path", [200, 404], get(`http://localhost${LIST}`)),
  one("another's address", [200, 404], get("http://foreign.example/api/v4/users")),
  one("a target without slash", [400, 404], get("api/v4/users")),
  one("everything", [204, 400, 404], request("OPTIONS * HTTP/1.1", [HOST])),
  one("an empty target", BAD, request("GET  HTTP/1.1", [HOST])),
  one("HTTP/1.0 without host", [200], request(`GET ${LIST} HTTP/1.0`, [])),
  one("a tunnel", [400, 404, 405], request("CONNECT localhost:80 HTTP/1.1", [HOST])),
  one("a trace", [404, 405], request(`TRACE ${LIST} HTTP/1.1`, [HOST])),
];

const SIZES: readonly RawCase[] = [
  one("target of 8,191", [200], get(target(8191))),
  one("target of 8,192", [200], get(target(8192))),
  one("target of 8,193", [414], get(target(8193))),
  one("target of 16 k", [414], get(target(16_384))),
  one("target of 64 k", TOO_LONG, get(target(65_536))),
  one("target of 65 k", TOO_LONG, get(target(66_560))),
  one("target of 1 M", TOO_LONG, get(target(1_048_576))),
  one("target of 4 M of slashes", TOO_LONG, get("/".repeat(4_194_304))),
  one("unknown target of 9 k", [414], get("/".padEnd(9000, "a"))),
  one("header of 60 k", [200], get(LIST, `x: ${"a".repeat(60_000)}`)),
  one("header of 64 k", TOO_LONG, get(LIST, `x: ${"a".repeat(66_000)}`)),
  one("header of 1 M", TOO_LONG, get(LIST, `x: ${"a".repeat(1_048_576)}`)),
  one("header name of 70 k", TOO_LONG, get(LIST, `${"x".repeat(70_000)}: a`)),
  one("100 headers", [200], get(LIST, ...Array.from({ length: 99 }, (_, index) => `x-${index}: a`))),
  one("101 headers", REFUSED, get(LIST, ...Array.from({ length: 100 }, (_, index) => `x-${index}: a`))),
  one("3,000 headers", REFUSED, get(LIST, ...Array.from({ length: 3000 }, (_, index) => `x-${index}: a`))),
  one("20,000 headers", REFUSED, get(LIST, ...Array.from({ length: 20_000 }, () => "x: a"))),
];

const HEADERS: readonly RawCase[] = [
  one("no host", BAD, request(`GET ${LIST} HTTP/1.1`, [])),
  one("an empty host", [200], request(`GET ${LIST} HTTP/1.1`, ["host:"])),
  one("two hosts", BAD, request(`GET ${LIST} HTTP/1.1`, [HOST, "host: foreign.example"])),
  one("header __proto__", [200], get(LIST, "__proto__: x")),
  one("header constructor", [200], get(LIST, "constructor: x", "prototype: y", "toString: z", "hasOwnProperty: a")),
  one("a header without colon", BAD, get(LIST, "nonsense")),
  one("a header without name", BAD, get(LIST, ": a")),
  one("a space in a header's name", BAD, get(LIST, "a b: c")),
  one("a space before the colon", BAD, get(LIST, "transfer-encoding : chunked")),
  one("a folded header", [200, 400], get(LIST, "a: b\r\n c")),
  one("a NUL in a header", BAD, get(LIST, "a: b\0c")),
  one("a bare CR in a header", BAD, get(LIST, "a: b\rc")),
  one("lines that end in LF", [200, 400], Buffer.from(`GET ${LIST} HTTP/1.1\nhost: localhost\n\n`)),
  one("high bytes in a header", [200], get(LIST, "a: \xff\xfe")),
  one(
    "an expectation that can be met",
    [401, 415],
    request(`POST ${LIST} HTTP/1.1`, [HOST, "expect: 100-continue", "content-length: 2"], "{}"),
  ),
  one("an expectation that cannot", [200, 400], get(LIST, "expect: miracles")),
  one(
    "an upgrade to a web socket",
    [200, 400],
    get(LIST, "connection: upgrade", "upgrade: websocket", "sec-websocket-key: a", "sec-websocket-version: 13"),
  ),
  one(
    "an upgrade to HTTP/2",
    [200, 400],
    get(LIST, "connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQ"),
  ),
  one("two tokens in one header", [401], get(LIST, "private-token: a", "private-token: b")),
];

/** Requests whose end two servers in a row may see differently. */
const SMUGGLING: readonly RawCase[] = [
  one("a length and chunks", BAD, post(["content-length: 4", "transfer-encoding: chunked"], "0\r\n\r\n")),
  one("chunks and a length", BAD, post(["transfer-encoding: chunked", "content-length: 4"], "0\r\n\r\n")),
  one("two different lengths", BAD, post(["content-length: 2", "content-length: 3"], "{}")),
  one("the same length twice", BAD, post(["content-length: 2", "content-length: 2"], "{}")),
  one("a negative length", BAD, post(["content-length: -1"], "")),
  one("a length with a sign", BAD, post(["content-length: +2"], "{}")),
  one("a length in hex", BAD, post(["content-length: 0x2"], "{}")),
  one("two lengths in one", BAD, post(["content-length: 2, 2"], "{}")),
  one("a length past 2^64", BAD, post(["content-length: 99999999999999999999"], "{}")),
  one("an unknown coding", BAD, post(["transfer-encoding: xchunked"], "{}")),
  one("no coding but by name", BAD, post(["transfer-encoding: identity"], "{}")),
  one("chunks that are not last", BAD, post(["transfer-encoding: chunked, identity"], "0\r\n\r\n")),
  one("chunks twice", [400, 401], post(["transfer-encoding: chunked", "transfer-encoding: chunked"], "0\r\n\r\n")),
  one("a chunk of a length that is none", BAD, post(["transfer-encoding: chunked"], "x\r\n{}\r\n0\r\n\r\n")),
  one("a chunk past 2^64", BAD, post(["transfer-encoding: chunked"], "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n")),
  one("a chunk longer than it says", BAD, post(["transfer-encoding: chunked"], "1\r\n{}\r\n0\r\n\r\n")),
  one(
    "a chunk with an endless note",
    BAD,
    post(["transfer-encoding: chunked"], `2;${"a".repeat(70_000)}\r\n{}\r\n0\r\n\r\n`),
  ),
  one("good chunks", [401], post(["transfer-encoding: chunked"], `${chunk("{}")}0\r\n\r\n`)),
  one(
    "chunks with a trailer",
    [401],
    post(["transfer-encoding: chunked", "trailer: private-token"], `${chunk("{}")}0\r\nprivate-token: a\r\n\r\n`),
  ),
  one(
    "chunks of more than 1 MiB",
    [413],
    post(["transfer-encoding: chunked"], `${chunk("a".repeat(65_536)).repeat(20)}0\r\n\r\n`),
  ),
  one("a body of more than 1 MiB", [413], post(["content-length: 1048577"], "a".repeat(1_048_577))),
  one("a body of 10 MiB", [413], post(["content-length: 10485760"], "a".repeat(10_485_760))),
  { name: "two requests at once", bytes: Buffer.concat([get(LIST), get("/-/liveness")]), answers: [[200], [200]] },
  {
    name: "a request and garbage",
    bytes: Buffer.concat([get(LIST), Buffer.from("GARBAGE\r\n\r\n")]),
    answers: [[200, 400]],
    more: true,
  },
  {
    name: "twenty requests at once",
    bytes: Buffer.concat(Array.from({ length: 20 }, () => get("/-/liveness"))),
    answers: Array.from({ length: 20 }, () => [200]),
  },
  { name: "a body that ends early", bytes: post(["content-length: 10"], "{}"), answers: [BAD], ends: true },
  {
    name: "headers that end early",
    bytes: Buffer.from(`GET ${LIST} HTTP/1.1\r\nhost: lo`),
    answers: [BAD],
    ends: true,
  },
  { name: "chunks that end early", bytes: post(["transfer-encoding: chunked"], "5\r\n{}"), answers: [BAD], ends: true },
];

export const RAW_CASES: readonly RawCase[] = [...LINES, ...SIZES, ...HEADERS, ...SMUGGLING];

/** Requests that never end; the server must give them up in time. */
export const SLOW_CASES: readonly RawCase[] = [
  {
    name: "headers that never end",
    bytes: Buffer.from(`GET ${LIST} HTTP/1.1\r\nhost: lo`),
    answers: [[408]],
    patience: 13_000,
  },
  { name: "a body that never ends", bytes: post(["content-length: 10"], "{}"), answers: [[408]], patience: 33_000 },
  {
    name: "chunks that never end",
    bytes: post(["transfer-encoding: chunked"], "5\r\n{}"),
    answers: [[408]],
    patience: 33_000,
  },
];
