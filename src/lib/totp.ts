import { createHmac, randomBytes } from "node:crypto";
import { isSameSecret } from "./secrets.ts";

/** Codes of an authenticator app (RFC 6238): SHA-1, six digits, a new one every 30 seconds. */
export const STEP_SECONDS = 30;
const DIGITS = 6;
const SECRET_BYTES = 20;
/** Steps before and after the current one that are accepted, for clock skew and slow typing. */
const WINDOW = 1;

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** 160 random bits in base32, the form that authenticator apps expect. */
export const newTotpSecret = (): string => base32(randomBytes(SECRET_BYTES));

/** The code of a step; steps count from the Unix epoch. */
export function totpCode(secret: string, step: number, digits = DIGITS): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", fromBase32(secret)).update(counter).digest();
  const offset = mac.readUInt8(mac.length - 1) & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, "0");
}

/** The step that a code belongs to, among the accepted steps after the last used one. */
export function totpStep(secret: string, code: string, now: number, lastUsed: number): number | undefined {
  let found: number | undefined;
  for (let step = now - WINDOW; step <= now + WINDOW; step++) {
    if (isSameSecret(totpCode(secret, step), code) && step > lastUsed) found ??= step;
  }
  return found;
}

/** The `otpauth` URI that an app reads from a QR code. */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const about = `secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
  return `otpauth://totp/${label}?${about}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`;
}

export function base32(bytes: Buffer): string {
  let text = "";
  let bits = 0;
  let buffer = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32.charAt((buffer >>> (bits - 5)) & 31);
    buffer &= 0xff;
  }
  return bits === 0 ? text : text + BASE32.charAt((buffer << (5 - bits)) & 31);
}

function fromBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let buffer = 0;
  for (const letter of text) {
    buffer = ((buffer << 5) | BASE32.indexOf(letter)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((buffer >>> bits) & 0xff);
  }
  return Buffer.from(bytes);
}
