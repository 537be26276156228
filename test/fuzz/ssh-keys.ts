import fc, { type Arbitrary } from "fast-check";

const ED25519 = "ssh-ed25519";

const field = (content: Uint8Array | string) => {
  const bytes = Buffer.from(content as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const lineOf = (kind: string, ...fields: (Uint8Array | string)[]) =>
  `${kind} ${Buffer.concat([kind, ...fields].map(field)).toString("base64")} somebody@somewhere`;

/** A new public key. */
export const sshKey: Arbitrary<string> = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => lineOf(ED25519, bytes));

const GOOD = lineOf(ED25519, Buffer.alloc(32, 1));
const [, BLOB = ""] = GOOD.split(" ");
const ODD = Buffer.alloc(256, 0xff);
const THREE = Buffer.of(3);

/** Keys that may confuse a parser, or that must be refused. */
const BAD: readonly string[] = [
  ...["", " ", ED25519, `${ED25519} `, `${ED25519} ====`, `${ED25519} AAAA`, `${ED25519} ${BLOB.slice(0, -4)}`],
  ...[
    `${ED25519}\t${BLOB}\tcomment`,
    ` ${GOOD} `,
    `${GOOD}\n${GOOD}`,
    `${GOOD}\u0000`,
    `${GOOD}\u2028x`,
    `ssh-rsa ${BLOB}`,
  ],
  ...[
    `no-pty ${GOOD}`,
    `command="a" ${GOOD}`,
    `ssh-dss ${BLOB}`,
    `__proto__ ${BLOB}`,
    `constructor ${BLOB}`,
    "toString a",
  ],
  ...[
    "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA",
    "-----BEGIN RSA PRIVATE KEY-----",
    "---- BEGIN SSH2 PUBLIC KEY ----",
  ],
  ...["PuTTY-User-Key-File-3: ssh-ed25519", `${GOOD} ${"c".repeat(16_000)}`, `${GOOD} ${"\u{1f600}".repeat(300)}`],
  ...[`${ED25519} ${Buffer.of(0xff, 0xff, 0xff, 0xff).toString("base64")}`, `${ED25519} ${"A".repeat(16_000)}`],
  lineOf(ED25519, Buffer.alloc(31)),
  lineOf(ED25519, Buffer.alloc(32), "more"),
  lineOf(ED25519),
  lineOf("ssh-rsa", THREE, ODD),
  lineOf("ssh-rsa", THREE, Buffer.concat([Buffer.of(0), ODD])),
  lineOf("ssh-rsa", "", ""),
  lineOf("ssh-rsa", Buffer.of(0), Buffer.of(0, 0)),
  lineOf("ssh-rsa", THREE, Buffer.concat([Buffer.of(0), Buffer.alloc(4096, 0xff)])),
  lineOf("ecdsa-sha2-nistp256", "nistp256", Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)])),
  lineOf("ecdsa-sha2-nistp256", "nistp384", Buffer.alloc(97, 4)),
  lineOf("ecdsa-sha2-nistp521", "nistp521", ""),
  lineOf("sk-ssh-ed25519@openssh.com", Buffer.alloc(32), ""),
  lineOf("sk-ssh-ed25519@openssh.com", Buffer.alloc(32), "ssh:\u0000\r\n"),
];

export const hostileSshKey: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...BAD),
  fc
    .tuple(fc.constantFrom(...BAD, GOOD), fc.nat(400), fc.string({ unit: "binary", maxLength: 3 }))
    .map(([text, at, put]) => text.slice(0, at) + put + text.slice(at + 1)),
);
