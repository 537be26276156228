import type { Caller, Role } from "./callers.ts";
import type { Line } from "./lines.ts";

/** Whose thing the request names. */
export type Owner = "own" | "foreign" | "missing";

export interface Asked {
  readonly caller: Caller;
  /** The scopes of the token, or undefined without one. */
  readonly scopes: readonly string[] | undefined;
  readonly owner: Owner;
  /** Whether a parameter of the request cannot be read. */
  readonly badParameter: boolean;
}

/** The order of checks: token, account, scope, sudo, the endpoint's own rule, parameters, and last the object. */
export function expectedStatus(line: Line, { caller, scopes, owner, badParameter }: Asked): number {
  if (caller.refused !== undefined) return caller.refused;
  if (scopes && !opens(line, scopes)) return 403;
  if (caller.sudo) {
    if (caller.role !== "administrator" || !scopes?.includes("sudo")) return 403;
    if (caller.sudo.as === "missing") return 404;
    if (caller.sudo.as === "blocked" || caller.sudo.as === "internal") return 403;
    if (line.sudo !== undefined) return line.sudo;
  }
  if (caller.loopback && line.loopback !== undefined) return line.loopback;
  const statuses = line[actingRole(caller)];
  const byOwner =
    typeof statuses === "number" ? { own: statuses, foreign: statuses, missing: statuses } : named(statuses);
  return badParameter && byOwner.own < 400 ? 400 : byOwner[owner];
}

/** Whether an answer shows what only administrators, and where it matters callers on the same machine, may see. */
export const seesAll = (line: Line, caller: Caller): boolean =>
  actingRole(caller) === "administrator" || (caller.loopback === true && line.loopback !== undefined);

/** Whose rights count: through sudo, those of the user acted for. */
function actingRole({ role, sudo }: Caller): Role {
  return sudo?.as === "user" || sudo?.as === "administrator" ? sudo.as : role;
}

const named = ([own, foreign, missing]: readonly [number, number, number]) => ({ own, foreign, missing });

const opens = (line: Line, scopes: readonly string[]) =>
  line.scopes === "any" ? scopes.length > 0 : line.scopes.split(" ").some((scope) => scopes.includes(scope));
