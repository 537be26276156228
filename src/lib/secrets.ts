import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

export const TOKEN_PREFIX = "flpat-";

/** A new token: 160 random bits behind our prefix, with a checksum that scanners of leaked secrets can verify. */
export function newToken(): string {
  const body = `${TOKEN_PREFIX}${randomBytes(20).toString("base64url")}`;
  return body + crc32(body).toString(36).padStart(7, "0");
}
