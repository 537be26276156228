import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { FORBIDDEN_TYPE, readSshKey, type SshKey } from "./ssh-keys.ts";

const run = promisify(execFile);

const MADE = [
  { name: "rsa-2048", options: ["-t", "rsa", "-b", "2048"] },
  { name: "rsa-3072", options: ["-t", "rsa", "-b", "3072"] },
  { name: "ecdsa-256", options: ["-t", "ecdsa", "-b", "256"] },
  { name: "ecdsa-384", options: ["-t", "ecdsa", "-b", "384"] },
  { name: "ecdsa-521", options: ["-t", "ecdsa", "-b", "521"] },
  { name: "ed25519", options: ["-t", "ed25519"] },
];

/** Only a security token can generate such a key, so the blob is assembled here. */
const field = (bytes: Buffer | string) => {
  const content = Buffer.from(bytes as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
};
const lineOf = (kind: string, ...fields: (Buffer | string)[]) =>
  `${kind} ${Buffer.concat([kind, ...fields].map(field)).toString("base64")}`;
const innerOf = ({ blob }: SshKey): Buffer[] => {
  const bytes = Buffer.from(blob, "base64");
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32BE(at)) {
    found.push(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at)));
  }
  return found;
};

describe("SSH keys", () => {
  let folder: string;
  const lines = new Map<string, string>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "fairlead-keys-"));
    await Promise.all(
      MADE.map(async ({ name, options }) => {
        await run("ssh-keygen", ["-q", ...options, "-N", "", "-C", `ada lovelace ${name}`, "-f", join(folder, name)]);
        lines.set(name, await readFile(join(folder, `${name}.pub`), "utf8"));
      }),
    );
    const [, ed = Buffer.of()] = innerOf(key("ed25519"));
    const [, curve = "", point = Buffer.of()] = innerOf(key("ecdsa-256"));
    lines.set("sk-ed25519", `${lineOf("sk-ssh-ed25519@openssh.com", ed, "ssh:")} token`);
    lines.set("sk-ecdsa", `${lineOf("sk-ecdsa-sha2-nistp256@openssh.com", curve, point, "ssh:")} token`);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const line = (name: string) => lines.get(name) ?? "";
  function key(name: string): SshKey {
    const read = readSshKey(line(name));
    assert.ok("key" in read, JSON.stringify(read));
    return read.key;
  }
  const problem = (text: string) => {
    const read = readSshKey(text);
    return "problem" in read ? read.problem : undefined;
  };

  test("bits, fingerprints and comment are those that ssh-keygen prints", async () => {
    for (const [name, text] of lines) {
      const file = join(folder, `${name}.check`);
      await writeFile(file, text);
      const [md5 = "", sha256 = ""] = await Promise.all(
        ["md5", "sha256"].map(async (kind) => (await run("ssh-keygen", ["-l", "-E", kind, "-f", file])).stdout),
      );
      const { bits, fingerprintMd5, fingerprintSha256, comment } = key(name);
      assert.ok(md5.startsWith(`${bits} MD5:${fingerprintMd5} ${comment} (`), md5);
      assert.ok(sha256.startsWith(`${bits} ${fingerprintSha256} ${comment} (`), sha256);
    }
    assert.equal(lines.size, 8);
  });

  test("a comment is optional, and surrounding space is ignored", () => {
    const { kind, blob } = key("ed25519");
    const read = readSshKey(`\n  ${kind} \t ${blob}\r\n`);
    assert.ok("key" in read);
    assert.deepEqual([read.key.kind, read.key.blob, read.key.comment], [kind, blob, ""]);
  });

  test("a key in another format than OpenSSH's is refused with a hint", async () => {
    const secret = await readFile(join(folder, "ed25519"), "utf8");
    assert.match(problem(secret) ?? "", /private key.*\.pub/);
    const { stdout: ssh2 } = await run("ssh-keygen", ["-e", "-m", "RFC4716", "-f", join(folder, "rsa-2048.pub")]);
    const { stdout: pem } = await run("ssh-keygen", ["-e", "-m", "PKCS8", "-f", join(folder, "rsa-2048.pub")]);
    for (const text of [ssh2, pem]) assert.match(problem(text) ?? "", /OpenSSH's format.*ssh-keygen -i/);
    assert.match(problem("PuTTY-User-Key-File-3: ssh-ed25519") ?? "", /private key/);
  });

  test("other types, DSA among them, and options in front are refused", () => {
    const { blob } = key("ed25519");
    for (const kind of ["ssh-dss", "ssh-ed448", "ssh-ed25519-cert-v01@openssh.com", "SSH-RSA", "constructor", "x"]) {
      assert.equal(problem(`${kind} ${blob}`), FORBIDDEN_TYPE);
    }
    assert.equal(problem(""), FORBIDDEN_TYPE);
    for (const options of ['command="id"', "restrict,pty", "no-pty", 'from="*.example.com",no-pty', "cert-authority"]) {
      assert.match(problem(`${options} ${line("ed25519")}`) ?? "", /without options/);
    }
  });

  test("a key is one line of printable characters with a type and a blob", () => {
    const { kind, blob } = key("ed25519");
    assert.match(problem(`${kind} ${blob} a\n${kind} ${blob} b`) ?? "", /one line/);
    assert.match(problem(`${kind} ${blob}\n# comment`) ?? "", /one line/);
    assert.match(problem(`${kind} ${blob} a\u2028b`) ?? "", /one line/);
    for (const odd of ["\0", "\x1b", "\x85"]) {
      assert.match(problem(`${kind} ${blob} a${odd}b`) ?? "", /control characters/);
    }
    assert.match(problem(`${kind} ${blob.slice(0, 20)} ${blob.slice(20)}`) ?? "", /invalid/);
    assert.match(problem(kind) ?? "", /nothing follows its type/);
    assert.match(problem(`${kind} ${blob} ${"x".repeat(16_384)}`) ?? "", /too long/);
  });

  test("the base64 must be canonical, and its fields complete and correct", () => {
    const { kind, blob } = key("ed25519");
    for (const other of [`${blob}=`, `${blob}!`, blob.replace(/.$/, "-"), `${blob}A`]) {
      assert.match(problem(`${kind} ${other}`) ?? "", /not base64/);
    }
    assert.match(problem(`ssh-rsa ${blob}`) ?? "", /type inside/);
    const bytes = Buffer.from(blob, "base64");
    const changed = (change: Buffer) => problem(`${kind} ${change.toString("base64")}`) ?? "";
    assert.match(changed(Buffer.concat([bytes, Buffer.of(0)])), /something follows/);
    assert.match(changed(bytes.subarray(0, -1)), /cut off/);
    assert.match(problem(lineOf(kind, Buffer.alloc(31))) ?? "", /32 bytes/);
    assert.match(problem(lineOf("sk-ssh-ed25519@openssh.com", Buffer.alloc(32), "")) ?? "", /application/);
  });

  test("an RSA key has 2048 to 16384 bits, an odd exponent, and numbers in canonical form", () => {
    const [, exponent = Buffer.of(), modulus = Buffer.of()] = innerOf(key("rsa-2048"));
    const rsa = (e: Buffer, n: Buffer) => problem(lineOf("ssh-rsa", e, n));
    const sized = (bits: number) => Buffer.concat([Buffer.of(0), Buffer.alloc(bits / 8, 0xff)]);
    assert.equal(rsa(exponent, modulus), undefined);
    assert.equal(rsa(Buffer.of(3), sized(16_384)), undefined);
    assert.equal(rsa(exponent, sized(1024)), "must be at least 2048 bits");
    assert.equal(
      rsa(exponent, Buffer.concat([Buffer.of(0x7f), Buffer.alloc(255, 0xff)])),
      "must be at least 2048 bits",
    );
    assert.equal(rsa(exponent, sized(16_392)), "must be at most 16384 bits");
    for (const bad of [Buffer.of(1), Buffer.of(4), sized(72)]) assert.match(rsa(bad, modulus) ?? "", /RSA/);
    const even = Buffer.from(modulus);
    even[even.length - 1] = 2;
    assert.match(rsa(exponent, even) ?? "", /RSA/);
    for (const odd of [Buffer.of(), Buffer.of(0), Buffer.of(0, 3), Buffer.of(0x83)]) {
      assert.match(rsa(odd, modulus) ?? "", /not written as it must be/);
    }
  });

  test("an ECDSA key is a point on the curve of its type", () => {
    const [, curve = "", point = Buffer.of()] = innerOf(key("ecdsa-256"));
    const ecdsa = (...fields: (Buffer | string)[]) => problem(lineOf("ecdsa-sha2-nistp256", ...fields)) ?? "";
    assert.equal(ecdsa(curve, point), "");
    assert.match(ecdsa("nistp384", point), /curve is not that/);
    const off = Buffer.from(point);
    off[64] = (off[64] ?? 0) ^ 1;
    const compressed = Buffer.concat([Buffer.of(2), point.subarray(1, 33)]);
    for (const bad of [off, compressed, point.subarray(0, -1), Buffer.of(0), Buffer.alloc(65)]) {
      assert.match(ecdsa(curve, bad), /point of its curve/);
    }
  });

  test("random texts never throw, and a key with one changed character is refused or parsed as written", () => {
    const real = [...lines.values()];
    const changed = fc
      .record({
        text: fc.constantFrom(...real),
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        length: fc.nat(8),
        put: fc.oneof(fc.string({ maxLength: 8 }), fc.base64String({ maxLength: 16 })),
      })
      .map(({ text, at, length, put }) => {
        const from = Math.floor(at * text.length);
        return text.slice(0, from) + put + text.slice(from + length);
      });
    const bytesChanged = fc
      .record({ text: fc.constantFrom(...real), at: fc.double({ min: 0, max: 0.999, noNaN: true }), to: fc.nat(255) })
      .map(({ text, at, to }) => {
        const [kind = "", blob = ""] = text.split(" ");
        const bytes = Buffer.from(blob, "base64");
        bytes[Math.floor(at * bytes.length)] = to;
        return `${kind} ${bytes.toString("base64")}`;
      });
    const anything = fc.string({ unit: "binary", maxLength: 200 });
    fc.assert(
      fc.property(fc.oneof(changed, bytesChanged, anything), (text) => {
        const read = readSshKey(text);
        if ("problem" in read) return read.problem.length > 0;
        const { kind, blob, comment } = read.key;
        return (
          text.trim().replaceAll(/[ \t]+/g, " ") === `${kind} ${blob} ${comment}`.trim().replaceAll(/[ \t]+/g, " ")
        );
      }),
      { numRuns: 5000 },
    );
  });
});
