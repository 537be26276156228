import type { TSchema } from "typebox";
import { type Operation } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { paramsOf } from "#http/serve.ts";
import { type Caller, callers, SCOPES } from "./callers.ts";
import { type Line, lines } from "./lines.ts";
import { type Asked, expectedStatus, type Owner } from "./model.ts";

export type Verb = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
export type Form = "plain" | ".json" | "trailing slash" | "double slash" | "encoded slash" | "upper case";

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
const FEW = new Set(["anonymous", "user", "administrator", "unknown token", "blocked", "administrator for a user"]);

export const keyOf = ({ endpoint }: Operation): string => `${endpoint.method} ${endpoint.path}`;

/** Every cell of an operation: the cross product, then unreadable parameters, other verbs, and other forms of the path. */
export function cellsOf(operation: Operation, line: Line): Cell[] {
  const verb = operation.endpoint.method;
  const plain = { operation, line, verb, form: "plain", badParameter: false } as const;
  const few = callers.filter(({ name }) => FEW.has(name));
  const cells: Cell[] = [];

  for (const caller of callers) {
    for (const owner of ownersOf(line, caller)) {
      for (const scopes of scopesOf(caller)) cells.push(agreed({ ...plain, caller, scopes, owner }));
      for (const scopes of someScopes(caller)) {
        const broken = breakable(operation);
        if (broken) cells.push(agreed({ ...plain, caller, scopes, owner, badParameter: true, broken }));
        if (verb === "GET") cells.push(agreed({ ...plain, verb: "HEAD", caller, scopes, owner }));
      }
    }
  }
  for (const caller of few) {
    const [scopes] = someScopes(caller);
    for (const other of otherVerbs(operation)) {
      cells.push({ ...plain, verb: other, caller, scopes, owner: "own", expected: other === "OPTIONS" ? 204 : 405 });
    }
    for (const form of SAME) {
      if (form !== ".json" || operation.endpoint.mount !== "root") {
        cells.push(agreed({ ...plain, form, caller, scopes, owner: "own" }));
      }
    }
    if (operation.endpoint.path === "/") continue;
    for (const form of OTHER) cells.push({ ...plain, form, caller, scopes, owner: "own", expected: "refused" });
  }
  return cells;
}

const agreed = (cell: Omit<Cell, "expected">): Cell => ({ ...cell, expected: expectedStatus(cell.line, cell) });

/** Nobody owns anything without being signed in. */
const ownersOf = ({ object }: Line, { role }: Caller): readonly Owner[] =>
  object === undefined ? ["own"] : role === "anonymous" ? ["foreign", "missing"] : ["own", "foreign", "missing"];

/** Each scope alone and none at all, beside those that the caller always has. */
function scopesOf({ token, besides = [] }: Caller): readonly (readonly string[] | undefined)[] {
  if (token === "none" || token === "unknown") return [undefined];
  return [[], ...SCOPES.map((scope) => [scope])].map((scopes) => [...new Set([...scopes, ...besides])]);
}

function someScopes(caller: Caller): readonly (readonly string[] | undefined)[] {
  const all = scopesOf(caller);
  return all.length === 1 ? all : [all[1], all[0]];
}

/** The verbs that no line has for this path, told by one of its operations. */
function otherVerbs(operation: Operation): Verb[] {
  const { path } = operation.endpoint;
  const served = Object.keys(lines).filter((key) => key.endsWith(` ${path}`));
  if (served[0] !== keyOf(operation)) return [];
  return VERBS.filter((verb) => !served.includes(`${verb === "HEAD" ? "GET" : verb} ${path}`));
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
