import { createPublicKey, hash, type KeyObject, verify } from "node:crypto";
import { fieldsOf } from "./ssh-keys.ts";

/** Key types of security tokens, which sign flags and a counter besides the data. */
const TOKEN_KINDS = ["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"] as const;
type TokenKind = (typeof TOKEN_KINDS)[number];

export const isTokenKind = (kind: string): kind is TokenKind => (TOKEN_KINDS as readonly string[]).includes(kind);

/** User presence: set if the user touched the token; required. */
const TOUCHED = 0x01;
const FLAGS_AND_COUNTER_BYTES = 5;
const ED25519_SIGNATURE_BYTES = 64;
const P256_NUMBER_BYTES = 32;

/**
 * Whether a security token signed the data. `signature` is what follows the algorithm's name on the wire: the token's
 * signature without its length, one byte of flags and four bytes of counter.
 */
export function isSignedByToken(kind: TokenKind, blob: Buffer, data: Buffer, signature: Buffer): boolean {
  const tokenSignature = signature.subarray(0, -FLAGS_AND_COUNTER_BYTES);
  const flagsAndCounter = signature.subarray(-FLAGS_AND_COUNTER_BYTES);
  if (((flagsAndCounter[0] ?? 0) & TOUCHED) === 0) return false;
  const fields = fieldsOf(blob);
  fields.next();
  const isEd25519 = kind === "sk-ssh-ed25519@openssh.com";
  const key = isEd25519 ? ed25519(fields.next()) : p256((fields.next(), fields.next()));
  const signed = Buffer.concat([
    hash("sha256", fields.next(), "buffer"),
    flagsAndCounter,
    hash("sha256", data, "buffer"),
  ]);
  if (isEd25519) return tokenSignature.length === ED25519_SIGNATURE_BYTES && verify(null, signed, key, tokenSignature);
  const numbers = ecdsaNumbers(tokenSignature);
  return numbers !== undefined && verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, numbers);
}

const ed25519 = (x: Buffer): KeyObject =>
  createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x: x.toString("base64url") } });

const p256 = (point: Buffer): KeyObject => {
  const x = point.toString("base64url", 1, 1 + P256_NUMBER_BYTES);
  const y = point.toString("base64url", 1 + P256_NUMBER_BYTES);
  return createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y } });
};

/** The two numbers of an ECDSA signature, padded to the length of the curve's; undefined if they are malformed. */
function ecdsaNumbers(tokenSignature: Buffer): Buffer | undefined {
  const both: Buffer[] = [];
  let rest = tokenSignature;
  for (let index = 0; index < 2; index++) {
    const length = rest.length < 4 ? Infinity : rest.readUInt32BE(0);
    if (length > rest.length - 4) return undefined;
    const number = withoutZeros(rest.subarray(4, 4 + length));
    if (number.length > P256_NUMBER_BYTES) return undefined;
    both.push(Buffer.alloc(P256_NUMBER_BYTES - number.length), number);
    rest = rest.subarray(4 + length);
  }
  return rest.length === 0 ? Buffer.concat(both) : undefined;
}

function withoutZeros(number: Buffer): Buffer {
  const first = number.findIndex((byte) => byte !== 0);
  return number.subarray(first === -1 ? number.length : first);
}
