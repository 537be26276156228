import type { Databases } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import type { Selectable } from "kysely";
import type { Scope } from "./scopes.ts";

type UserColumns = Selectable<Database["users"]>;

/** What is known of a user who acts, enough for every rule. */
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

/** The row that a token leads to: the token's own state and its user, read on the primary for every request. */
export interface CallerRow extends ActingUser {
  readonly token_digest: string;
  readonly token_id: number;
  readonly scopes: readonly Scope[];
  /** Made by an administrator to act as the user. */
  readonly impersonation: boolean;
  readonly expired: boolean;
  readonly revoked: boolean;
  readonly use_unrecorded: boolean;
}

/** Who acts. Further kinds (a deploy key, an integration's key) join as members of this union. */
export type Actor = UserByToken | UserBySession;

export interface UserByToken {
  readonly kind: "user by token";
  readonly user: ActingUser;
  readonly token: { readonly id: number; readonly scopes: readonly Scope[]; readonly impersonation?: boolean };
  /** The administrator who acts in the user's place. */
  readonly sudoer?: ActingUser;
}

/** Somebody who signed in with a browser: all that their account may do, in nobody else's place. */
export interface UserBySession {
  readonly kind: "user by session";
  readonly user: ActingUser;
  readonly session: { readonly id: number };
  readonly sudoer?: undefined;
}

/** Whoever acts, however they proved who they are: all that the rules on levels and visibility look at. */
export type Somebody = Pick<Actor, "user">;

export const isAdministrator = (actor: Somebody | null) => actor?.user.admin === true;

/** Reads the caller of a token by the digest of it. */
export type FindCaller<Row extends CallerRow = CallerRow> = (db: Databases, digest: string) => Promise<Row | undefined>;
