import { type Caller, type Grant, LEVELS, type Role } from "./callers.ts";
import type { Line, Container, State, Visibility } from "./line.ts";

/**
 * Whose object the request names. In a group or project: its own child, that of another container, that of a group
 * above it, or a missing one; with `nowhere` the container itself is missing.
 */
export type Owner = "own" | "foreign" | "above" | "missing" | "nowhere";

export interface CellRequest {
  readonly caller: Caller;
  /** The scopes of the token, or undefined without one. */
  readonly scopes: readonly string[] | undefined;
  readonly owner: Owner;
  /** Whether a parameter of the request is invalid. */
  readonly badParameter: boolean;
  /** The visibility and state of the group or project, for a line that has one. */
  readonly visibility: Visibility;
  readonly state: State;
  /** The status of the redirect, if the request uses the old path. */
  readonly movedTo?: 301 | 308;
}

/** The order of checks: token, account, scope, sudo, the endpoint's own rule, parameters, and last the object. */
export function expectedStatus(line: Line, asked: CellRequest): number {
  const { caller, scopes } = asked;
  if (line.ignoresCredentials) return Number(line.anonymous);
  if (caller.refused !== undefined) return caller.refused;
  if (scopes && !opens(line, scopes)) return 403;
  if (caller.sudo) {
    if (caller.role !== "administrator" || !scopes?.includes("sudo")) return 403;
    if (caller.sudo.as === "missing") return 404;
    if (caller.sudo.as === "blocked" || caller.sudo.as === "internal") return 403;
    if (line.sudo !== undefined) return line.sudo;
  }
  if (caller.carrier === "session" && line.session !== undefined)
    return asked.badParameter && line.session < 400 ? 400 : line.session;
  if (line.robots !== undefined && isRobot(caller)) return line.robots;
  if (caller.loopback && line.loopback !== undefined) return line.loopback;
  if (line.container && !line.container.foundBy) return statusInContainer(line, line.container, asked);
  return plainStatus(line, asked);
}

function plainStatus(line: Line, { caller, owner, badParameter }: CellRequest): number {
  const statuses = line[actingRole(caller)];
  const byOwner =
    typeof statuses === "number" ? { own: statuses, foreign: statuses, missing: statuses } : named(statuses);
  // The rule is checked before the parameters, and the object is looked up after them.
  if (badParameter && (typeof statuses !== "number" || statuses < 400)) return 400;
  if (line.external !== undefined && isExternal(caller)) return line.external;
  return byOwner[owner === "own" || owner === "foreign" ? owner : "missing"];
}

/** In a group or project the order is: 401, 404 if it is hidden, the redirect, 403, parameters, the child, and its state. */
function statusInContainer(line: Line, container: Container, asked: CellRequest): number {
  const { caller, owner, badParameter, state, movedTo } = asked;
  const role = actingRole(caller);
  if (role === "anonymous" && line.anonymous === 401) return 401;
  // A container that a parameter names is looked up after the parameters were read.
  if (container.by !== undefined && badParameter) return 400;
  if (owner === "nowhere" || !isSeen(container, asked)) return container.overGit && role === "anonymous" ? 401 : 404;
  if (movedTo !== undefined) return movedTo;
  const lacks = (least: Container["least"]) => role !== "administrator" && levelIn(container, caller) < levelOf(least);
  if (lacks(container.least)) return 403;
  const isCodeOpen = state !== "code for members" && isOpen(asked);
  if (container.code && (state === "code for nobody" || (!isCodeOpen && lacks("reporter"))))
    return container.overGit && role === "anonymous" ? 401 : 403;
  if (container.fromReporter && !isOpen(asked) && lacks("reporter")) return 403;
  if (badParameter) return 400;
  const isFound = owner === "own" || (owner === "above" && container.inherits);
  if (!isFound && !(owner !== "missing" && container.adminsFind && role === "administrator"))
    return container.missingStatus ?? 404;
  // The rule refuses an archived group before its children are looked up.
  if (container.inner && container.child !== undefined && !isOpen(asked) && lacks("guest"))
    return container.answers?.[state] ?? 404;
  if (container.child === "hidden member" && role !== "administrator") return 404;
  if (container.child === "oneself" && !isMember(container, caller)) return 404;
  if (role !== "administrator" && container.except?.some((level) => LEVELS[level] === levelIn(container, caller)))
    return 403;
  if (container.requestRole && lacks(container.requestRole)) return 403;
  if (container.roleAbove && role !== "administrator" && levelAbove(caller) < LEVELS[container.roleAbove]) return 403;
  if (line.requestScopes !== undefined && asked.scopes && !isAmong(line.requestScopes, asked.scopes)) return 403;
  if (line.external !== undefined && isExternal(caller)) return line.external;
  return container.answers?.[state] ?? Number(line[role]);
}

const levelOf = (least: Container["least"]) =>
  least === "viewer" ? 0 : least === "administrator" ? Number.POSITIVE_INFINITY : LEVELS[least];

/** Whether the caller may see the group or project. */
export function isSeen(container: Container, asked: CellRequest): boolean {
  const { caller } = asked;
  const role = actingRole(caller);
  if (role === "administrator" || isOpen(asked)) return true;
  if (role === "anonymous") return false;
  return levelIn(container, caller) > 0 || (container.kind === "group" && hasSomethingInside(caller));
}

/** Whether its visibility alone opens it to the caller. */
const isOpen = ({ caller, visibility }: CellRequest) =>
  visibility === "public" || (visibility === "internal" && actingRole(caller) !== "anonymous" && !isExternal(caller));

/** Whether a list must show the group or project. */
export function isListed(container: Container, asked: CellRequest): boolean {
  const role = actingRole(asked.caller);
  if (container.foundBy === "viewers" || (container.foundBy === "its own" && role === "anonymous"))
    return isSeen(container, asked);
  return levelIn(container, asked.caller) > 0 || (container.foundBy === "members" && role === "administrator");
}

/** How many of the three fixtures of a container a list must show, if that depends on the caller. */
export function shownOf(container: Container, asked: CellRequest): number | undefined {
  const { caller } = asked;
  if (container.holds === undefined) return undefined;
  if (container.inner && isOpen(asked)) return 3;
  if (!container.inner && container.holds !== "subgroup" && container.holds !== "project inside") return undefined;
  if (actingRole(caller) === "administrator" || levelIn(container, caller) >= LEVELS.guest) return 3;
  return container.holds === "project inside" && hasSomethingInside(caller) ? 1 : 0;
}

/** Whether the caller is a direct member of the container. */
const isMember = ({ kind }: Container, { grants = [] }: Caller) =>
  grants.some(
    (grant) => grant.at === "it" && !grant.share && !isOver(grant) && (kind === "group" || grant.level !== "minimal"),
  );

/** The highest level of all grants; minimal access counts in its own group only. */
function levelIn({ kind, top }: Pick<Container, "kind" | "top">, { grants = [] }: Pick<Caller, "grants">): number {
  const levels = grants.map((grant) => {
    const level = LEVELS[grant.level];
    if (grant.at === "inside" || (grant.at === "above" && top) || isOver(grant)) return 0;
    if (level < LEVELS.guest) return kind === "group" && grant.at === "it" && !grant.share ? level : 0;
    return grant.share ? Math.min(level, LEVELS[grant.share.upTo]) : level;
  });
  return Math.max(0, ...levels);
}

/** The level that a caller has in the group that the project is in. */
const levelAbove = ({ grants = [] }: Caller) =>
  levelIn({ kind: "group" }, { grants: grants.filter(({ at }) => at === "above") });

const hasSomethingInside = ({ grants = [] }: Caller) =>
  grants.some((grant) => grant.at === "inside" && LEVELS[grant.level] >= LEVELS.guest && !isOver(grant));

const isOver = ({ ends, share }: Grant) => ends === "today" || share?.ends === "today";

/** Only the caller's own account can be external; the users that sudo names are not. */
const isExternal = ({ account, sudo }: Caller) => !sudo && account?.["external"] === true;

const isRobot = ({ account, sudo }: Caller) =>
  !sudo && ["service_account", "project_bot"].includes(String(account?.["user_type"]));

/** Whether a response shows the fields for administrators, which some endpoints show to loopback callers too. */
export const seesAll = (line: Line, caller: Caller): boolean =>
  actingRole(caller) === "administrator" || (caller.loopback === true && line.loopback !== undefined);

/** The role whose rights count: under sudo that of the user acted for. */
function actingRole({ role, sudo }: Caller): Role {
  return sudo?.as === "user" || sudo?.as === "administrator" ? sudo.as : role;
}

const named = ([own, foreign, missing]: readonly [number, number, number]) => ({ own, foreign, missing });

const opens = (line: Line, scopes: readonly string[]) =>
  line.scopes === "any" ? scopes.length > 0 : isAmong(line.scopes, scopes);

const isAmong = (wanted: string, scopes: readonly string[]) =>
  wanted.split(" ").some((scope) => scopes.includes(scope));
