import { hash } from "node:crypto";
import type { Databases } from "#db/database.ts";
import {
  badParameter,
  forbidden,
  missing,
  Refusal,
  refusedSignIn,
  type SignInKind,
  unauthenticated,
} from "#lib/refusal.ts";
import type { Access, Origin } from "./access.ts";
import {
  type ActingUser,
  ANONYMOUS,
  type TokenRow,
  type Principal,
  type UserByJob,
  type UserByToken,
} from "./principal.ts";
import { actingUserById, actingUserByIdOrName, tokenByDigest } from "./acting-users.ts";
import type { Scope } from "./scopes.ts";
import { isFromOurPage, sessionByDigest, type SessionCredentials, type SessionRow } from "./sessions.ts";
import { NOT_INTERNAL } from "./user-kinds.ts";

/** The credentials in a request, none of them verified. */
export interface Credentials {
  readonly tokens: readonly string[];
  /** Set if the browser sent the cookie of a session. */
  readonly session: SessionCredentials | undefined;
  /** Whether a browser says that a page of another site made the request. */
  readonly foreign: boolean;
  /** An id or a username, not validated. */
  readonly sudo: unknown;
  readonly origin: Origin;
}

export interface Authenticated {
  readonly principal: Principal;
  /** The row of the token; undefined if another user acts through sudo. */
  readonly row: TokenRow | undefined;
  /** The row of the token or session in the request, also with sudo. */
  readonly used: TokenRow | SessionRow | undefined;
}

export const UNAUTHENTICATED: Authenticated = { principal: ANONYMOUS, row: undefined, used: undefined };

/** The digest by which tokens and session secrets are stored and looked up: SHA-256 in hex. */
export const tokenDigest = (token: string): string => hash("sha256", token, "hex");

/** Authenticates a request: token or session, state of the user, scope of the endpoint, then sudo; refuses in that order. */
export async function authenticate(
  db: Databases,
  credentials: Credentials,
  access: Access<object>,
  reads: boolean,
): Promise<Authenticated> {
  const { tokens, session, sudo, origin } = credentials;
  // Another site must not sign a user in to an account of its choice.
  if (access.signsIn && credentials.foreign) throw notFromOurPage("password");
  const [token, ...others] = tokens;
  if (token === undefined) {
    // A cookie alone proves nothing: browsers also send it with requests that other sites cause.
    if (session && !access.signsIn) {
      if (isFromOurPage(session)) return bySession(db, session, sudo);
      if (!access.admits.anonymous && !reads) throw notFromOurPage("session");
    }
    if (sudo !== undefined) throw unauthenticated();
    return UNAUTHENTICATED;
  }
  const kind = access.forGit ? "git_http" : "token";
  const refused = (refusal: Refusal, reason: string) => refusedSignIn(refusal, { kind, reason });
  // Two different tokens are ambiguous, so neither is used.
  if (others.some((other) => other !== token))
    throw refused(unauthenticated("The request has two different tokens; send one"), "two different tokens");

  const row = await (access.findToken ?? tokenByDigest)(db, tokenDigest(token));
  if (!row) throw refused(unauthenticated(), "unknown token");
  if (row.revoked) await access.onRevokedToken?.(db, row, origin);
  if (row.expired) throw refused(invalidToken(EXPIRED), "expired token");
  if (row.revoked) throw refused(invalidToken(REVOKED), "revoked token");
  refuseBadState(row, kind);
  requireScope(row.scopes, access, reads);

  const { token_id: id, scopes, impersonation } = row;
  const principal: UserByToken = { kind: "user by token", user: row, token: { id, scopes, impersonation } };
  if (sudo === undefined) return { principal, row, used: row };
  return { principal: await actAs(db, principal, sudo), row: undefined, used: row };
}

const EXPIRED = "Token is expired. You can either do re-authorization or token refresh.";
const REVOKED = "Token was revoked. You have to re-authorize from the user.";

const notFromOurPage = (kind: SignInKind) =>
  refusedSignIn(forbidden("This request was not made by a page of this site"), {
    kind,
    reason: "not made by a page of this site",
  });

async function bySession(db: Databases, { secret }: SessionCredentials, sudo: unknown): Promise<Authenticated> {
  const row = await sessionByDigest(db, tokenDigest(secret));
  if (!row || row.ended) {
    throw refusedSignIn(unauthenticated(), { kind: "session", reason: row ? "ended session" : "unknown session" });
  }
  refuseBadState(row, "session");
  if (sudo !== undefined) throw forbidden("Only a token can be used with sudo");
  const principal = { kind: "user by session", user: row, session: { id: row.session_id } } as const;
  return { principal, row: undefined, used: row };
}

const invalidToken = (description: string) =>
  new Refusal("unauthenticated", description, { token: { error: "invalid_token", description } });

/** Why an account may not act, or undefined. */
export function stateProblem(
  user: Pick<ActingUser, "state" | "user_type" | "confirmed" | "password_expired">,
): string | undefined {
  switch (user.state) {
    case "blocked":
    case "ldap_blocked":
    case "banned":
      return "Your account has been blocked.";
    case "blocked_pending_approval":
      return "Your account is pending approval from your administrator and hence blocked.";
    case "deactivated":
      return "Your account has been deactivated by your administrator. Ask an administrator to activate it.";
    case "active":
      if (!NOT_INTERNAL.includes(user.user_type)) return "This action cannot be performed by internal users";
      if (!user.confirmed)
        return "Your primary email address is not confirmed. Follow the link in the confirmation mail.";
      if (user.password_expired) return "Your password expired. Sign in with a browser to choose a new one.";
      return undefined;
  }
}

/** Refuses a user who may not act; `kind` is the credential by which they sign in, if they do. */
function refuseBadState(user: ActingUser, kind?: SignInKind) {
  const problem = stateProblem(user);
  if (problem === undefined) return;
  throw kind ? refusedSignIn(forbidden(problem), { kind, reason: problem }) : forbidden(problem);
}

/** Authenticates the user for whom a job runs; refused if the account may no longer act. */
export async function authenticateJob(db: Databases, userId: number): Promise<UserByJob> {
  const user = await actingUserById(db, userId);
  if (!user) throw missing("User");
  refuseBadState(user);
  return { kind: "user by job", user };
}

/** Refuses a token without a scope that the rule accepts. */
export function requireScope(
  scopes: readonly Scope[],
  access: Pick<Access<object>, "scopes" | "forGit">,
  reads: boolean,
) {
  if (scopes.includes("api")) return;
  if (reads && !access.forGit && scopes.includes("read_api")) return;
  if (access.scopes.some((scope) => scopes.includes(scope))) return;
  throw insufficientScope([...access.scopes, "api", ...(access.forGit ? [] : (["read_api"] as const))]);
}

function insufficientScope(accepted: readonly Scope[]) {
  const description = "The request requires higher privileges than provided by the access token.";
  return new Refusal("forbidden", description, {
    token: { error: "insufficient_scope", description, scope: accepted.join(" ") },
  });
}

async function actAs(db: Databases, { user: sudoer, token }: UserByToken, sudo: unknown): Promise<UserByToken> {
  if (!sudoer.admin) throw forbidden("Must be admin to use sudo");
  if (!token.scopes.includes("sudo")) throw insufficientScope(["sudo"]);
  if (typeof sudo !== "string" && typeof sudo !== "number") throw badParameter("sudo is invalid");
  const target = String(sudo);
  const user = await actingUserByIdOrName(db, target);
  if (!user) throw missing(`User with ID or username '${target.slice(0, 255)}'`);
  refuseBadState(user);
  return { kind: "user by token", user, token, sudoer };
}
