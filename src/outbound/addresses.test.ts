import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { addressRules } from "./addresses.ts";
import { outboundUrl, requireAllowedHost } from "./connection.ts";
import { OutboundError } from "./failure.ts";

const PUBLIC_ONLY = addressRules({ allowed: [], allowLocal: false, ownPorts: [] });

/** Whether a URL may be connected to; `url` if it is no URL for us at all. */
function verdict(url: string, mayConnect = PUBLIC_ONLY): "allowed" | "refused" | "url" {
  try {
    requireAllowedHost(outboundUrl(url), mayConnect);
    return "allowed";
  } catch (error) {
    assert.ok(error instanceof OutboundError);
    return error.reason === "destination" ? "refused" : "url";
  }
}

const HOSTS = {
  allowed: [
    ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"],
    ...["128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255"],
    ...["192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"],
    ...["134744072", "0x08080808", "010.8.8.8", "8.8.2056", "8.526344", "8.8.8.8."],
    ...["[2606:4700:4700::1111]", "[2001:4860:4860::8888]", "[2a00:1450::1]", "[2001:200::1]", "[2003::1]"],
    ...["example.com", "10.example.com", "127.0.0.1.example.com", "xn--bcher-kva.example", "localhost.example.com"],
  ],
  refused: [
    // Loopback, in all the notations that a URL may have.
    ...["127.0.0.1", "127.255.255.254", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001"],
    ...[
      "0177.0.0.1",
      "0x7f.0x0.0x0.0x1",
      "0000000177.0.0.1",
      "127.0.0.0x1",
      "127.0.0.1.",
      "%31%32%37.0.0.1",
      "①②⑦.0.0.1",
      "127。0。0。1",
    ],
    ...["localhost", "LOCALHOST", "localhost.", "a.localhost", "ｌｏｃａｌｈｏｓｔ"],
    // This network, private, shared, link-local.
    ...["0.0.0.0", "0", "0x0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "012.1.1.1", "167772161"],
    ...["172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.65535", "100.64.0.0", "100.100.100.200"],
    ...["100.127.255.255", "169.254.169.254", "0xa9fea9fe", "169.254.43518", "168.63.129.16"],
    // Protocols, documentation, benchmarks, multicast, reserved, broadcast.
    ...["192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1"],
    ...["203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "4294967295"],
    // IPv6 by itself.
    ...["[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[fe80::1]", "[febf::1]", "[fec0::1]", "[fc00::1]"],
    ...[
      "[fd00:ec2::254]",
      "[ff02::1]",
      "[ff0e::1]",
      "[100::1]",
      "[2001:db8::1]",
      "[3fff::1]",
      "[5f00::1]",
      "[4000::1]",
    ],
    // IPv4 inside IPv6: mapped, compatible, NAT64, 6to4, Teredo; also of public addresses.
    ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:10.0.0.1]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[::ffff:8.8.8.8]"],
    ...[
      "[::127.0.0.1]",
      "[::a00:1]",
      "[::8.8.8.8]",
      "[::ffff:0:127.0.0.1]",
      "[64:ff9b::127.0.0.1]",
      "[64:ff9b::a00:1]",
    ],
    ...["[64:ff9b::8.8.8.8]", "[64:ff9b:1::10.0.0.1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2002:808:808::1]"],
    ...["[2001::1]", "[2001:0:7f00:1::]", "[2001:2::1]", "[2001:10::1]", "[2001:20::1]"],
  ],
  url: [
    ...["[fe80::1%eth0]", "[fe80::1%25eth0]", "[::1]x", "[::1", "[127.0.0.1]", "[::ffff:127.1]", "[v1.a]"],
    ...["256.1.1.1", "1.2.3.4.5", "0x100000000", "4294967296", "08.1.1.1", "a.1", "a.0x7f"],
    ...["127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:80:80", "a b", "a\tb", "a\nb", "a\\b", "%00", "a%0ab"],
    ...["user@1.1.1.1", "user:pass@1.1.1.1", ":pass@1.1.1.1", "", "?", "#", "1.1.1.1\\@127.0.0.1", "1.1.1.1 "],
  ],
} as const;

describe("the destinations of URLs", () => {
  for (const [expected, hosts] of Object.entries(HOSTS)) {
    test(`${hosts.length} hosts are ${expected}`, () => {
      for (const host of hosts) assert.equal(verdict(`http://${host}`), expected, host);
    });
  }

  test("only http and https", () => {
    for (const scheme of ["http", "https", "HTTPS"]) assert.equal(verdict(`${scheme}://1.1.1.1/a?b`), "allowed");
    for (const scheme of ["ftp", "file", "ws", "gopher", "data", "javascript", "unix", "http+unix", "blob:http", ""]) {
      assert.equal(verdict(`${scheme}://1.1.1.1/`), "url", scheme);
    }
    for (const text of ["1.1.1.1", "//1.1.1.1/", "/a", "about:blank"]) assert.equal(verdict(text), "url", text);
    // The parser repairs these; what it makes of them is checked.
    for (const text of ["http:127.0.0.1", "http:/127.0.0.1", "http:////127.0.0.1"])
      assert.equal(verdict(text), "refused");
  });

  test("an allowed network allows its own addresses, also mapped, but no translation of them", () => {
    const allowing = (...allowed: string[]) => addressRules({ allowed, allowLocal: false, ownPorts: [] });
    const ten = allowing("10.0.0.0/8");
    for (const host of ["10.0.0.1", "[::ffff:10.0.0.1]", "1.1.1.1"])
      assert.equal(verdict(`http://${host}`, ten), "allowed");
    for (const host of ["127.0.0.1", "[64:ff9b::10.0.0.1]", "[2002:a00:1::]", "[::10.0.0.1]"])
      assert.equal(verdict(`http://${host}`, ten), "refused", host);
    assert.equal(verdict("http://[64:ff9b::808:808]", allowing("64:ff9b::/96")), "allowed");
    assert.equal(verdict("http://[fd00::1]", allowing("uniquelocal")), "allowed");
  });

  test("a zone, a name or nothing is no address", () => {
    for (const address of ["fe80::1%eth0", "2606:4700::1%1", "example.com", "", "8.8.8", "08.8.8.8"])
      assert.equal(PUBLIC_ONLY(address, 80), false, address);
  });
});

/** The public addresses again, as ranges of numbers, without any code of the guard. */
const SPECIAL_IPV4: readonly (readonly [first: number, last: number])[] = [
  [0x00000000, 0x00ffffff],
  [0x0a000000, 0x0affffff],
  [0x64400000, 0x647fffff],
  [0x7f000000, 0x7fffffff],
  [0xa83f8110, 0xa83f8110],
  [0xa9fe0000, 0xa9feffff],
  [0xac100000, 0xac1fffff],
  [0xc0000000, 0xc00000ff],
  [0xc0000200, 0xc00002ff],
  [0xc0586300, 0xc05863ff],
  [0xc0a80000, 0xc0a8ffff],
  [0xc6120000, 0xc613ffff],
  [0xc6336400, 0xc63364ff],
  [0xcb007100, 0xcb0071ff],
  [0xe0000000, 0xffffffff],
];
/** The prefixes of IPv6 that are asked about, and whether they are public. */
const PREFIXES: Readonly<Record<string, boolean>> = {
  "00000000000000000000ffff": false, // mapped
  "000000000000000000000000": false, // compatible, unspecified, loopback
  "0000000000000000ffff0000": false, // translated
  "0064ff9b0000000000000000": false, // NAT64
  "0064ff9b0001": false,
  "0100": false,
  "1fff": false,
  "2001": false, // completed by a group below 0200
  "20010db8": false,
  "2002": false,
  "3fff0": false,
  "4000": false,
  "5f00": false,
  fc: false,
  fd: false,
  fe8: false,
  fec: false,
  ff: false,
  "2003": true,
  "20010200": true,
  "20014860": true,
  "26064700": true,
  "2a00": true,
  "3ffe": true,
  "3fff1": true,
};

const isPublicIPv4 = (value: number) => !SPECIAL_IPV4.some(([first, last]) => value >= first && value <= last);

/** Numbers from everywhere, from inside the special networks, and from just beside them. */
const ipv4 = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.constantFrom(...SPECIAL_IPV4).chain(([min, max]) => fc.integer({ min, max })),
  fc
    .constantFrom(...SPECIAL_IPV4)
    .chain(([first, last]) => fc.constantFrom(first - 1, first, last, last + 1))
    .map((value) => value >>> 0),
);

const NUMBERS = [
  (part: number) => String(part),
  (part: number) => `0x${part.toString(16)}`,
  (part: number) => `0X000${part.toString(16).toUpperCase()}`,
  (part: number) => `0${part.toString(8)}`,
  (part: number) => `00000${part.toString(8)}`,
] as const;
const DISGUISES = [
  (host: string) => host,
  (host: string) => `${host}.`,
  (host: string) => host.replaceAll(".", "。"),
  (host: string) => host.replaceAll(/\d/g, (digit) => `%3${digit}`),
  (host: string) => host.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
] as const;

/** The value as one to four numbers, the last of which has all remaining bytes. */
function partsOf(value: number, count: number): number[] {
  const bytes = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const last = bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0);
  return [...bytes.slice(0, count - 1), last];
}

const ipv4Host = fc
  .record({
    value: ipv4,
    count: fc.integer({ min: 1, max: 4 }),
    forms: fc.array(fc.constantFrom(...NUMBERS), { minLength: 4, maxLength: 4 }),
    disguise: fc.constantFrom(...DISGUISES),
  })
  .map(({ value, count, forms, disguise }) => ({
    host: disguise(
      partsOf(value, count)
        .map((part, at) => forms[at]?.(part))
        .join("."),
    ),
    isPublic: isPublicIPv4(value),
  }));

const GROUPS = [
  (groups: readonly string[]) => groups.join(":"),
  (groups: readonly string[]) => groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":"),
  (groups: readonly string[]) => groups.join(":").toUpperCase(),
  (groups: readonly string[]) => groups.join(":").replace(/(^|:)0000(?::0000)+(:|$)/, "::"),
  (groups: readonly string[]) => `${groups.slice(0, 6).join(":")}:${dotted(groups.slice(6).join(""))}`,
] as const;
const dotted = (hex: string) => (hex.match(/../g) ?? []).map((byte) => parseInt(byte, 16)).join(".");

/** A prefix, at its end an address of IPv4, and between them zeros or anything. */
const ipv6Host = fc
  .record({
    prefix: fc.constantFrom(...Object.keys(PREFIXES)),
    inner: ipv4,
    filler: fc.oneof(
      fc.constant("0".repeat(32)),
      fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 32, maxLength: 32 }),
    ),
    protocol: fc.integer({ min: 0, max: 0x1ff }),
    form: fc.constantFrom(...GROUPS),
    innerFirst: fc.boolean(),
  })
  .map(({ prefix, inner, filler, protocol, form, innerFirst }) => {
    const start = prefix === "2001" ? `2001${protocol.toString(16).padStart(4, "0")}` : prefix;
    const address = inner.toString(16).padStart(8, "0");
    const free = 32 - start.length - address.length;
    const hex = innerFirst ? start + address + filler.slice(0, free) : start + filler.slice(0, free) + address;
    return { host: `[${form(hex.match(/.{4}/g) ?? [])}]`, isPublic: PREFIXES[prefix] === true };
  });

const CASES = 100_000;

test(`${CASES} generated addresses in all notations are allowed exactly if a plain model says that they are public`, (t) => {
  const counts = { allowed: 0, refused: 0, url: 0 };
  fc.assert(
    fc.property(fc.oneof(ipv4Host, ipv6Host), ({ host, isPublic }) => {
      const found = verdict(`http://${host}:8443/path`);
      counts[found]++;
      assert.equal(found, isPublic ? "allowed" : "refused", host);
    }),
    { numRuns: CASES },
  );
  t.diagnostic(`${counts.allowed} allowed, ${counts.refused} refused`);
  assert.equal(counts.url, 0);
  assert.ok(Math.min(counts.allowed, counts.refused) > CASES / 10);
});

test("the comparison notices a network that the guard leaves out", () => {
  for (const network of [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "2002::/16",
  ]) {
    const leaky = addressRules({ allowed: [network], allowLocal: false, ownPorts: [] });
    const found = fc.check(
      fc.property(
        fc.oneof(ipv4Host, ipv6Host),
        ({ host, isPublic }) => (verdict(`http://${host}`, leaky) === "allowed") === isPublic,
      ),
      { numRuns: CASES },
    );
    assert.ok(found.failed, network);
  }
});
