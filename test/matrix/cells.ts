import type { TSchema } from "typebox";
import { type Operation } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { paramsOf } from "#http/serve.ts";
import { type Caller, callers, members, SCOPES } from "./callers.ts";
import type { Line, State, Visibility } from "./line.ts";
import { furtherLines, lines } from "./lines.ts";
import { type Asked, expectedStatus, type Owner } from "./model.ts";

export type Verb = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
export type Form =
  | "plain"
  | ".json"
  | "trailing slash"
  | "double slash"
  | "encoded slash"
  | "upper case"
  | "full path"
  | "full path in upper case"
  | "old path";

/** The whole cross product, or few enough for every day: any two of endpoint, caller, visibility and scope still meet. */
export type Size = "every pair" | "all";

/** One request and the status it must get; `refused` is any status from 400 to 499. */
export interface Cell extends Asked {
  readonly operation: Operation;
  readonly line: Line;
  readonly verb: Verb;
  readonly form: Form;
  /** The parameter that is sent in a form that cannot be read. */
  readonly broken?: string;
  readonly expected: number | "refused";
}

const VERBS: readonly Verb[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const SAME: readonly Form[] = [".json", "trailing slash", "double slash"];
const OTHER: readonly Form[] = ["encoded slash", "upper case"];
const BY_PATH: readonly Form[] = ["full path", "full path in upper case", "old path"];
const VISIBILITIES: readonly Visibility[] = ["private", "internal", "public"];
const STATES: readonly State[] = ["live", "archived", "archived above", "marked for deletion"];
const CODE_STATES: readonly State[] = ["code for members", "code for nobody"];
/** Those who are tried on everything that is not worth trying with all. */
const FEW = new Set(["anonymous", "user", "administrator", "unknown token", "blocked", "administrator for a user"]);
const FEW_MEMBERS = new Set(["minimal", "guest", "planner", "reporter", "developer", "maintainer", "owner"]);
/** Those whom every scope is tried with: whoever may do something at all is among them. */
const EVERY_SCOPE = new Set(["user", "owner", "administrator"]);

export const keyOf = ({ endpoint }: Operation): string => `${endpoint.method} ${endpoint.path}`;

/** What is said of an operation: its line, and further ones where the answer depends on what is sent. */
export function linesOf(operation: Operation): Line[] {
  const line = lines[keyOf(operation)];
  return [...(line ? [line] : []), ...(furtherLines[keyOf(operation)] ?? [])];
}

/** Every cell of an operation: the cross product, then unreadable parameters, other verbs, and other forms of the path. */
export function cellsOf(operation: Operation, line: Line, size: Size = "every pair"): Cell[] {
  const verb = operation.endpoint.method;
  const plain = { operation, line, verb, form: "plain", badParameter: false } as const;
  const broken = breakable(operation);
  // Each endpoint begins elsewhere, so that together they leave no pair out.
  const start = Object.keys(lines).indexOf(keyOf(operation));
  const cells: Cell[] = [];
  for (const [order, caller] of callersOf(line).entries()) {
    const index = start + order;
    const met = meetings(line, caller, index, size);
    for (const [turn, [visibility, owner]] of met.entries()) {
      const asked = { ...plain, caller, owner, visibility, state: line.place?.state ?? "live" } as const;
      const isTheTurn = size === "all" || turn === index % met.length;
      // With whatever else a request names, a scope is refused before that is looked up.
      const few = line.place !== undefined && owner !== "own";
      for (const scopes of scopesIn(few ? "every pair" : size, caller, turn, isTheTurn ? index : undefined))
        cells.push(agreed({ ...asked, scopes }));
      const [scopes, none] = scopesOf(caller);
      for (const given of size === "all" ? [scopes, none] : isTheTurn ? [scopes] : []) {
        if (broken) cells.push(agreed({ ...asked, scopes: given, badParameter: true, broken }));
        if (verb === "GET") cells.push(agreed({ ...asked, scopes: given, verb: "HEAD" }));
      }
    }
  }
  return [...cells, ...stateCells(operation, line, size), ...formCells(operation, line)];
}

/** The group or project in every other state. */
function stateCells(operation: Operation, line: Line, size: Size): Cell[] {
  const { place } = line;
  if (!place || place.foundBy) return [];
  const plain = { operation, line, verb: operation.endpoint.method, form: "plain", badParameter: false } as const;
  const visibilities = size === "all" ? VISIBILITIES : VISIBILITIES.slice(0, 1);
  const others = STATES.filter((state) => state !== (place.state ?? "live"));
  const met = others.flatMap((state) => visibilities.map((visibility) => [state, visibility] as const));
  // What is not for everybody is seen where everybody sees the project.
  if (place.code) met.push(...CODE_STATES.map((state) => [state, "public"] as const));
  return callersOf(line)
    .filter(({ name }) => size === "all" || FEW.has(name) || FEW_MEMBERS.has(name))
    .flatMap((caller) =>
      met.map(([state, visibility]) =>
        agreed({ ...plain, caller, scopes: scopesOf(caller)[0], owner: "own", visibility, state }),
      ),
    );
}

/** Verbs that the path has not, and other ways to write the address. */
function formCells(operation: Operation, line: Line): Cell[] {
  const { endpoint } = operation;
  const plain = { operation, line, verb: endpoint.method, form: "plain", badParameter: false } as const;
  const cells: Cell[] = [];
  for (const caller of callers.filter(({ name }) => FEW.has(name))) {
    const state: State = line.place?.state ?? "live";
    const asked = { ...plain, caller, scopes: scopesOf(caller)[0], owner: "own", visibility: "public", state } as const;
    for (const verb of otherVerbs(operation, line))
      cells.push({ ...asked, verb, expected: verb === "OPTIONS" ? 204 : 405 });
    for (const form of SAME) if (form !== ".json" || !mayEndSo(endpoint)) cells.push(agreed({ ...asked, form }));
    if (endpoint.path === "/") continue;
    for (const form of OTHER) cells.push({ ...asked, form, expected: "refused" });
  }
  if (!line.place || line.place.by !== undefined || line.place.foundBy) return cells;
  const moved = endpoint.method === "GET" ? 301 : 308;
  for (const caller of callersOf(line).filter(({ name }) => FEW.has(name) || name === "guest" || name === "owner")) {
    for (const [visibility, form] of VISIBILITIES.flatMap((visibility) =>
      BY_PATH.map((f) => [visibility, f] as const),
    )) {
      const asked = { ...plain, caller, scopes: scopesOf(caller)[0], owner: "own", visibility, form } as const;
      const movedTo = form === "old path" && !line.place.overGit ? ({ movedTo: moved } as const) : {};
      cells.push(agreed({ ...asked, state: line.place.state ?? "live", ...movedTo }));
    }
  }
  return cells;
}

/** Whether `.json` is taken for a part of what the address names. */
const mayEndSo = ({ mount, path }: Operation["endpoint"]) =>
  mount === "root" || /:(?:file_path|branch|tag_name)$/.test(path);

const agreed = (cell: Omit<Cell, "expected">): Cell => ({ ...cell, expected: expectedStatus(cell.line, cell) });

const callersOf = ({ place }: Line): readonly Caller[] => (place ? [...callers, ...members] : callers);

/** The visibilities and objects that a caller meets. */
function meetings(line: Line, caller: Caller, index: number, size: Size): readonly (readonly [Visibility, Owner])[] {
  const owners = ownersOf(line, caller);
  if (!line.place) return owners.map((owner) => ["public", owner] as const);
  const all = VISIBILITIES.flatMap((visibility) => owners.map((owner) => [visibility, owner] as const));
  if (size === "all") return all;
  const turn = <T>(list: readonly T[], at: number) => list[at % list.length] as T;
  // Who is refused everywhere is so before anything is looked up.
  if (caller.refused !== undefined) return [[turn(VISIBILITIES, index), turn(owners, index)]];
  // Membership matters most where nothing else opens the door.
  const isUsual = callers.includes(caller) || FEW_MEMBERS.has(caller.name);
  const visibilities = isUsual ? VISIBILITIES : ["private" as const, turn(VISIBILITIES.slice(1), index)];
  return [
    ...visibilities.map((visibility) => [visibility, "own"] as const),
    ...owners.filter((owner) => owner !== "own").map((owner, at) => [turn(VISIBILITIES, index + at), owner] as const),
  ];
}

/** Nobody owns anything without being signed in. */
function ownersOf({ object, place, administrator }: Line, { role }: Caller): readonly Owner[] {
  if (place?.foundBy) return ["own"];
  if (place?.child === "project") return ["own", "missing", "nowhere"];
  if (place?.child === "oneself") return ["own", "nowhere"];
  if (place?.code) return place.child ? ["own", "foreign", "missing", "nowhere"] : ["own", "nowhere"];
  if (place) return place.child ? ["own", "foreign", "above", "missing", "nowhere"] : ["own", "nowhere"];
  if (object === undefined) return ["own"];
  if (role === "anonymous") return ["foreign", "missing"];
  // The first of these meets every scope, and what is done to a newcomer can often not be done to oneself.
  const isForOthers = object === "newcomer" && typeof administrator !== "number" && administrator[1] < 300;
  return isForOthers ? ["foreign", "own", "missing"] : ["own", "foreign", "missing"];
}

type Scopes = readonly string[] | undefined;

/** Each scope alone, `api` first, and none at all, beside those that the caller always has. */
function scopesOf({ token, besides = [] }: Caller): readonly Scopes[] {
  if (token === "none" || token === "unknown") return [undefined];
  const [first, ...others] = SCOPES.map((scope) => [scope]);
  return [first ?? [], [], ...others].map((scopes) => [...new Set([...scopes, ...besides])]);
}

/** All of them, or `api` and once, chosen by `turn`, another. */
function scopesIn(size: Size, caller: Caller, at: number, turn: number | undefined): readonly Scopes[] {
  const all = scopesOf(caller);
  if (size === "all" || (EVERY_SCOPE.has(caller.name) && at === 0)) return all;
  const [first, ...others] = all;
  return turn === undefined || others.length === 0 ? [first] : [first, others[turn % others.length]];
}

const shapeOf = (path: string) => path.replaceAll(/:\w+/g, ":");

/** The verbs that no line has for this path, told by one of its operations. */
function otherVerbs(operation: Operation, line: Line): Verb[] {
  const shape = shapeOf(operation.endpoint.path);
  const served = Object.keys(lines).filter((key) => shapeOf(key).endsWith(` ${shape}`));
  if (served[0] !== keyOf(operation) || line !== lines[served[0]]) return [];
  const verbs = new Set(served.map((key) => key.slice(0, key.indexOf(" "))));
  return VERBS.filter((verb) => !verbs.has(verb === "HEAD" ? "GET" : verb));
}

/** A parameter that takes a single value, if there is one. */
function breakable({ endpoint }: Operation): string | undefined {
  const inPath = pathNames(endpoint.path);
  return Object.entries(paramsOf(endpoint).properties).find(
    ([name, schema]) => !inPath.includes(name) && isSingle(schema),
  )?.[0];
}

const isSingle = (schema: TSchema) =>
  ["string", "integer", "number", "boolean"].includes((schema as { type?: string }).type ?? "");
