import type { Level } from "./callers.ts";

/** A status for whatever the request names, or one each for the caller's own object, somebody else's, and none. */
export type Statuses = number | readonly [own: number, foreign: number, missing: number];

export type Visibility = "private" | "internal" | "public";
export type State = "live" | "archived" | "archived above" | "marked for deletion";

/** The group or project that a request is about. */
export interface Place {
  readonly kind: "group" | "project";
  /** The least that a caller must be in it; `viewer` is whoever sees it. */
  readonly least: "viewer" | Level | "administrator";
  /** The least that what is sent asks for, where that is more. */
  readonly forThis?: Level;
  /** The parameter that names it where that is not `:id` in the path. */
  readonly by?: string;
  /** What the second name in the path stands for. */
  readonly child?: "member" | "oneself" | "share" | "audit event" | "project";
  /** Whether what stands so at a group above is found here too. */
  readonly inherits?: true;
  /** What the request lists: there are three of them in the place, and groups and projects among them are private. */
  readonly holds?: "members" | "subgroups" | "projects" | "audit events" | "stars" | "a star of the caller";
  /**
   * The request is a list by whose `search` those who see the place find it, or its members and administrators, or of
   * those who are signed in its members alone.
   */
  readonly foundBy?: "viewers" | "members" | "its own";
  /** The state in which a request finds it that is in order. */
  readonly state?: State;
  /** What those who may are answered in a state where that is no success. */
  readonly answers?: Readonly<Partial<Record<State, number>>>;
}

/** What more there is to say of an endpoint. */
export interface More {
  /** What the first name in the path stands for, or the parameter that `by` names. */
  readonly object?: "user" | "token";
  readonly by?: string;
  /**
   * Parameters of a request that is in order: `*` is a word that was not used before, `{user}` a user and `{group}` a
   * public group that belong nowhere, `{namespace}` the caller's own namespace, `{visibility}` another than the
   * place has, `{event}` an audit event.
   */
  readonly send?: string;
  /** A field that only administrators are shown. */
  readonly adminsSee?: string;
  /** What external users are answered, where that is not what others are. */
  readonly external?: number;
  /** What an administrator is answered who acts for another user, where that is not what the user is. */
  readonly sudo?: number;
  /** What a caller on the same machine is answered, where that makes a difference. */
  readonly loopback?: number;
  /** Whether showing a revoked token here ends every token that came from it. */
  readonly endsFamily?: true;
}

/** What an endpoint answers, said by hand: nothing here may come from the code that is tested. */
export interface Line extends More {
  readonly anonymous: Statuses;
  readonly user: Statuses;
  readonly administrator: Statuses;
  /** The scopes of which a token needs one, or `any`. */
  readonly scopes: string;
  readonly place?: Place;
}

export const WRITE = "api";
export const READ = "api read_api";
export const READ_USER = "api read_api read_user";

/** An endpoint that has nothing to do with a group or project. */
export function line(
  anonymous: Statuses,
  user: Statuses,
  administrator: Statuses,
  scopes: string,
  more: More = {},
): Line {
  return { anonymous, user, administrator, scopes, ...more };
}

type InPlace = More & Omit<Place, "kind" | "least"> & { readonly signedIn?: true };

function inPlace(kind: Place["kind"], least: Place["least"], success: number, scopes: string, more: InPlace): Line {
  const { signedIn, by, forThis, child, inherits, holds, foundBy, state, answers, ...rest } = more;
  return {
    anonymous: least === "viewer" && !signedIn ? success : 401,
    user: success,
    administrator: success,
    scopes,
    ...rest,
    place: {
      kind,
      least,
      ...(by !== undefined && { by }),
      ...(forThis && { forThis }),
      ...(child && { child }),
      ...(inherits && { inherits }),
      ...(holds && { holds }),
      ...(foundBy && { foundBy }),
      ...(state && { state }),
      ...(answers && { answers }),
    },
  };
}

/** An endpoint of a group: the least role, what those who have it are answered, and the scopes that open it. */
export const inGroup = (least: Place["least"], success: number, scopes: string, more: InPlace = {}): Line =>
  inPlace("group", least, success, scopes, more);

/** The same for a project. */
export const inProject = (least: Place["least"], success: number, scopes: string, more: InPlace = {}): Line =>
  inPlace("project", least, success, scopes, more);
