import fc, { type Arbitrary } from "fast-check";
import { FOREIGN_HOST } from "./marks.ts";
import { BOUNDARY } from "./request.ts";

/** Pieces of a query that a reader of brackets may trip over. */
export const hostileQuery: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    ...["", "?", "=", "&&&", "=a", "a", "a=", "[]=1", "[a]=1", "a[=1", "a]=1", "a[b=1", "a[b]]=1", "a[[b]]=1", "a[]b=1", "a[b]c=1"],
    ...["a[]=1&a[]=2", "a[b]=1&a=2", "a=1&a[b]=2", "a[]=1&a[b]=2", "a[b][c][d][e]=1", "a[][][][]=1", "a[][b]=1&a[][b]=2", "a[0]=1&a[9]=2"],
    ...["__proto__=1", "__proto__[polluted]=yes", "constructor[prototype][polluted]=yes", "a[__proto__][polluted]=yes", "a[constructor]=1"],
    ...["%5F_proto__[polluted]=yes", "toString=1", "hasOwnProperty=1", "length=5", "a[length]=5", "a[toString]=1", "then=1", "id[]=1", "id=2"],
    ...["%", "a=%", "a=%G0", "a=%ff", "a=%ED%A0%80", "a=%C0%80", "%00=1", "a=%00", "a%00b=1", "a=\xff", "a=\xc3\xa9", "\xf0\x9f\x92\xa9=1"],
    ...["private_token[]=a", "private_token[a]=b", "private_token=", "sudo[]=1", "sudo[a]=b", "sudo=", "sudo=%20", "sudo=1", "per_page[]=1"],
    ...["per_page=0", "per_page=-1", "per_page=101", "per_page=99999999999999999999", "page=0", "page=-1", "page=9007199254740991"],
    ...["page=92233720368547758070", "page=501&per_page=100", "order_by[]=id", "order_by=__proto__", "sort=ASC", "pagination=keyset&cursor=a"],
    ...["a+b=c+d", "a=%2B", "a;b=1;c=2", "a=1#b", "a=%23", "custom_attributes[a]=b", "custom_attributes[]=a", "custom_attributes[a][b]=c"],
  ),
  fc.constantFrom(
    Array.from({ length: 1001 }, () => "a=").join("&"),
    Array.from({ length: 101 }, () => "a[]=").join("&"),
    Array.from({ length: 101 }, (_, index) => `custom_attributes[k${index}]=v`).join("&"),
    `a${"[b]".repeat(1000)}=1`,
    "a=".padEnd(7000, '"'),
    "a=".padEnd(9000, "b"),
    `custom_attributes[${"k".repeat(300)}]=v`,
  ),
  fc.webQueryParameters({ size: "small" }),
);

const TYPES = [
  ...["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-16", 'application/json; charset="utf-8"'],
  ...["APPLICATION/JSON", "application/vnd.api+json", "application/+json", "+json", "application/json; charset=", "application/json;", "json"],
  ...["application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=iso-8859-1", "text/plain", "text/json", "text/html"],
  ...["multipart/form-data", "multipart/form-data; boundary=", 'multipart/form-data; boundary=""', "multipart/form-data; boundary=other"],
  ...[`multipart/form-data; boundary="${BOUNDARY}"`, `multipart/form-data; boundary=${"b".repeat(300)}`, "multipart/mixed; boundary=x"],
  ...[`multipart/form-data; boundary*=UTF-8''${BOUNDARY}`, "multipart/form-data; boundary=a; boundary=b", "Multipart/Form-Data; Boundary=x"],
  ...["application/octet-stream", "*/*", "a", "/", ";", ",", "a/b/c", "__proto__", "constructor/prototype", "application/json, text/html"],
  ...["\xff\xfe", "x".repeat(3000), "application/json\t", "", " ", "application/x-ndjson", "application/graphql", "image/svg+xml"],
];
export const hostileType: Arbitrary<string> = fc.constantFrom(...TYPES);

/** Hosts whose links must lead to us all the same, or nowhere. */
const HOSTS = [
  ...["localhost", "localhost:8080", "127.0.0.1", "[::1]:3000", "LOCALHOST", "localhost:99999", "localhost:0", "127.999.0.1", "127.1.2.3:65536"],
  ...["127.0.0.01", "127.0.0.99999999999", FOREIGN_HOST, `localhost.${FOREIGN_HOST}`, `localhost@${FOREIGN_HOST}`, `localhost:80@${FOREIGN_HOST}`],
  ...["", "localhost:", "localhost:a", "a".repeat(3000), "[::1", "[]", "..", "\xff", "localhost/a", `localhost, ${FOREIGN_HOST}`, "1", "0x7f.1"],
];
export const hostileHost: Arbitrary<string> = fc.constantFrom(...HOSTS);

type Header = [name: string, value: string];

const HEADERS: readonly Header[] = [
  ["__proto__", "x"],
  ["constructor", "x"],
  ["prototype", "x"],
  ["hasownproperty", "x"],
  ["tostring", "x"],
  ["if-none-match", "*"],
  ["if-none-match", 'W/"0"'],
  ["if-none-match", '"a", "b"'],
  ["if-none-match", "a".repeat(5000)],
  ["if-modified-since", "Thu, 01 Jan 1970 00:00:00 GMT"],
  ["if-unmodified-since", "Thu, 01 Jan 1970 00:00:00 GMT"],
  ["if-match", '"a"'],
  ["range", "bytes=0-"],
  ["range", "bytes=99999999999999999999-"],
  ["accept", "application/xml"],
  ["accept", "*/*;q=0"],
  ["accept-encoding", "gzip, br;q=2, *;q=0"],
  ["accept-language", "a".repeat(2000)],
  ["content-encoding", "gzip"],
  ["content-encoding", "deflate, br"],
  ["content-language", "\xff"],
  ["content-md5", "a"],
  ["origin", `https://${FOREIGN_HOST}`],
  ["origin", "null"],
  ["origin", ""],
  ["referer", `https://${FOREIGN_HOST}/`],
  ["cookie", "a=b; __proto__=c; ".repeat(50)],
  ["cookie", "=;=;;"],
  ["x-forwarded-for", "1.2.3.4, unknown, ::1"],
  ["x-forwarded-host", FOREIGN_HOST],
  ["x-forwarded-proto", "gopher"],
  ["forwarded", `for=1.2.3.4;host=${FOREIGN_HOST};proto=https`],
  ["x-http-method-override", "DELETE"],
  ["x-request-id", "a".repeat(200)],
  ["x-original-url", "/api/v4/users"],
  ["accept-version", "2.0.0"],
  ["via", "1.1 a"],
  ["te", "trailers"],
  ["trailer", "private-token"],
  ["upgrade", "h2c"],
  ["connection", "close"],
  ["connection", "keep-alive, private-token"],
  ["keep-alive", "timeout=0"],
  ["max-forwards", "0"],
  ["date", "now"],
  ["from", "\xe4\xf6\xfc"],
  ["user-agent", ""],
  ["user-agent", "a".repeat(8000)],
  ["x-long", "a".repeat(20_000)],
  ["x-long", "a".repeat(70_000)],
  ["authorization", ""],
  ["authorization", "Basic cm9vdDpyb290"],
  ["authorization", "Basic"],
  ["authorization", "Bearer"],
  ["authorization", "Bearer "],
  ["authorization", "bearer a b c"],
  ["authorization", "Digest username=a"],
  ["authorization", `Bearer ${"a".repeat(9000)}`],
  ["authorization", "Bearer \xff\xfe"],
  ["private-token", ""],
  ["private-token", "\xff\xfe"],
  ["private-token", "a, b"],
  ["job-token", "a"],
  ["deploy-token", "a"],
];

const SUDO = ["1", "3", "0", "-1", "9007199254740992", "9223372036854775808", "root", "", " ", "\xff", "a".repeat(3000), "1e3", "__proto__", "%00"];

export const hostileHeaders: Arbitrary<Header[]> = fc.oneof(
  { arbitrary: fc.constantFrom(...HEADERS).map((header) => [header]), weight: 12 },
  { arbitrary: fc.constantFrom(...SUDO).map((value): Header[] => [["sudo", value]]), weight: 4 },
  {
    arbitrary: fc.constantFrom(99, 101, 500, 2000).map((count) => Array.from({ length: count }, (_, index): Header => [`x-${index}`, "a"])),
    weight: 1,
  },
  { arbitrary: fc.constantFrom(...HEADERS).map((header): Header[] => [header, header]), weight: 1 },
  { arbitrary: fc.string({ unit: "binary-ascii", maxLength: 30 }).map((value): Header[] => [["x-any", value]]), weight: 1 },
);
