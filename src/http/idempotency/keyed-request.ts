import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { badParameter } from "#lib/refusal.ts";

/** Makes an endpoint repeat its response to a request that is repeated with the same `Idempotency-Key`. */
export interface Idempotent {
  /**
   * Finds the caller whose token was ended by the request that stored a response. They would be refused, but may still
   * receive that response.
   */
  readonly replayFor?: (db: Databases, tokenDigest: string, storedAt: string) => Promise<Actor | undefined>;
}

/** A request that its caller named with an `Idempotency-Key`. */
export interface KeyedRequest {
  /** SHA-256 of the secret that authenticated the request, in hex: each credential has its own keys. */
  readonly credential: string;
  readonly key: string;
  /** Identifies the request; a key cannot be used for another one. */
  readonly digest: Buffer;
}

const isValid = (key: string) => /^[\x20-\x7e]{1,255}$/.test(key);

/** The key of a request; undefined if it has none. */
export function idempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["idempotency-key"]?.toString();
  if (key === undefined || isValid(key)) return key;
  throw badParameter("Idempotency-Key must be 1 to 255 printable characters of ASCII");
}

/** The same before authentication, where an invalid key is ignored: the request may still be refused with 401. */
export function validIdempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["idempotency-key"]?.toString();
  return key !== undefined && isValid(key) ? key : undefined;
}

/** Identifies a request, however its parameters were sent: the operation, the user, and the parameters in one order. */
export function requestDigest(operation: string, { user }: Actor, params: object): Buffer {
  const sorted = Object.entries(params).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return hash("sha256", JSON.stringify([operation, user.id, sorted]), "buffer");
}
