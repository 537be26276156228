import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

export const TOKEN_PREFIX = "flpat-";

/** A new token: 160 random bits behind our prefix, with a checksum that scanners of leaked secrets can verify. */
export function newToken(): string {
  const body = `${TOKEN_PREFIX}${randomBytes(20).toString("base64url")}`;
  return body + crc32(body).toString(36).padStart(7, "0");
}

/** Compares in constant time; comparing digests makes that hold for secrets of different lengths too. */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
