import { hash } from "node:crypto";
import type { Databases } from "#db/database.ts";
import { badParameter, forbidden, missing, Refusal, unauthenticated } from "#lib/refusal.ts";
import type { Access, Origin } from "./access.ts";
import type { ActingUser, CallerRow, Actor, UserByToken } from "./actor.ts";
import { actingUserById, actingUserByIdOrName, callerByDigest } from "./callers.ts";
import type { Scope } from "./scopes.ts";
import { callerBySession, isFromOurPage, type SessionRow, type ShownSession } from "./sessions.ts";
import { NOT_INTERNAL } from "./user-kinds.ts";

/** What a request says of its caller, before anything of it is believed. */
export interface Credentials {
  readonly tokens: readonly string[];
  /** Where the browser sent the cookie of one. */
  readonly session: ShownSession | undefined;
  /** Whether a browser says that a page of another site made the request. */
  readonly foreign: boolean;
  /** As it came, unchecked: an id or a username. */
  readonly sudo: unknown;
  readonly origin: Origin;
}

export interface Authenticated {
  readonly actor: Actor | null;
  /** The actor's own row; absent where another user acts through sudo. */
  readonly row: CallerRow | undefined;
  /** The row of the token or session that was shown, whoever acts by it. */
  readonly used: CallerRow | SessionRow | undefined;
}

export const ANONYMOUS: Authenticated = { actor: null, row: undefined, used: undefined };

/** A token or a session's secret as it is kept and looked up: SHA-256, in hex. */
export const tokenDigest = (token: string): string => hash("sha256", token, "hex");

/** Finds who calls: token or session, state of its user, scope of the endpoint, then sudo; refuses in that order. */
export async function authenticate(
  db: Databases,
  credentials: Credentials,
  access: Access<object>,
  reads: boolean,
): Promise<Authenticated> {
  const { tokens, session, sudo, origin } = credentials;
  // Another site must not sign somebody in either, as whomever it likes.
  if (access.signsIn && credentials.foreign) throw forbidden(NOT_OURS);
  const [token, ...others] = tokens;
  if (token === undefined) {
    // A cookie alone proves nothing: browsers send it along with whatever any site makes them ask for.
    if (session && !access.signsIn) {
      if (isFromOurPage(session)) return bySession(db, session, sudo);
      if (access.signedIn && !reads) throw forbidden(NOT_OURS);
    }
    if (sudo !== undefined) throw unauthenticated();
    return ANONYMOUS;
  }
  // Two tokens that differ leave open who is meant, so neither is used.
  if (others.some((other) => other !== token)) throw unauthenticated();

  const row = await (access.findCaller ?? callerByDigest)(db, tokenDigest(token));
  if (!row) throw unauthenticated();
  if (row.revoked) await access.onRevokedToken?.(db, row, origin);
  if (row.expired) throw invalidToken("Token is expired. You can either do re-authorization or token refresh.");
  if (row.revoked) throw invalidToken("Token was revoked. You have to re-authorize from the user.");
  refuseBadState(row);
  requireScope(row.scopes, access, reads);

  const { token_id: id, scopes, impersonation } = row;
  const actor: UserByToken = { kind: "user by token", user: row, token: { id, scopes, impersonation } };
  if (sudo === undefined) return { actor, row, used: row };
  return { actor: await actAs(db, actor, sudo), row: undefined, used: row };
}

const NOT_OURS = "This request was not made by a page of this site";

async function bySession(db: Databases, { secret }: ShownSession, sudo: unknown): Promise<Authenticated> {
  const row = await callerBySession(db, tokenDigest(secret));
  if (!row || row.ended) throw unauthenticated();
  refuseBadState(row);
  if (sudo !== undefined) throw forbidden("Only a token can be used with sudo");
  return { actor: { kind: "user by session", user: row, session: { id: row.session_id } }, row: undefined, used: row };
}

const invalidToken = (description: string) =>
  new Refusal("unauthenticated", description, { token: { error: "invalid_token", description } });

/** Why an account may not act just now, or undefined. */
export function stateProblem(user: ActingUser): string | undefined {
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

function refuseBadState(user: ActingUser) {
  const problem = stateProblem(user);
  if (problem !== undefined) throw forbidden(problem);
}

/** The user whom a job works for, read on the primary; refused if their account may not act any more. */
export async function authenticateJobUser(db: Databases, id: number): Promise<ActingUser> {
  const user = await actingUserById(db, id);
  if (!user) throw missing("User");
  refuseBadState(user);
  return user;
}

/** Refuses a token whose scopes do not open what the rule is for. */
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

function insufficientScope(wanted: readonly Scope[]) {
  const description = "The request requires higher privileges than provided by the access token.";
  return new Refusal("forbidden", description, {
    token: { error: "insufficient_scope", description, scope: wanted.join(" ") },
  });
}

async function actAs(db: Databases, actor: UserByToken, sudo: unknown): Promise<Actor> {
  if (!actor.user.admin) throw forbidden("Must be admin to use sudo");
  if (!actor.token.scopes.includes("sudo")) throw insufficientScope(["sudo"]);
  if (typeof sudo !== "string" && typeof sudo !== "number") throw badParameter("sudo is invalid");
  const target = String(sudo);
  const user = await actingUserByIdOrName(db, target);
  if (!user) throw missing(`User with ID or username '${target.slice(0, 255)}'`);
  refuseBadState(user);
  return { kind: "user by token", user, token: actor.token, sudoer: actor.user };
}
