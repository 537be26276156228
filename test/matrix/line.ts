import type { Level } from "./callers.ts";

/** A status for whatever the request names, or one each for the caller's own object, somebody else's, and none. */
export type Statuses = number | readonly [own: number, foreign: number, missing: number];

export type Visibility = "private" | "internal" | "public";
export type State = "live" | "archived" | "archived above" | "marked for deletion" | CodeState;
/** Who the code of a project is for, where that is not everybody who sees it. */
export type CodeState = "code for members" | "code for nobody";

/** The group or project that a request is about. */
export interface Place {
  readonly kind: "group" | "project";
  /** A group that is in no other. */
  readonly top?: true;
  /** The least that a caller must be in it; `viewer` is whoever sees it. */
  readonly least: "viewer" | Level | "administrator";
  /** The least that what is sent asks for, where that is more. */
  readonly forThis?: Level;
  /** The parameter that names it where that is not `:id` in the path. */
  readonly by?: string;
  /** What the second name in the path stands for. */
  readonly child?:
    | "member"
    // Of a private group that it is shared with: only administrators see that group.
    | "hidden member"
    | "oneself"
    | "share"
    // One that gives the level of an Owner.
    | "owner share"
    | "audit event"
    | "project"
    | "domain"
    | "enterprise user"
    | "service account"
    // The third name: the second is the account that has it.
    | "service account token"
    | "deploy key"
    | CodeChild;
  /** Whether administrators find what stands at another place, too. */
  readonly adminsFind?: true;
  /** Whether what stands so at a group above is found here too. */
  readonly inherits?: true;
  /** What the request lists: there are three of them in the place, and groups and projects among them are private. */
  readonly holds?:
    | "members"
    // One, of a private group that it is shared with.
    | "hidden member"
    | "subgroups"
    | "projects"
    | "audit events"
    | "stars"
    | "a star of the caller"
    | "domains"
    | "enterprise users"
    | "SAML users"
    | "service accounts"
    | "service account tokens"
    | "deploy keys";
  /** The project has a repository with something in it, and to read that takes a Reporter where it is closed. */
  readonly code?: "read" | "push";
  /**
   * Git itself asks: it names the project by its full path, of now or of before, and is asked for a token wherever it
   * shows none and is refused.
   */
  readonly overGit?: true;
  /** The status of what is not there, where that is not 404. */
  readonly lacking?: number;
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

/** What is in a repository that a name in a path stands for. */
export type CodeChild = "branch" | "tag" | "commit" | "blob" | "file";

/** What a user can have that the second name in a path stands for; a follower, who is the caller, has no name. */
export type Possession =
  | "session"
  | "email"
  | "key"
  | "identity"
  | "custom attribute"
  | "follower"
  | "impersonation token";

/** What more there is to say of an endpoint. */
export interface More {
  /**
   * What the first name in the path stands for, or the parameter that `by` names. A newcomer is a user who is made for
   * the request, so that it can be changed for good; one's own account is one's own.
   */
  readonly object?: "user" | "newcomer" | "token" | "session" | "email" | "key";
  /** Columns of the newcomer. */
  readonly newcomer?: Readonly<Record<string, unknown>>;
  /** What the user who is named is given for the request. */
  readonly has?: Possession;
  /** Whether accounts are first made as new: else they had too much of what it adds, or were as it sets them already. */
  readonly anew?: true;
  readonly by?: string;
  /**
   * Parameters of a request that is in order: `*` is a word that was not used before, `{user}` a user and `{group}` a
   * public group that belong nowhere, `{namespace}` the caller's own namespace, `{visibility}` another than the
   * place has, `{event}` an audit event, `{confirm}` and `{reset}` the secret of a mailed link that nobody used yet,
   * `{login}` and `{password}` those of somebody who can sign in, `{ssh_key}` a new SSH key and `{fingerprint}` that of
   * one which somebody has.
   */
  readonly send?: string;
  /** The scopes that what is sent asks for, where those are fewer. */
  readonly scopesForThis?: string;
  /** What git sends, where that is not parameters. */
  readonly body?: "git-upload-pack" | "git-receive-pack";
  /** Whether the audit log has nothing of what it does: events tell of it. */
  readonly unaudited?: true;
  /** A field that only administrators are shown. */
  readonly adminsSee?: string;
  /** What external users are answered, where that is not what others are. */
  readonly external?: number;
  /** What bots and service accounts are answered, where that is not what people are. */
  readonly robots?: number;
  /** What a caller by session is answered, where that is not what one by token is. */
  readonly session?: number;
  /** What an administrator is answered who acts for another user, where that is not what the user is. */
  readonly sudo?: number;
  /** What a caller on the same machine is answered, where that makes a difference. */
  readonly loopback?: number;
  /** Whether tokens are not read, so that everybody is answered as an anonymous caller is. */
  readonly ignoresCredentials?: true;
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
export const READ_CODE = "api read_api read_repository";

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
  const { signedIn, top, by, forThis, child, adminsFind, inherits, holds, code, overGit, lacking, ...others } = more;
  const { foundBy, state, answers, ...rest } = others;
  return {
    anonymous: least === "viewer" && !signedIn ? success : 401,
    user: success,
    administrator: success,
    scopes,
    ...rest,
    place: {
      kind,
      least,
      ...(top && { top }),
      ...(by !== undefined && { by }),
      ...(forThis && { forThis }),
      ...(child && { child }),
      ...(inherits && { inherits }),
      ...(adminsFind && { adminsFind }),
      ...(holds && { holds }),
      ...(code && { code }),
      ...(overGit && { overGit }),
      ...(lacking !== undefined && { lacking }),
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
