import type { TSchema } from "typebox";
import { type Operation } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { paramsOf } from "#http/route.ts";
import { type Caller, callers, members, SCOPES } from "./callers.ts";
import type { Line, State, Visibility } from "./line.ts";
import { allLines, lines } from "./lines.ts";
import { type CellRequest, expectedStatus, type Owner } from "./model.ts";

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

/** The whole cross product, or a subset in which any two of endpoint, caller, visibility and scope are combined. */
export type Size = "every pair" | "all";

/** One request and the status it must get; `refused` is any status from 400 to 499. */
export interface Cell extends CellRequest {
  readonly operation: Operation;
  readonly line: Line;
  readonly verb: Verb;
  readonly form: Form;
  /** The parameter that is sent in an invalid form. */
  readonly broken?: string;
  readonly expected: number | "refused";
}

const VERBS: readonly Verb[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const EQUIVALENT_FORMS: readonly Form[] = [".json", "trailing slash", "double slash"];
const INVALID_FORMS: readonly Form[] = ["encoded slash", "upper case"];
const PATH_FORMS: readonly Form[] = ["full path", "full path in upper case", "old path"];
const VISIBILITIES: readonly Visibility[] = ["private", "internal", "public"];
const STATES: readonly State[] = ["live", "archived", "archived above", "marked for deletion"];
const CODE_STATES: readonly State[] = ["code for members", "code for nobody"];
/** The callers for cases that are not worth trying with all. */
const FEW_CALLERS = new Set([
  "anonymous",
  "user",
  "administrator",
  "unknown token",
  "blocked",
  "administrator for a user",
]);
const FEW_MEMBERS = new Set(["minimal", "guest", "planner", "reporter", "developer", "maintainer", "owner"]);
/** The callers that are tried with every scope: one of them may call each endpoint. */
const EVERY_SCOPE = new Set(["user", "owner", "administrator"]);

export const keyOf = ({ endpoint }: Operation): string => `${endpoint.method} ${endpoint.path}`;

/** The lines of an operation, the usual request first. */
export const linesOf = (operation: Operation): readonly Line[] => allLines[keyOf(operation)] ?? [];

/** Every cell of an operation: the cross product, then invalid parameters, other verbs, and other forms of the path. */
export function cellsOf(operation: Operation, line: Line, size: Size = "every pair"): Cell[] {
  const verb = operation.endpoint.method;
  const plain = { operation, line, verb, form: "plain", badParameter: false } as const;
  const broken = singleParameter(operation);
  // Each endpoint starts at another offset, so that together they cover every pair.
  const start = Object.keys(lines).indexOf(keyOf(operation));
  const cells: Cell[] = [];
  for (const [order, caller] of callersOf(line).entries()) {
    const index = start + order;
    const met = combinations(line, caller, index, size);
    for (const [turn, [visibility, owner]] of met.entries()) {
      const asked = { ...plain, caller, owner, visibility, state: line.container?.state ?? "live" } as const;
      const isTheTurn = size === "all" || turn === index % met.length;
      // A missing scope is refused before a child is looked up.
      const few = line.container !== undefined && owner !== "own";
      for (const scopes of scopesIn(few ? "every pair" : size, caller, turn, isTheTurn ? index : undefined))
        cells.push(withExpected({ ...asked, scopes }));
      const [scopes, none] = scopesOf(caller);
      for (const given of size === "all" ? [scopes, none] : isTheTurn ? [scopes] : []) {
        if (broken) cells.push(withExpected({ ...asked, scopes: given, badParameter: true, broken }));
        if (verb === "GET") cells.push(withExpected({ ...asked, scopes: given, verb: "HEAD" }));
      }
    }
  }
  return [...cells, ...stateCells(operation, line, size), ...formCells(operation, line)];
}

/** The group or project in every other state. */
function stateCells(operation: Operation, line: Line, size: Size): Cell[] {
  const { container } = line;
  if (!container || container.foundBy) return [];
  const plain = { operation, line, verb: operation.endpoint.method, form: "plain", badParameter: false } as const;
  const visibilities = size === "all" ? VISIBILITIES : VISIBILITIES.slice(0, 1);
  const others = STATES.filter((state) => state !== (container.state ?? "live"));
  const met = others.flatMap((state) => visibilities.map((visibility) => [state, visibility] as const));
  // Restricted code can be told apart only if everyone sees the project.
  if (container.code) met.push(...CODE_STATES.map((state) => [state, "public"] as const));
  return callersOf(line)
    .filter(({ name }) => size === "all" || FEW_CALLERS.has(name) || FEW_MEMBERS.has(name))
    .flatMap((caller) =>
      met.map(([state, visibility]) =>
        withExpected({ ...plain, caller, scopes: scopesOf(caller)[0], owner: "own", visibility, state }),
      ),
    );
}

/** Verbs that the path does not have, and other spellings of the path. */
function formCells(operation: Operation, line: Line): Cell[] {
  const { endpoint } = operation;
  const plain = { operation, line, verb: endpoint.method, form: "plain", badParameter: false } as const;
  const cells: Cell[] = [];
  for (const caller of callers.filter(({ name }) => FEW_CALLERS.has(name))) {
    const state: State = line.container?.state ?? "live";
    const asked = { ...plain, caller, scopes: scopesOf(caller)[0], owner: "own", visibility: "public", state } as const;
    for (const verb of otherVerbs(operation, line))
      cells.push({ ...asked, verb, expected: verb === "OPTIONS" ? 204 : 405 });
    for (const form of EQUIVALENT_FORMS)
      if (form !== ".json" || !keepsJsonSuffix(endpoint)) cells.push(withExpected({ ...asked, form }));
    if (endpoint.path === "/") continue;
    for (const form of INVALID_FORMS) cells.push({ ...asked, form, expected: "refused" });
  }
  if (!line.container || line.container.by !== undefined || line.container.foundBy) return cells;
  const moved = endpoint.method === "GET" ? 301 : 308;
  for (const caller of callersOf(line).filter(
    ({ name }) => FEW_CALLERS.has(name) || name === "guest" || name === "owner",
  )) {
    for (const [visibility, form] of VISIBILITIES.flatMap((visibility) =>
      PATH_FORMS.map((form) => [visibility, form] as const),
    )) {
      const asked = { ...plain, caller, scopes: scopesOf(caller)[0], owner: "own", visibility, form } as const;
      const movedTo = form === "old path" && !line.container.overGit ? ({ movedTo: moved } as const) : {};
      cells.push(withExpected({ ...asked, state: line.container.state ?? "live", ...movedTo }));
    }
  }
  return cells;
}

/** Whether `.json` is part of the last name in the path. */
const keepsJsonSuffix = ({ mount, path }: Operation["endpoint"]) =>
  mount === "root" || /:(?:file_path|branch|tag_name)$/.test(path);

const withExpected = (cell: Omit<Cell, "expected">): Cell => ({ ...cell, expected: expectedStatus(cell.line, cell) });

const callersOf = ({ container }: Line): readonly Caller[] => (container ? [...callers, ...members] : callers);

/** The visibilities and objects that a caller is combined with. */
function combinations(
  line: Line,
  caller: Caller,
  index: number,
  size: Size,
): readonly (readonly [Visibility, Owner])[] {
  const owners = ownersOf(line, caller);
  if (!line.container) return owners.map((owner) => ["public", owner] as const);
  const all = VISIBILITIES.flatMap((visibility) => owners.map((owner) => [visibility, owner] as const));
  if (size === "all") return all;
  const turn = <T>(list: readonly T[], at: number) => list[at % list.length] as T;
  // A caller who is refused everywhere is refused before anything is looked up.
  if (caller.refused !== undefined) return [[turn(VISIBILITIES, index), turn(owners, index)]];
  // Membership matters most if the visibility grants nothing.
  const isUsual = callers.includes(caller) || FEW_MEMBERS.has(caller.name);
  const visibilities = isUsual ? VISIBILITIES : ["private" as const, turn(VISIBILITIES.slice(1), index)];
  return [
    ...visibilities.map((visibility) => [visibility, "own"] as const),
    ...owners.filter((owner) => owner !== "own").map((owner, at) => [turn(VISIBILITIES, index + at), owner] as const),
  ];
}

/** The kinds of objects that a request can name; anonymous callers own none. */
function ownersOf({ object, container, administrator }: Line, { role }: Caller): readonly Owner[] {
  if (container?.foundBy) return ["own"];
  if (container?.child === "project") return ["own", "missing", "nowhere"];
  if (container?.child === "oneself") return ["own", "nowhere"];
  if (container?.code) return container.child ? ["own", "foreign", "missing", "nowhere"] : ["own", "nowhere"];
  if (container) return container.child ? ["own", "foreign", "above", "missing", "nowhere"] : ["own", "nowhere"];
  if (object === undefined) return ["own"];
  if (role === "anonymous") return ["foreign", "missing"];
  // The first is combined with every scope, and some writes succeed on a newcomer but not on oneself.
  const isForOthers = object === "newcomer" && typeof administrator !== "number" && administrator[1] < 300;
  return isForOthers ? ["foreign", "own", "missing"] : ["own", "foreign", "missing"];
}

type Scopes = readonly string[] | undefined;

/** Each scope alone, `api` first, and none at all, besides those that the caller always has. */
function scopesOf({ token, besides = [] }: Caller): readonly Scopes[] {
  if (token === "none" || token === "unknown") return [undefined];
  const [first, ...others] = SCOPES.map((scope) => [scope]);
  return [first ?? [], [], ...others].map((scopes) => [...new Set([...scopes, ...besides])]);
}

/** All of them, or `api` and another one that `turn` selects. */
function scopesIn(size: Size, caller: Caller, at: number, turn: number | undefined): readonly Scopes[] {
  const all = scopesOf(caller);
  if (size === "all" || (EVERY_SCOPE.has(caller.name) && at === 0)) return all;
  const [first, ...others] = all;
  return turn === undefined || others.length === 0 ? [first] : [first, others[turn % others.length]];
}

const shapeOf = (path: string) => path.replaceAll(/:\w+/g, ":");

/** The verbs that no line has for this path; only its first operation returns them. */
function otherVerbs(operation: Operation, line: Line): Verb[] {
  const shape = shapeOf(operation.endpoint.path);
  const served = Object.keys(lines).filter((key) => shapeOf(key).endsWith(` ${shape}`));
  if (served[0] !== keyOf(operation) || line !== lines[served[0]]) return [];
  const verbs = new Set(served.map((key) => key.slice(0, key.indexOf(" "))));
  return VERBS.filter((verb) => !verbs.has(verb === "HEAD" ? "GET" : verb));
}

/** A parameter with a single value, if there is one. */
function singleParameter({ endpoint }: Operation): string | undefined {
  const inPath = pathNames(endpoint.path);
  return Object.entries(paramsOf(endpoint).properties).find(
    ([name, schema]) => !inPath.includes(name) && isSingle(schema),
  )?.[0];
}

const isSingle = (schema: TSchema) =>
  ["string", "integer", "number", "boolean"].includes((schema as { type?: string }).type ?? "");
