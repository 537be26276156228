import { createHmac, randomBytes } from "node:crypto";
import type { Databases } from "#db/database.ts";
import { digests, type Lookup } from "#db/loader.ts";
import { isSameSecret } from "#lib/secrets.ts";
import type { ActingUser } from "./actor.ts";
import { actingUserColumns } from "./callers.ts";

/** What a browser sends by itself, and what only our own pages can make it send beside that. */
export interface ShownSession {
  readonly secret: string;
  readonly csrfToken: string | undefined;
  readonly sameOrigin: boolean;
}

/**
 * Which page made the request, as far as the browser says: one of ours, another one, or undefined where it says nothing.
 * Browsers send no `Sec-Fetch-Site` over plain http; `Origin` is then the only thing that pages cannot choose.
 */
export function pageOrigin(
  { fetchSite, origin }: { readonly fetchSite: string | undefined; readonly origin: string | undefined },
  isOurs: (origin: string) => boolean,
): "ours" | "foreign" | undefined {
  if (fetchSite !== undefined) return fetchSite === "same-origin" ? "ours" : "foreign";
  if (origin === undefined) return undefined;
  return isOurs(origin) ? "ours" : "foreign";
}

/** The row that a session's secret leads to: its own state and its user, read on the primary for every request. */
export interface SessionRow extends ActingUser {
  readonly session_digest: string;
  readonly session_id: number;
  readonly ended: boolean;
  readonly use_unrecorded: boolean;
}

/** Whether a session goes on, by the database's clock: 7 days at most, and not after 12 hours without use. */
export const SESSION_LIVES = `s.ends_at > now() and s.last_seen_at > now() - interval '12 hours'`;

const byDigest: Lookup<string, SessionRow> = {
  text: `
    select encode(s.digest, 'hex') as session_digest, s.id as session_id, not (${SESSION_LIVES}) as ended,
      s.last_seen_at < now() - interval '10 minutes' as use_unrecorded, ${actingUserColumns}
    from sessions s join users u on u.id = s.user_id
    where s.digest = any($1::bytea[])`,
  keys: digests,
  key: (row) => row.session_digest,
};

export const callerBySession = (db: Databases, digest: string): Promise<SessionRow | undefined> =>
  db.point.load(byDigest, digest);

/** 256 random bits: what the cookie holds. */
export const newSessionSecret = (): string => randomBytes(32).toString("base64url");

/** What a page must repeat in a header: it follows from the secret, which pages cannot read. */
export const csrfTokenOf = (secret: string): string =>
  createHmac("sha256", secret).update("csrf token").digest("base64url");

/** Whether a page of ours made the request, and not one that only made the browser send its cookie. */
export const isFromOurPage = ({ secret, csrfToken, sameOrigin }: ShownSession): boolean =>
  sameOrigin && csrfToken !== undefined && isSameSecret(csrfToken, csrfTokenOf(secret));
