import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { field, run, softwareToken } from "#test/support/ssh.ts";
import { isSignedByToken } from "./ssh-signatures.ts";

/** The bytes after the algorithm's name and the length of the token's signature. */
const inner = (kind: string, signature: Buffer) => signature.subarray(4 + kind.length + 4);

describe("signatures of security tokens", () => {
  for (const kind of ["ed25519", "ecdsa"] as const) {
    it(`${kind}: what was signed counts, and nothing else does`, () => {
      const token = softwareToken(kind);
      const other = softwareToken(kind);
      for (let round = 0; round < 200; round++) {
        const data = randomBytes(100);
        const signature = inner(token.kind, token.sign(data));
        assert.ok(isSignedByToken(token.kind, token.blob, data, signature));
        assert.ok(!isSignedByToken(token.kind, other.blob, data, signature), "another key");
        assert.ok(!isSignedByToken(token.kind, token.blob, randomBytes(100), signature), "other data");
        const changed = Buffer.from(signature);
        const at = (round * 7) % changed.length;
        changed[at] = (changed[at] ?? 0) ^ 0x02;
        assert.ok(!isSignedByToken(token.kind, token.blob, data, changed), `byte ${at}`);
      }
      for (let length = 0; length < 90; length++) {
        assert.ok(!isSignedByToken(token.kind, token.blob, Buffer.alloc(9), randomBytes(length)), `${length} bytes`);
      }
    });

    it(`${kind}: one that nobody touched does not count`, () => {
      const token = softwareToken(kind, { touched: false });
      const data = Buffer.from("data");
      assert.ok(!isSignedByToken(token.kind, token.blob, data, inner(token.kind, token.sign(data))));
    });

    it(`${kind}: the tokens of these tests sign as OpenSSH expects`, async () => {
      const directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
      try {
        const token = softwareToken(kind);
        const message = "hello\n";
        const head = Buffer.concat([Buffer.from("SSHSIG"), Buffer.from([0, 0, 0, 1]), field(token.blob)]);
        const about = Buffer.concat([field("file"), field(""), field("sha512")]);
        const digest = createHash("sha512").update(message).digest();
        const signature = token.sign(Buffer.concat([Buffer.from("SSHSIG"), about, field(digest)]));
        const armoured = Buffer.concat([head, about, field(signature)]).toString("base64");
        const file = join(directory, "signature");
        const lines = armoured.replaceAll(/.{70}/g, "$&\n");
        await writeFile(file, `-----BEGIN SSH SIGNATURE-----\n${lines}\n-----END SSH SIGNATURE-----\n`);
        const check = await run("ssh-keygen", ["-Y", "check-novalidate", "-n", "file", "-s", file], {}, message);
        assert.equal(check.code, 0, check.stderr + check.stdout);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    });
  }
});
