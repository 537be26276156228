import type { Level } from "./callers.ts";

/** One status for every object, or one each for the caller's own object, another user's, and a missing one. */
export type Statuses = number | readonly [own: number, foreign: number, missing: number];

export type Visibility = "private" | "internal" | "public";
export type State = "live" | "archived" | "archived above" | "marked for deletion" | CodeState;
/** Restrictions of the code of a project. */
export type CodeState = "code for members" | "code for nobody";

/** The group or project that a request is about. */
export interface Container {
  readonly kind: "group" | "project";
  /** Whether it is a top-level group. */
  readonly top?: true;
  /** The role that a caller needs in it; `viewer` is everyone who may see it. */
  readonly least: "viewer" | Level | "administrator";
  /** Roles between that do not have the right. */
  readonly except?: readonly Level[];
  /** Whether its children are for those whom its visibility or a role lets in; others may see it as the way to a subgroup. */
  readonly inner?: true;
  /** The role that this request needs, if that is more. */
  readonly requestRole?: Level;
  /** The role that this request needs in the group that the project is in. */
  readonly roleAbove?: Level;
  /** The parameter that names it, if that is not `:id` in the path. */
  readonly by?: string;
  /**
   * What the names after the first in the path refer to: a fixture, something in a repository, `oneself`, or a `project`
   * that is created for each request.
   */
  readonly child?: string;
  /** The parameter that names the child, if the path does not. */
  readonly childBy?: string;
  /** Whether administrators also find children of other containers. */
  readonly adminsFind?: true;
  /** Whether children of a group above are found here too. */
  readonly inherits?: true;
  /** The fixture of which the container has three; groups and projects among them are private. */
  readonly holds?: string;
  /** The project has a repository with content; if the project is private, reading it takes a Reporter. */
  readonly code?: "read" | "push";
  /** Who sees a private project sees what the request is about from Reporter on. */
  readonly fromReporter?: true;
  /**
   * Git sends the request: it names the project by its current or previous full path, and gets 401 whenever it is
   * refused without a token.
   */
  readonly overGit?: true;
  /** The status for a missing child, if that is not 404. */
  readonly missingStatus?: number;
  /**
   * The request is a list with a `search` that finds the container: for everyone who may see it, for its members and
   * administrators, or, of signed-in callers, for its members only.
   */
  readonly foundBy?: "viewers" | "members" | "its own";
  /** The state in which the request succeeds. */
  readonly state?: State;
  /** The statuses for callers with access in states in which the request fails. */
  readonly answers?: Readonly<Partial<Record<State, number>>>;
}

/** The kinds of objects in a repository that a path can name. */
export type CodeChild = "branch" | "tag" | "commit" | "blob" | "file";

/** Further expectations of an endpoint. */
export interface More {
  /**
   * What the first name in the path, or the parameter `by`, refers to: `user`, `token`, or a fixture of users. A
   * `newcomer` is a user who is created for the request, so that it can be changed permanently.
   */
  readonly object?: string;
  /** Columns of the newcomer. */
  readonly newcomer?: Readonly<Record<string, unknown>>;
  /** The fixture that is created for the named user. */
  readonly has?: string;
  /** Whether accounts are reset first: otherwise they reach a limit, or already have the value that is set. */
  readonly resetsAccounts?: true;
  readonly by?: string;
  /**
   * Parameters of a valid request: `*` is a new word, `{user}` a user and `{group}` a public group without relation to
   * the request, `{namespace}` the caller's personal namespace, `{visibility}` another one than the container has; any
   * other name in braces is a value of some contract.
   */
  readonly send?: string;
  /** The parameter that is an uploaded picture, for which the body is a multipart one. */
  readonly upload?: string;
  /** The scopes of which this request needs one, if those are fewer. */
  readonly requestScopes?: string;
  /** The body that git sends instead of parameters. */
  readonly body?: "git-upload-pack" | "git-receive-pack";
  /** Whether the parameters are sent as a JSON object, to an endpoint that reads its body itself. */
  readonly asJson?: true;
  /** Whether it leaves no audit row: because it changes nothing, or because its own table says who did it. */
  readonly unaudited?: true | "by oneself";
  /** Whose audit log has a write, if that is the returned object's or the instance's. */
  readonly entity?: "User" | "Group" | "Project" | "Instance";
  /** A field that only administrators see. */
  readonly adminsSee?: string;
  /** The status for external users, if it differs. */
  readonly external?: number;
  /** The status for bots and service accounts, if it differs. */
  readonly robots?: number;
  /** The status for callers with a session, if it differs. */
  readonly session?: number;
  /** The status for administrators under sudo, if it differs from the user's. */
  readonly sudo?: number;
  /** The status for callers on the same machine, if it differs. */
  readonly loopback?: number;
  /** Whether tokens are ignored, so that every caller is treated as anonymous. */
  readonly ignoresCredentials?: true;
  /** Whether using a revoked token here revokes every token derived from it. */
  readonly endsFamily?: true;
}

/** The expected responses of an endpoint, written by hand: nothing here may come from the tested code. */
export interface Line extends More {
  readonly anonymous: Statuses;
  readonly user: Statuses;
  readonly administrator: Statuses;
  /** The scopes of which a token needs one, or `any`. */
  readonly scopes: string;
  readonly container?: Container;
}

export const WRITE = "api";
export const READ = "api read_api";
export const READ_USER = "api read_api read_user";
export const READ_CODE = "api read_api read_repository";

/** An endpoint that belongs to no group or project. */
export function line(
  anonymous: Statuses,
  user: Statuses,
  administrator: Statuses,
  scopes: string,
  more: More = {},
): Line {
  return { anonymous, user, administrator, scopes, ...more };
}

type InContainer = More & Omit<Container, "kind" | "least"> & { readonly signedIn?: true };

function inContainer(
  kind: Container["kind"],
  least: Container["least"],
  success: number,
  scopes: string,
  more: InContainer,
): Line {
  const {
    signedIn,
    top,
    by,
    except,
    inner,
    requestRole,
    roleAbove,
    child,
    childBy,
    adminsFind,
    inherits,
    holds,
    code,
    fromReporter,
    overGit,
    missingStatus,
    ...others
  } = more;
  const { foundBy, state, answers, ...rest } = others;
  return {
    anonymous: least === "viewer" && !signedIn ? success : 401,
    user: success,
    administrator: success,
    scopes,
    ...rest,
    container: {
      kind,
      least,
      ...(top && { top }),
      ...(by !== undefined && { by }),
      ...(except && { except }),
      ...(inner && { inner }),
      ...(requestRole && { requestRole }),
      ...(roleAbove && { roleAbove }),
      ...(child && { child }),
      ...(childBy !== undefined && { childBy }),
      ...(inherits && { inherits }),
      ...(adminsFind && { adminsFind }),
      ...(holds && { holds }),
      ...(code && { code }),
      ...(fromReporter && { fromReporter }),
      ...(overGit && { overGit }),
      ...(missingStatus !== undefined && { missingStatus }),
      ...(foundBy && { foundBy }),
      ...(state && { state }),
      ...(answers && { answers }),
    },
  };
}

/** An endpoint of a group: the role that it needs, the status of success, and the scopes of which a token needs one. */
export const inGroup = (least: Container["least"], success: number, scopes: string, more: InContainer = {}): Line =>
  inContainer("group", least, success, scopes, more);

/** The same for a project. */
export const inProject = (least: Container["least"], success: number, scopes: string, more: InContainer = {}): Line =>
  inContainer("project", least, success, scopes, more);

/** Statuses for the caller's own object, another user's, and a missing one. */
export const FOUND = [200, 200, 404] as const;
export const MADE = [201, 201, 404] as const;
export const GONE = [204, 204, 404] as const;
export const ONLY_OWN = [200, 404, 404] as const;
export const OWN_GONE = [204, 404, 404] as const;

/** Statuses of a request that adds something, which archived or deleted containers refuse. */
export const CLOSED = { archived: 403, "archived above": 403, "marked for deletion": 403 } as const;
/** Statuses of a restore, which only works on containers that are marked for deletion. */
export const NOT_MARKED = { live: 400, archived: 400, "archived above": 400 } as const;

export const TOP = { top: true } as const;
export const NEW_TOKEN = "name=*&scopes=k8s_proxy";
export const PICTURE = "file=avatar.gif";
export const COMMIT = "branch=main&commit_message=x";

/** Everyone who may see the project reads its code; if it is private or restricted to members, only Reporters and above. */
export const readCode = (child?: CodeChild, more: More = {}): Line =>
  inProject("viewer", 200, READ_CODE, { code: "read", ...(child && { child }), ...more });

/** A write to the repository of a project, which an archived project refuses. */
export const changeCode = (status: number, more: InContainer): Line =>
  inProject("developer", status, WRITE, { code: "push", answers: CLOSED, ...more });
