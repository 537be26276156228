import { createHmac, randomBytes } from "node:crypto";
import type { Databases } from "#db/database.ts";
import { digests, type Lookup } from "#db/loader.ts";
import { isSameSecret } from "#lib/secrets.ts";
import type { ActingUser } from "./principal.ts";
import { actingUserColumns } from "./acting-users.ts";

/** The cookie that a browser sends by itself, and what only our own pages can make it send. */
export interface SessionCredentials {
  readonly secret: string;
  readonly csrfToken: string | undefined;
  readonly sameOrigin: boolean;
}

/**
 * Whether a page of ours or a foreign one made the request, or undefined if the browser does not say. Browsers send no
 * `Sec-Fetch-Site` over plain http; `Origin` is then the only header that pages cannot choose.
 */
export function pageOrigin(
  { fetchSite, origin }: { readonly fetchSite: string | undefined; readonly origin: string | undefined },
  isOurs: (origin: string) => boolean,
): "ours" | "foreign" | undefined {
  if (fetchSite !== undefined) return fetchSite === "same-origin" ? "ours" : "foreign";
  if (origin === undefined) return undefined;
  return isOurs(origin) ? "ours" : "foreign";
}

/** The state of a session and its user, read on the primary for every request. */
export interface SessionRow extends ActingUser {
  readonly session_digest: string;
  readonly session_id: number;
  readonly ended: boolean;
  readonly use_unrecorded: boolean;
}

/** Whether a session is active by the database's clock: it ends after 7 days, or after 12 hours without use. */
export const SESSION_IS_ACTIVE = `s.ends_at > now() and s.last_seen_at > now() - interval '12 hours'`;

const byDigest: Lookup<string, SessionRow> = {
  text: `
    select encode(s.digest, 'hex') as session_digest, s.id as session_id, not (${SESSION_IS_ACTIVE}) as ended,
      s.last_seen_at < now() - interval '10 minutes' as use_unrecorded, ${actingUserColumns}
    from sessions s join users u on u.id = s.user_id
    where s.digest = any($1::bytea[])`,
  keys: digests,
  key: (row) => row.session_digest,
};

export const sessionByDigest = (db: Databases, digest: string): Promise<SessionRow | undefined> =>
  db.point.load(byDigest, digest);

/** The value of the cookie: 256 random bits. */
export const newSessionSecret = (): string => randomBytes(32).toString("base64url");

/** The token that a page must send in a header; it is derived from the secret, which scripts cannot read. */
export const csrfTokenOf = (secret: string): string =>
  createHmac("sha256", secret).update("csrf token").digest("base64url");

/** Whether a page of ours made the request, and not another site that made the browser send its cookie. */
export const isFromOurPage = ({ secret, csrfToken, sameOrigin }: SessionCredentials): boolean =>
  sameOrigin && csrfToken !== undefined && isSameSecret(csrfToken, csrfTokenOf(secret));
