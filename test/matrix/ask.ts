import { randomUUID } from "node:crypto";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { addressOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import type { Cell } from "./cells.ts";
import { seesAll } from "./model.ts";
import { type Made, NOBODY, type Wish, type World } from "./world.ts";

/** Cells asked at once: many where all are asked, few where the first problem ends it. */
const AT_ONCE = 64;
const FEW_AT_ONCE = 8;
const SAME_MACHINE = "127.0.0.1";
const ELSEWHERE = "203.0.113.7";

/** What a cell got; `problem` is undefined where it is what it must be. */
export interface Answer {
  readonly cell: Cell;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly payload: string;
  readonly problem: string | undefined;
}

/** What is made for one cell alone. */
interface Belongings {
  readonly token?: Made | undefined;
  readonly object?: Made | undefined;
  readonly successor?: Made | undefined;
}

/** Asks every cell; with `untilProblem`, no further than the first that disagrees. */
export async function askAll(
  app: FastifyInstance,
  world: World,
  cells: readonly Cell[],
  untilProblem = false,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const atOnce = untilProblem ? FEW_AT_ONCE : AT_ONCE;
  for (let from = 0; from < cells.length; from += atOnce) {
    const some = cells.slice(from, from + atOnce);
    const belongings = await prepare(world, some);
    const responses = await Promise.all(
      some.map((cell, index) => app.inject(requestOf(world, cell, belongings[index] ?? {}))),
    );
    const ended = await world.isRevoked(belongings.map(({ successor }) => successor?.id ?? 0));
    for (const [index, cell] of some.entries()) {
      const response = responses[index];
      if (!response) continue;
      const problem = problemOf(cell, response) ?? familyProblem(cell, belongings[index], ended[index]);
      const { statusCode: status, headers, payload } = response;
      answers.push({ cell, status, headers, payload, problem });
    }
    if (untilProblem && answers.some(({ problem }) => problem !== undefined)) break;
  }
  return answers;
}

async function prepare(world: World, cells: readonly Cell[]): Promise<Belongings[]> {
  const wishes = cells.map((cell) => ({ token: tokenWish(world, cell), object: objectWish(world, cell) }));
  const made = await world.makeTokens(
    wishes.flatMap(({ token, object }) => [token, object].filter((wish) => wish !== undefined)),
  );
  const belongings = wishes.map(({ token, object }): Belongings => ({
    token: token && made.shift(),
    object: object && made.shift(),
  }));
  const parents = belongings.filter((_, index) => cells[index]?.caller.token === "rotated");
  const successors = await world.makeTokens(
    parents.map(({ token }) => ({ user: world.somebody.id, scopes: ["api"], previous: token?.id ?? 0 })),
  );
  return belongings.map((own) => {
    const place = parents.indexOf(own);
    return place === -1 ? own : { ...own, successor: successors[place] };
  });
}

function tokenWish(world: World, { caller, scopes }: Cell): Wish | undefined {
  if (!scopes) return undefined;
  return {
    user: world.accounts.get(caller.name)?.id ?? 0,
    scopes,
    expired: caller.token === "expired",
    revoked: caller.token === "revoked" || caller.token === "rotated",
  };
}

function objectWish(world: World, cell: Cell): Wish | undefined {
  if (cell.line.object !== "token" || cell.owner === "missing") return undefined;
  return { user: ownerOf(world, cell), scopes: ["api"] };
}

/** The user whose thing the request names: through sudo, one's own is that of the user acted for. */
function ownerOf(world: World, { caller, owner }: Cell): number {
  if (owner === "foreign") return world.somebody.id;
  const target = caller.sudo?.as;
  const acting = target === undefined || target === "missing" ? undefined : world.targets[target];
  return (acting ?? world.accounts.get(caller.name))?.id ?? 0;
}

function requestOf(world: World, cell: Cell, { token, object }: Belongings): InjectOptions {
  const { line, verb, caller, operation, broken } = cell;
  const { endpoint } = operation;
  const params = new URLSearchParams(line.send?.replaceAll("*", `w${randomUUID().slice(0, 18)}`));
  const names = pathNames(endpoint.path);
  const objectName = line.by ?? names[0];
  if (line.object && objectName) params.set(objectName, objectId(world, cell, object));
  const path = formed(
    addressOf(endpoint).replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params.get(name) ?? NOBODY)),
    cell.form,
  );
  for (const name of names) params.delete(name);
  if (broken) {
    params.delete(broken);
    params.set(`${broken}[x]`, "1");
  }
  const inBody = verb === "POST" || verb === "PUT" || verb === "PATCH";
  const query = inBody ? new URLSearchParams() : new URLSearchParams(params);
  const headers: Record<string, string> = { host: "localhost" };
  showToken(world, cell, token?.token, headers, query);
  if (caller.sudo) {
    const target = caller.sudo.as === "missing" ? undefined : world.targets[caller.sudo.as];
    if (caller.sudo.by === "header") headers["sudo"] = String(target?.id ?? NOBODY);
    else query.set("sudo", target?.username ?? NOBODY);
  }
  if (inBody) headers["content-type"] = "application/x-www-form-urlencoded";
  return {
    method: verb,
    url: query.size > 0 ? `${path}?${query.toString()}` : path,
    headers,
    remoteAddress: caller.loopback ? SAME_MACHINE : ELSEWHERE,
    ...(inBody && { payload: params.toString() }),
  };
}

function objectId(world: World, cell: Cell, object: Made | undefined): string {
  if (cell.owner === "missing") return NOBODY;
  return String(cell.line.object === "token" ? object?.id : ownerOf(world, cell));
}

function showToken(
  world: World,
  { caller }: Cell,
  own: string | undefined,
  headers: Record<string, string>,
  query: URLSearchParams,
) {
  const token = caller.token === "unknown" ? "flpat-never-made" : own;
  if (token === undefined) return;
  if (caller.carrier === "bearer") headers["authorization"] = `Bearer ${token}`;
  else if (caller.carrier === "query") query.set("private_token", token);
  else headers["private-token"] = token;
  if (caller.carrier === "two") query.set("private_token", world.somebody.token);
}

function formed(path: string, form: Cell["form"]): string {
  switch (form) {
    case "plain":
      return path;
    case ".json":
      return `${path}.json`;
    case "trailing slash":
      return `${path}/`;
    case "double slash":
      return path.replaceAll(/(?<=.)\//g, "//");
    case "encoded slash":
      return path.replace(/\/(?=[^/]*$)/, "%2F");
    case "upper case":
      return path.toUpperCase();
  }
}

function problemOf(
  { expected, line, caller, verb }: Cell,
  { statusCode: status, payload }: LightMyRequestResponse,
): string | undefined {
  const agrees = expected === "refused" ? status >= 400 && status < 500 : status === expected;
  if (!agrees) return `expected ${expected}, got ${status} ${payload.slice(0, 200)}`;
  if (line.adminsSee === undefined || status !== 200 || verb === "HEAD") return undefined;
  const body = JSON.parse(payload) as object | object[];
  const shown = (Array.isArray(body) ? body : [body]).some(
    (item) => line.adminsSee !== undefined && line.adminsSee in item,
  );
  if (shown === seesAll(line, caller)) return undefined;
  return `expected the field ${line.adminsSee} to be ${shown ? "hidden" : "shown"}`;
}

function familyProblem(
  { line, verb, operation, form }: Cell,
  { successor }: Belongings = {},
  ended = false,
): string | undefined {
  if (!successor || form !== "plain" || verb !== operation.endpoint.method) return undefined;
  if (ended === (line.endsFamily === true)) return undefined;
  return `expected the token that came from the shown one to ${ended ? "live on" : "end"}`;
}
