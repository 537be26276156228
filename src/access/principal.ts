import type { Databases } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import type { Selectable } from "kysely";
import type { Scope } from "./scopes.ts";

type UserColumns = Selectable<Database["users"]>;

/** The columns of a user that rules decide by. */
export interface ActingUser {
  readonly id: number;
  readonly username: string;
  readonly name: string;
  readonly state: UserColumns["state"];
  readonly user_type: UserColumns["user_type"];
  readonly admin: boolean;
  readonly external: boolean;
  readonly confirmed: boolean;
  readonly password_expired: boolean;
  /** The top-level group that a service account belongs to; null for one of the instance and for everybody else. */
  readonly service_account_group_id: number | null;
}

/** The state of a token and its user, read on the primary for every request. */
export interface TokenRow extends ActingUser {
  readonly token_digest: string;
  readonly token_id: number;
  readonly scopes: readonly Scope[];
  /** Whether an administrator created it to act as the user. */
  readonly impersonation: boolean;
  readonly expired: boolean;
  readonly revoked: boolean;
  readonly use_unrecorded: boolean;
}

/**
 * Who asks for something, by the credential that they showed. A further kind joins this union, and the compiler then
 * names every rule that has not decided whether it admits it.
 */
export type Principal = Anonymous | UserByToken | UserBySession | UserBySshKey | UserByJob | DeployKey | IntegrationKey;
export type PrincipalKind = Principal["kind"];

/** A principal who is a user, with the levels and the visibility that their account has. */
export type Actor = Extract<Principal, { readonly user: ActingUser }>;

export interface Anonymous {
  readonly kind: "anonymous";
}

export interface UserByToken {
  readonly kind: "user by token";
  readonly user: ActingUser;
  readonly token: { readonly id: number; readonly scopes: readonly Scope[]; readonly impersonation?: boolean };
  /** The administrator who acts as the user. */
  readonly sudoer?: ActingUser;
}

/** A user who signed in with a browser. */
export interface UserBySession {
  readonly kind: "user by session";
  readonly user: ActingUser;
  readonly session: { readonly id: number };
  readonly sudoer?: undefined;
}

/** A user who proved over SSH to hold a key of theirs. */
export interface UserBySshKey {
  readonly kind: "user by SSH key";
  readonly user: ActingUser;
  readonly key: { readonly id: number };
  readonly sudoer?: undefined;
}

/** A user for whom a job runs. */
export interface UserByJob {
  readonly kind: "user by job";
  readonly user: ActingUser;
  readonly sudoer?: undefined;
}

/** A key that opens the repositories of the projects that enabled it. */
export interface DeployKey {
  readonly kind: "deploy key";
  /** Events of its pushes name the user who created it. */
  readonly key: { readonly id: number; readonly title: string; readonly user_id: number };
}

/** A key by which a monitoring tool sends alerts to a project. */
export interface IntegrationKey {
  readonly kind: "integration key";
  readonly integration: {
    readonly id: number;
    readonly project_id: number;
    /** As stored: only the reader of payloads knows their shape. */
    readonly payload_attribute_mappings: unknown;
    /** Why it may not send alerts at present. */
    readonly problem: string | null;
  };
}

export const ANONYMOUS: Anonymous = { kind: "anonymous" };

/** The user who acts; null for a principal without an account, who has no level anywhere. */
export const actorOf = (principal: Principal): Actor | null => ("user" in principal ? principal : null);

export const isUserOrAnonymous = (principal: Principal): principal is Actor | Anonymous =>
  principal.kind === "anonymous" || "user" in principal;

export const isAdministrator = (actor: Actor | null) => actor?.user.admin === true;

/** The name under which a principal is charged for what it uses; all credentials of a user share one. */
export function principalName(principal: Exclude<Principal, Anonymous>): string {
  if ("user" in principal) return `user ${principal.user.id}`;
  return "key" in principal ? `deploy key ${principal.key.id}` : `integration ${principal.integration.id}`;
}

/** Whether two principals are the same account by the same credential; a key or a username can change hands. */
export const isSamePrincipal = (one: Principal, other: Principal): boolean => identityOf(one) === identityOf(other);

function identityOf(principal: Principal): string {
  switch (principal.kind) {
    case "anonymous":
      return principal.kind;
    case "user by token":
      return `${principal.kind} ${principal.user.id} ${principal.token.id}`;
    case "user by session":
      return `${principal.kind} ${principal.user.id} ${principal.session.id}`;
    case "user by SSH key":
      return `${principal.kind} ${principal.user.id} ${principal.key.id}`;
    case "user by job":
      return `${principal.kind} ${principal.user.id}`;
    case "deploy key":
      return `${principal.kind} ${principal.key.id}`;
    case "integration key":
      return `${principal.kind} ${principal.integration.id}`;
  }
}

/** Authenticates a principal again by the same credential; throws a Refusal if it has ended since. */
export type Reauthenticate = () => Promise<Principal>;

/** Reads a token and its user by the digest of the token. */
export type FindToken<Row extends TokenRow = TokenRow> = (db: Databases, digest: string) => Promise<Row | undefined>;
