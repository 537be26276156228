import { createPublicKey, hash, type KeyObject, verify } from "node:crypto";
import { fieldsOf } from "./ssh-keys.ts";

/** Kinds of key whose private half stays in a security token, which signs more than it is shown. */
const TOKEN_KINDS = ["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"] as const;
type TokenKind = (typeof TOKEN_KINDS)[number];

export const isTokenKind = (kind: string): kind is TokenKind => (TOKEN_KINDS as readonly string[]).includes(kind);

/** Set where somebody touched the token; nothing counts without it. */
const TOUCHED = 0x01;
const FLAGS_AND_COUNTER = 5;
const ED25519_SIGNATURE = 64;
const P256_NUMBER = 32;

/**
 * Whether a security token signed the data. The signature is what follows its name on the wire: what the token made
 * (its length left off), one byte of flags and four of its counter.
 */
export function isSignedByToken(kind: TokenKind, blob: Buffer, data: Buffer, signature: Buffer): boolean {
  const made = signature.subarray(0, -FLAGS_AND_COUNTER);
  const flagsAndCounter = signature.subarray(-FLAGS_AND_COUNTER);
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
  if (isEd25519) return made.length === ED25519_SIGNATURE && verify(null, signed, key, made);
  const numbers = twoNumbers(made);
  return numbers !== undefined && verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, numbers);
}

const ed25519 = (x: Buffer): KeyObject =>
  createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x: x.toString("base64url") } });

const p256 = (point: Buffer): KeyObject => {
  const x = point.toString("base64url", 1, 1 + P256_NUMBER);
  const y = point.toString("base64url", 1 + P256_NUMBER);
  return createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y } });
};

/** The two numbers of an ECDSA signature, each as long as the curve's, or undefined where they are not two such. */
function twoNumbers(made: Buffer): Buffer | undefined {
  const both: Buffer[] = [];
  let rest = made;
  for (let index = 0; index < 2; index++) {
    const length = rest.length < 4 ? Infinity : rest.readUInt32BE(0);
    if (length > rest.length - 4) return undefined;
    const number = withoutZeros(rest.subarray(4, 4 + length));
    if (number.length > P256_NUMBER) return undefined;
    both.push(Buffer.alloc(P256_NUMBER - number.length), number);
    rest = rest.subarray(4 + length);
  }
  return rest.length === 0 ? Buffer.concat(both) : undefined;
}

function withoutZeros(number: Buffer): Buffer {
  const first = number.findIndex((byte) => byte !== 0);
  return number.subarray(first === -1 ? number.length : first);
}
