import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

export const TOKEN_PREFIX = "flpat-";

/** By it monitoring tools send alerts. */
export const INTEGRATION_KEY_PREFIX = "flak-";

/** A new secret: 160 random bits behind our prefix, with a checksum that scanners of leaked secrets can verify. */
function newSecret(prefix: string): string {
  const body = `${prefix}${randomBytes(20).toString("base64url")}`;
  return body + crc32(body).toString(36).padStart(7, "0");
}

export const newToken = () => newSecret(TOKEN_PREFIX);
export const newIntegrationKey = () => newSecret(INTEGRATION_KEY_PREFIX);

const SECRET = /fl(?:pat|ak)-[^/]*/g;

/** Whether a text has a token or key of ours in it, even a misspelt one. */
export const hasSecret = (text: string): boolean =>
  text.includes(TOKEN_PREFIX) || text.includes(INTEGRATION_KEY_PREFIX);

/** A path without the tokens and keys in it. */
export const withoutSecrets = (path: string): string => (hasSecret(path) ? path.replaceAll(SECRET, "[token]") : path);

/** Compares in constant time; comparing digests makes that hold for secrets of different lengths too. */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
