import { randomUUID } from "node:crypto";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { addressOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { type Cell, keyOf, type Verb } from "./cells.ts";
import type { MadePlace, PlaceWish } from "./land.ts";
import { isCodeChild } from "./code.ts";
import type { Line } from "./line.ts";
import { isListed, type Owner, seesAll, shownOf } from "./model.ts";
import { FINGERPRINT } from "./possessions.ts";
import { type Account, type Made, NOBODY, type Wish, type World } from "./world.ts";

/** Cells asked at once: many where all are asked, few where the first problem ends it. */
const AT_ONCE = 64;
const FEW_AT_ONCE = 8;
const SAME_MACHINE = "127.0.0.1";
const ELSEWHERE = "203.0.113.7";
const FORM = "application/x-www-form-urlencoded";

/** What a cell got; `problem` is undefined where it is what it must be. */
export interface Answer {
  readonly cell: Cell;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly payload: string;
  readonly problem: string | undefined;
}

/** What is made for one cell alone, or for all of a kind where none can spoil it for the others. */
export interface Belongings {
  readonly token?: Made | undefined;
  readonly object?: Made | undefined;
  readonly successor?: Made | undefined;
  readonly place?: MadePlace | undefined;
  readonly project?: number | undefined;
  readonly secret?: string | undefined;
  /** Who signs in, where somebody does. */
  readonly person?: { readonly login: string; readonly password: string } | undefined;
  /** The headers of a session, where that is how the caller calls. */
  readonly session?: Readonly<Record<string, string>> | undefined;
  /** A user who is made for the cell, and the name of what the named user was given. */
  readonly newcomer?: number | undefined;
  readonly given?: string | undefined;
}

interface Options {
  /** Go no further than the first cell that disagrees. */
  readonly untilProblem?: boolean;
  /** Even what must be refused has a place of its own, because it may not be. */
  readonly apart?: boolean;
}

/** Asks every cell. */
export async function askAll(
  app: FastifyInstance,
  world: World,
  cells: readonly Cell[],
  { untilProblem = false, apart = false }: Options = {},
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const atOnce = untilProblem ? FEW_AT_ONCE : AT_ONCE;
  for (let from = 0; from < cells.length; from += atOnce) {
    const some = cells.slice(from, from + atOnce);
    const belongings = await prepare(world, some, apart);
    const responses = await Promise.all(
      some.map((cell, index) => app.inject(requestOf(world, cell, belongings[index] ?? {}))),
    );
    const ended = await world.isRevoked(belongings.map(({ successor }) => successor?.id ?? 0));
    for (const [index, cell] of some.entries()) {
      const response = responses[index];
      if (!response) continue;
      const own = belongings[index] ?? {};
      const problem = problemOf(cell, own, response) ?? familyProblem(cell, own, ended[index]);
      const { statusCode: status, headers, payload } = response;
      answers.push({ cell, status, headers, payload, problem });
    }
    if (untilProblem && answers.some(({ problem }) => problem !== undefined)) break;
  }
  return answers;
}

/** What each cell needs before it can be asked. */
export async function prepare(world: World, cells: readonly Cell[], apart: boolean): Promise<Belongings[]> {
  if (cells.some(({ line }) => line.anew)) await world.renew();
  const tokens = await world.tokens.of(cells.map((cell) => tokenWish(world, cell)));
  const objects = await world.tokens.of(cells.map((cell) => objectWish(world, cell)));
  const places = await world.places.of(cells.map((cell) => placeWish(world, cell, apart)));
  const successors = await world.tokens.of(
    cells.map(({ caller }, index) =>
      caller.token === "rotated"
        ? { user: world.somebody.id, scopes: ["api"], previous: tokens[index]?.id ?? 0 }
        : undefined,
    ),
  );
  return Promise.all(
    cells.map(async ({ line }, index) => ({
      ...(await usersThings(world, cells[index] as Cell, apart)),
      token: tokens[index],
      object: objects[index],
      successor: successors[index],
      place: places[index],
      project: line.place?.child === "project" ? await world.land.makeProject() : undefined,
      secret: await linkIn(world, line),
      session: await sessionOf(world, cells[index] as Cell),
      person: line.send?.includes("{login}") ? await world.newPerson() : undefined,
    })),
  );
}

async function linkIn(world: World, { send = "" }: Line): Promise<string | undefined> {
  const purpose = (["confirm", "reset"] as const).find((each) => send.includes(`{${each}}`));
  return purpose && world.mailLink(purpose);
}

/** Each cell has a session of its own, because some end it. */
async function sessionOf(world: World, { caller }: Cell): Promise<Belongings["session"]> {
  return caller.carrier === "session" ? world.signIn(world.accounts.get(caller.name)?.id ?? 0) : undefined;
}

const isPossession = (object: Line["object"]) => object === "email" || object === "session" || object === "key";

/** Whom must be refused to all is the same newcomer for all. */
async function usersThings(world: World, cell: Cell, apart: boolean): Promise<Pick<Belongings, "newcomer" | "given">> {
  const { line, owner, expected, operation } = cell;
  if (owner !== "own" && owner !== "foreign") return {};
  const isKept = !apart && (expected === "refused" || expected >= 300);
  const newcomer =
    line.object === "newcomer" && owner === "foreign"
      ? await world.newcomer(line.newcomer, isKept ? keyOf(operation) : undefined)
      : undefined;
  const kind = line.has ?? (isPossession(line.object) ? line.object : undefined);
  const given = kind && (await world.give(kind, newcomer ?? ownerOf(world, cell), actingAccount(world, cell)?.id ?? 0));
  return { newcomer, given };
}

/** A token is kept for all cells that show one like it, but for those that could end it. */
function tokenWish(world: World, { caller, scopes, operation }: Cell): Wish | undefined {
  if (!scopes) return undefined;
  const endsTokens = /^\/(?:users?\/.*)?personal_access_tokens/.test(operation.endpoint.path);
  return {
    ...(!endsTokens && caller.token !== "rotated" && { kept: `${caller.name} ${scopes.join(" ")}` }),
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

/** What is only read, or must be refused, is the same place for all such cells of one caller. */
function placeWish(world: World, cell: Cell, apart: boolean): PlaceWish | undefined {
  const { line, caller, visibility, state, verb, expected } = cell;
  if (!line.place || cell.owner === "nowhere") return undefined;
  const { kind, top, holds, code } = line.place;
  // All code is the same.
  const child = code ? undefined : line.place.child;
  const isKept = isRead(verb) || (!apart && (expected === "refused" || expected >= 300));
  const kept = [caller.name, kind, top, child, holds, code && "code", visibility, state].join();
  const acting = caller.role === "anonymous" ? undefined : actingAccount(world, cell)?.id;
  return {
    ...{ kind, caller, visibility, state, acting },
    ...(top && { top }),
    ...(child && { child }),
    ...(holds && { holds }),
    ...(code && { code }),
    ...(isKept && { kept }),
  };
}

/** The places that are only read by these cells, or asked to change in vain. */
export async function keptPlaces(world: World, cells: readonly Cell[]): Promise<MadePlace[]> {
  const wishes = cells.map((cell) => placeWish(world, cell, false)).filter((wish) => wish?.kept !== undefined);
  return [...new Set(await world.places.of(wishes))].filter((place) => place !== undefined);
}

export const isRead = (verb: Verb) => verb === "GET" || verb === "HEAD" || verb === "OPTIONS";

function actingAccount(world: World, { caller }: Cell): Account | undefined {
  const target = caller.sudo?.as;
  const acting = target === undefined || target === "missing" ? undefined : world.targets[target];
  return acting ?? world.accounts.get(caller.name);
}

/** The user whose thing the request names: through sudo, one's own is that of the user acted for. */
const ownerOf = (world: World, cell: Cell): number =>
  (cell.owner === "foreign" ? world.somebody : actingAccount(world, cell))?.id ?? 0;

/** The request of a cell. */
export function requestOf(world: World, cell: Cell, belongings: Belongings): InjectOptions {
  const { line, verb, caller, operation, broken } = cell;
  const { endpoint } = operation;
  const params = new URLSearchParams(filled(world, cell, belongings));
  const names = pathNames(endpoint.path);
  const objectName = line.by ?? names[0];
  if (line.object && objectName) params.set(objectName, objectId(world, cell, belongings));
  if (line.has && names[1] !== undefined) params.set(names[1], belongings.given ?? NOBODY);
  if (line.place) namePlace(world, line.place, cell, belongings, params, names);
  const named = (name: string) => params.get(name) ?? NOBODY;
  const path = formed(
    line.place?.overGit
      ? endpoint.path.replace(/\*(\w+)/, (_, name: string) => named(name))
      : addressOf(endpoint).replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named(name))),
    cell.form,
  );
  for (const name of names) params.delete(name);
  if (broken) {
    params.delete(broken);
    params.set(`${broken}[x]`, "1");
  }
  const inBody = verb === "POST" || verb === "PUT" || verb === "PATCH";
  const query = inBody && !line.body ? new URLSearchParams() : new URLSearchParams(params);
  const headers: Record<string, string> = { host: "localhost", ...belongings.session };
  showToken(world, cell, belongings.token?.token, headers, query);
  if (caller.sudo) {
    const target = caller.sudo.as === "missing" ? undefined : world.targets[caller.sudo.as];
    if (caller.sudo.by === "header") headers["sudo"] = String(target?.id ?? NOBODY);
    else query.set("sudo", target?.username ?? NOBODY);
  }
  if (inBody) headers["content-type"] = line.body ? `application/x-${line.body}-request` : FORM;
  return {
    method: verb,
    url: query.size > 0 ? `${path}?${query.toString()}` : path,
    headers,
    remoteAddress: caller.loopback ? SAME_MACHINE : ELSEWHERE,
    ...(inBody && { payload: line.body ? world.land.code.bodyOf(line.body) : params.toString() }),
  };
}

/** What the line sends, with the things of this cell in it. */
function filled(world: World, cell: Cell, { secret, person }: Belongings): string | undefined {
  const { user, group, event } = world.land;
  const things = {
    ...{ user: user.id, group, event, namespace: actingAccount(world, cell)?.namespaceId ?? NOBODY },
    ...{ visibility: cell.visibility === "private" ? "internal" : "private", confirm: secret, reset: secret },
    ...person,
    ...(cell.line.send?.includes("{ssh_key}") && { ssh_key: encodeURIComponent(newSshKey("matrix")) }),
    fingerprint: FINGERPRINT,
  };
  return cell.line.send
    ?.replaceAll("*", `w${randomUUID().slice(0, 18)}`)
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => String(things[name as keyof typeof things]));
}

/** Names the group or project, by its id unless the form of the cell says how, and what is asked for in it. */
function namePlace(
  { land: { code } }: World,
  { by, child, foundBy, overGit }: NonNullable<Line["place"]>,
  { form, owner }: Cell,
  { place, project }: Belongings,
  params: URLSearchParams,
  names: readonly string[],
) {
  if (foundBy) {
    params.set("search", place?.name ?? NOBODY);
    return;
  }
  const nowhere = overGit ? `${NOBODY}/${NOBODY}` : NOBODY;
  params.set(
    by ?? names[0] ?? "",
    place ? addressIn(overGit && !form.includes("path") ? "full path" : form, place) : nowhere,
  );
  const isThird = child === "service account token";
  if (isThird && names[1] !== undefined) params.set(names[1], String(place?.account ?? NOBODY));
  const childName = names[isThird ? 2 : 1];
  if (!child || childName === undefined) return;
  if (isCodeChild(child)) {
    params.set(childName, code.nameOf(child, owner) ?? NOBODY);
    return;
  }
  const known = child === "project" ? { own: project } : place?.children;
  params.set(childName, String((known as Partial<Record<Owner, number>> | undefined)?.[owner] ?? NOBODY));
}

function addressIn(form: Cell["form"], { id, fullPath, oldPath }: MadePlace): string {
  if (form === "full path") return fullPath;
  if (form === "full path in upper case") return fullPath.toUpperCase();
  return form === "old path" ? oldPath : String(id);
}

function objectId(world: World, cell: Cell, { object, newcomer, given }: Belongings): string {
  if (cell.owner === "missing") return NOBODY;
  if (isPossession(cell.line.object)) return given ?? NOBODY;
  return String(cell.line.object === "token" ? object?.id : (newcomer ?? ownerOf(world, cell)));
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
    case "plain":
    case "full path":
    case "full path in upper case":
    case "old path":
      return path;
  }
}

function problemOf(cell: Cell, { place }: Belongings, response: LightMyRequestResponse): string | undefined {
  const { expected, line, caller, verb } = cell;
  const { statusCode: status, payload } = response;
  const agrees = expected === "refused" ? status >= 400 && status < 500 : status === expected;
  if (!agrees) return `expected ${expected}, got ${status} ${payload.slice(0, 200)}`;
  if (status !== 200 || verb !== "GET") return undefined;
  if (line.adminsSee !== undefined) {
    const shown = itemsOf(payload).some((item) => line.adminsSee !== undefined && line.adminsSee in item);
    if (shown !== seesAll(line, caller))
      return `expected the field ${line.adminsSee} to be ${shown ? "hidden" : "shown"}`;
  }
  if (line.place?.foundBy && place) {
    const shown = itemsOf(payload).some(({ id }) => id === place.id);
    if (shown !== isListed(line.place, cell)) return `expected the list to ${shown ? "hide" : "show"} it`;
  }
  if (line.place?.holds === "hidden member" && place) {
    const shown = itemsOf(payload).some(({ id }) => id === place.children.own);
    if (shown !== seesAll(line, caller)) return `expected the list to ${shown ? "hide" : "show"} the hidden member`;
  }
  const count = line.place && isPlain(cell) ? shownOf(line.place, cell) : undefined;
  if (count !== undefined && itemsOf(payload).length !== count)
    return `expected the list to show ${count}, got ${itemsOf(payload).length}`;
  return undefined;
}

/** Whether the list is asked for with nothing that makes it shorter. */
const isPlain = ({ line }: Cell) => line.send === undefined;

function itemsOf(payload: string): { readonly id?: number }[] {
  const body = JSON.parse(payload) as object | object[];
  return Array.isArray(body) ? body : [body];
}

function familyProblem(
  { line, verb, operation, form }: Cell,
  { successor }: Belongings,
  ended = false,
): string | undefined {
  if (!successor || form !== "plain" || verb !== operation.endpoint.method) return undefined;
  if (ended === (line.endsFamily === true)) return undefined;
  return `expected the token that came from the shown one to ${ended ? "live on" : "end"}`;
}
