import { generateKeyPairSync } from "node:crypto";

const KIND = "ssh-ed25519";

/** A new public key as OpenSSH writes it, for tests that need many. */
export function newSshKey(comment = ""): string {
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  const blob = Buffer.concat([field(Buffer.from(KIND)), field(Buffer.from(x, "base64url"))]);
  return `${KIND} ${blob.toString("base64")} ${comment}`.trim();
}

function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
