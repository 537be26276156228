import { type Caller, type Grant, LEVELS, type Role } from "./callers.ts";
import type { Line, Place, State, Visibility } from "./line.ts";

/**
 * Whose thing the request names: in a group or project, what is there, at another place, at a group above it, or not at
 * all; `nowhere` is no group or project.
 */
export type Owner = "own" | "foreign" | "above" | "missing" | "nowhere";

export interface Asked {
  readonly caller: Caller;
  /** The scopes of the token, or undefined without one. */
  readonly scopes: readonly string[] | undefined;
  readonly owner: Owner;
  /** Whether a parameter of the request cannot be read. */
  readonly badParameter: boolean;
  /** What the group or project is like, for a line that has one. */
  readonly visibility: Visibility;
  readonly state: State;
  /** The status that tells of a new address, where the request names the old one. */
  readonly movedTo?: 301 | 308;
}

/** The order of checks: token, account, scope, sudo, the endpoint's own rule, parameters, and last the object. */
export function expectedStatus(line: Line, asked: Asked): number {
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
  if (caller.carrier === "session" && line.session !== undefined) return line.session;
  if (line.robots !== undefined && isRobot(caller)) return line.robots;
  if (caller.loopback && line.loopback !== undefined) return line.loopback;
  if (line.place && !line.place.foundBy) return statusInPlace(line, line.place, asked);
  return plainStatus(line, asked);
}

function plainStatus(line: Line, { caller, owner, badParameter }: Asked): number {
  const statuses = line[actingRole(caller)];
  const byOwner =
    typeof statuses === "number" ? { own: statuses, foreign: statuses, missing: statuses } : named(statuses);
  // Whom the rule refuses is not told of parameters; whose object it is, is looked up behind them.
  if (badParameter && (typeof statuses !== "number" || statuses < 400)) return 400;
  if (line.external !== undefined && isExternal(caller)) return line.external;
  return byOwner[owner === "own" || owner === "foreign" ? owner : "missing"];
}

/** In a group or project: 401, 404 for what is hidden, the new address, 403, parameters, the child, and its state. */
function statusInPlace(line: Line, place: Place, asked: Asked): number {
  const { caller, owner, badParameter, state, movedTo } = asked;
  const role = actingRole(caller);
  if (role === "anonymous" && line.anonymous === 401) return 401;
  // What a parameter names is looked up when parameters have been read.
  if (place.by !== undefined && badParameter) return 400;
  if (owner === "nowhere" || !isSeen(place, asked)) return place.overGit && role === "anonymous" ? 401 : 404;
  if (movedTo !== undefined) return movedTo;
  const lacks = (least: Place["least"]) => role !== "administrator" && levelIn(place, caller) < levelOf(least);
  if (lacks(place.least)) return 403;
  const isCodeOpen = state !== "code for members" && isOpen(asked);
  if (place.code && (state === "code for nobody" || (!isCodeOpen && lacks("reporter"))))
    return place.overGit && role === "anonymous" ? 401 : 403;
  if (badParameter) return 400;
  const isFound = owner === "own" || (owner === "above" && place.inherits);
  if (!isFound && !(owner !== "missing" && place.adminsFind && role === "administrator")) return place.lacking ?? 404;
  if (place.child === "hidden member" && role !== "administrator") return 404;
  if (place.child === "oneself" && !isMember(place, caller)) return 404;
  if (place.forThis && lacks(place.forThis)) return 403;
  if (line.scopesForThis !== undefined && asked.scopes && !isAmong(line.scopesForThis, asked.scopes)) return 403;
  if (line.external !== undefined && isExternal(caller)) return line.external;
  return place.answers?.[state] ?? Number(line[role]);
}

const levelOf = (least: Place["least"]) =>
  least === "viewer" ? 0 : least === "administrator" ? Number.POSITIVE_INFINITY : LEVELS[least];

/** Whether the caller sees the group or project at all. */
export function isSeen(place: Place, asked: Asked): boolean {
  const { caller } = asked;
  const role = actingRole(caller);
  if (role === "administrator" || isOpen(asked)) return true;
  if (role === "anonymous") return false;
  return levelIn(place, caller) > 0 || (place.kind === "group" && hasSomethingInside(caller));
}

/** Whether its visibility alone opens it to the caller. */
const isOpen = ({ caller, visibility }: Asked) =>
  visibility === "public" || (visibility === "internal" && actingRole(caller) !== "anonymous" && !isExternal(caller));

/** Whether a list must show the group or project. */
export function isListed(place: Place, asked: Asked): boolean {
  const role = actingRole(asked.caller);
  if (place.foundBy === "viewers" || (place.foundBy === "its own" && role === "anonymous")) return isSeen(place, asked);
  return levelIn(place, asked.caller) > 0 || (place.foundBy === "members" && role === "administrator");
}

/** How many of the three that a place holds a list must show, where that depends on the caller. */
export function shownOf(place: Place, { caller }: Asked): number | undefined {
  if (place.holds !== "subgroups" && place.holds !== "projects") return undefined;
  if (actingRole(caller) === "administrator" || levelIn(place, caller) >= LEVELS.guest) return 3;
  return place.holds === "projects" && hasSomethingInside(caller) ? 1 : 0;
}

/** Whether somebody is a member of the place itself, and not by something above it or a share. */
const isMember = ({ kind }: Place, { grants = [] }: Caller) =>
  grants.some(
    (grant) => grant.at === "it" && !grant.share && !isOver(grant) && (kind === "group" || grant.level !== "minimal"),
  );

/** The highest level that anything gives; minimal access is to one group and to nothing in it. */
function levelIn({ kind, top }: Place, { grants = [] }: Caller): number {
  const levels = grants.map((grant) => {
    const level = LEVELS[grant.level];
    if (grant.at === "inside" || (grant.at === "above" && top) || isOver(grant)) return 0;
    if (level < LEVELS.guest) return kind === "group" && grant.at === "it" && !grant.share ? level : 0;
    return grant.share ? Math.min(level, LEVELS[grant.share.upTo]) : level;
  });
  return Math.max(0, ...levels);
}

const hasSomethingInside = ({ grants = [] }: Caller) =>
  grants.some((grant) => grant.at === "inside" && LEVELS[grant.level] >= LEVELS.guest && !isOver(grant));

const isOver = ({ ends, share }: Grant) => ends === "today" || share?.ends === "today";

/** Only the caller's own account can be external: those whom sudo acts for are not. */
const isExternal = ({ account, sudo }: Caller) => !sudo && account?.["external"] === true;

const isRobot = ({ account, sudo }: Caller) =>
  !sudo && ["service_account", "project_bot"].includes(String(account?.["user_type"]));

/** Whether an answer shows what only administrators, and where it matters callers on the same machine, may see. */
export const seesAll = (line: Line, caller: Caller): boolean =>
  actingRole(caller) === "administrator" || (caller.loopback === true && line.loopback !== undefined);

/** Whose rights count: through sudo, those of the user acted for. */
function actingRole({ role, sudo }: Caller): Role {
  return sudo?.as === "user" || sudo?.as === "administrator" ? sudo.as : role;
}

const named = ([own, foreign, missing]: readonly [number, number, number]) => ({ own, foreign, missing });

const opens = (line: Line, scopes: readonly string[]) =>
  line.scopes === "any" ? scopes.length > 0 : isAmong(line.scopes, scopes);

const isAmong = (wanted: string, scopes: readonly string[]) =>
  wanted.split(" ").some((scope) => scopes.includes(scope));
