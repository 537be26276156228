import { randomUUID } from "node:crypto";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { urlOf } from "#http/paths.ts";
import { pathNames } from "#http/endpoint.ts";
import type { Name } from "#test/contract.ts";
import { fixtures } from "#test/support/fixtures.ts";
import { GIF } from "#test/support/images.ts";
import { multipart } from "#test/support/wire.ts";
import { type Cell, keyOf, type Verb } from "./cells.ts";
import type { TestContainer, ContainerSpec } from "./tree.ts";
import { isCodeChild } from "./code.ts";
import type { Line } from "./line.ts";
import { isListed, type Owner, seesAll, shownOf } from "./model.ts";
import { type Account, type TestToken, MISSING_ID, type TokenSpec, type World } from "./world.ts";

/** Concurrent requests: many if all cells run, few if the first problem ends the run. */
const CONCURRENCY = 64;
const LOW_CONCURRENCY = 8;
const LOOPBACK_ADDRESS = "127.0.0.1";
const REMOTE_ADDRESS = "203.0.113.7";
const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

/** The response to a cell; `problem` is undefined if it is as expected. */
export interface Answer {
  readonly cell: Cell;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly payload: string;
  readonly problem: string | undefined;
}

/** The data that is created for one cell, or shared by cells that cannot disturb each other. */
export interface CellSetup {
  readonly token?: TestToken | undefined;
  readonly object?: TestToken | undefined;
  readonly successor?: TestToken | undefined;
  readonly container?: TestContainer | undefined;
  readonly project?: number | undefined;
  /** The values of the names in braces in what the line sends. */
  readonly values?: Readonly<Record<string, string>> | undefined;
  /** The headers of a session, if the caller uses one. */
  readonly session?: Readonly<Record<string, string>> | undefined;
  /** A user who is created for the cell, and the path name of the fixture that the user was given. */
  readonly newcomer?: number | undefined;
  readonly given?: string | undefined;
}

interface Options {
  /** Whether to stop at the first problem. */
  readonly untilProblem?: boolean;
  /** Whether requests that must be refused get a container of their own too, because a mutant may not refuse them. */
  readonly apart?: boolean;
}

/** Sends the request of every cell and checks the response. */
export async function runAll(
  app: FastifyInstance,
  world: World,
  cells: readonly Cell[],
  { untilProblem = false, apart = false }: Options = {},
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const concurrency = untilProblem ? LOW_CONCURRENCY : CONCURRENCY;
  for (let from = 0; from < cells.length; from += concurrency) {
    const batch = cells.slice(from, from + concurrency);
    const setups = await prepare(world, batch, apart);
    const responses = await Promise.all(
      batch.map((cell, index) => app.inject(requestOf(world, cell, setups[index] ?? {}))),
    );
    const ended = await world.isRevoked(setups.map(({ successor }) => successor?.id ?? 0));
    for (const [index, cell] of batch.entries()) {
      const response = responses[index];
      if (!response) continue;
      const own = setups[index] ?? {};
      const problem = problemOf(cell, own, response) ?? familyProblem(cell, own, ended[index]);
      const { statusCode: status, headers, payload } = response;
      answers.push({ cell, status, headers, payload, problem });
    }
    if (untilProblem && answers.some(({ problem }) => problem !== undefined)) break;
  }
  return answers;
}

/** Creates the data that the requests of cells need. */
export async function prepare(world: World, cells: readonly Cell[], apart: boolean): Promise<CellSetup[]> {
  if (cells.some(({ line }) => line.resetsAccounts)) await world.resetAccounts();
  const tokens = await world.tokens.of(cells.map((cell) => tokenSpec(world, cell)));
  const objects = await world.tokens.of(cells.map((cell) => objectTokenSpec(world, cell)));
  const containers = await world.containers.of(cells.map((cell) => containerSpec(world, cell, apart)));
  const successors = await world.tokens.of(
    cells.map(({ caller }, index) =>
      caller.token === "rotated"
        ? { user: world.otherUser.id, scopes: ["api"], previous: tokens[index]?.id ?? 0 }
        : undefined,
    ),
  );
  return Promise.all(
    cells.map(async ({ line }, index) => ({
      ...(await userSetup(world, cells[index] as Cell, apart)),
      token: tokens[index],
      object: objects[index],
      successor: successors[index],
      container: containers[index],
      project: line.container?.child === "project" ? await world.tree.makeProject() : undefined,
      values: await world.valuesIn(line.send ?? ""),
      session: await sessionOf(world, cells[index] as Cell),
    })),
  );
}

/** Each cell has a session of its own, because some end it. */
async function sessionOf(world: World, { caller }: Cell): Promise<CellSetup["session"]> {
  return caller.carrier === "session" ? world.signIn(world.accounts.get(caller.name)?.id ?? 0) : undefined;
}

/** Whether the first name in the path is a fixture of a user. */
const isUserFixture = (object: Line["object"]) => object !== undefined && fixtures.has(object);

/** Cells whose request must be refused share one newcomer. */
async function userSetup(world: World, cell: Cell, apart: boolean): Promise<Pick<CellSetup, "newcomer" | "given">> {
  const { line, owner, expected, operation } = cell;
  if (owner !== "own" && owner !== "foreign") return {};
  const isShared = !apart && (expected === "refused" || expected >= 300);
  const newcomer =
    line.object === "newcomer" && owner === "foreign"
      ? await world.newcomer(line.newcomer, isShared ? keyOf(operation) : undefined)
      : undefined;
  const kind = line.has ?? (isUserFixture(line.object) ? line.object : undefined);
  const given = kind && (await world.give(kind, newcomer ?? ownerOf(world, cell), actingAccount(world, cell)?.id ?? 0));
  return { newcomer, given };
}

/** Cells with equal tokens share one, except those that could revoke it. */
function tokenSpec(world: World, { caller, scopes, operation }: Cell): TokenSpec | undefined {
  if (!scopes) return undefined;
  const endsTokens = /^\/(?:users?\/.*)?personal_access_tokens/.test(operation.endpoint.path);
  return {
    ...(!endsTokens && caller.token !== "rotated" && { sharedAs: `${caller.name} ${scopes.join(" ")}` }),
    user: world.accounts.get(caller.name)?.id ?? 0,
    scopes,
    expired: caller.token === "expired",
    revoked: caller.token === "revoked" || caller.token === "rotated",
  };
}

function objectTokenSpec(world: World, cell: Cell): TokenSpec | undefined {
  if (cell.line.object !== "token" || cell.owner === "missing") return undefined;
  return { user: ownerOf(world, cell), scopes: ["api"] };
}

/** Cells of one caller that only read, or must be refused, share a container. */
function containerSpec(world: World, cell: Cell, apart: boolean): ContainerSpec | undefined {
  const { line, caller, visibility, state, verb, expected } = cell;
  if (!line.container || cell.owner === "nowhere") return undefined;
  const { kind, top, holds, code } = line.container;
  // Every project has the same code.
  const child = code ? undefined : line.container.child;
  const isShared = isRead(verb) || (!apart && (expected === "refused" || expected >= 300));
  const sharedAs = [caller.name, kind, top, child, holds, code && "code", visibility, state].join();
  const acting = caller.role === "anonymous" ? undefined : actingAccount(world, cell)?.id;
  return {
    ...{ kind, caller, visibility, state, acting },
    ...(top && { top }),
    ...(child && { child }),
    ...(holds && { holds }),
    ...(code && { code }),
    ...(isShared && { sharedAs }),
  };
}

/** The containers that these cells only read or fail to change. */
export async function sharedContainers(world: World, cells: readonly Cell[]): Promise<TestContainer[]> {
  const specs = cells.map((cell) => containerSpec(world, cell, false)).filter((spec) => spec?.sharedAs !== undefined);
  return [...new Set(await world.containers.of(specs))].filter((container) => container !== undefined);
}

export const isRead = (verb: Verb) => verb === "GET" || verb === "HEAD" || verb === "OPTIONS";

export function actingAccount(world: World, { caller }: Cell): Account | undefined {
  const target = caller.sudo?.as;
  const acting = target === undefined || target === "missing" ? undefined : world.targets[target];
  return acting ?? world.accounts.get(caller.name);
}

/** The user whose object the request names; under sudo the own one is that of the user acted for. */
const ownerOf = (world: World, cell: Cell): number =>
  (cell.owner === "foreign" ? world.otherUser : actingAccount(world, cell))?.id ?? 0;

/** The request of a cell. */
export function requestOf(world: World, cell: Cell, setup: CellSetup): InjectOptions {
  const { line, verb, caller, operation, broken } = cell;
  const { endpoint } = operation;
  const params = new URLSearchParams(filled(world, cell, setup));
  const names = pathNames(endpoint.path);
  const objectName = line.by ?? names[0];
  if (line.object && objectName) params.set(objectName, objectId(world, cell, setup));
  if (line.has && names[1] !== undefined) params.set(names[1], setup.given ?? MISSING_ID);
  if (line.container) nameContainer(world, line.container, cell, setup, params, names);
  const named = (name: string) => params.get(name) ?? MISSING_ID;
  const path = formed(
    line.container?.overGit
      ? endpoint.path.replace(/\*(\w+)/, (_, name: string) => named(name))
      : urlOf(endpoint).replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named(name))),
    cell.form,
  );
  for (const name of names) params.delete(name);
  if (broken) {
    params.delete(broken);
    params.set(`${broken}[x]`, "1");
  }
  const inBody = verb === "POST" || verb === "PUT" || verb === "PATCH";
  const query = inBody && !line.body ? new URLSearchParams() : new URLSearchParams(params);
  const headers: Record<string, string> = { host: "localhost", ...setup.session };
  showToken(world, cell, setup.token?.token, headers, query);
  if (caller.sudo) {
    const target = caller.sudo.as === "missing" ? undefined : world.targets[caller.sudo.as];
    if (caller.sudo.by === "header") headers["sudo"] = String(target?.id ?? MISSING_ID);
    else query.set("sudo", target?.username ?? MISSING_ID);
  }
  const body = inBody ? bodyOf(world, line, params) : undefined;
  return {
    method: verb,
    url: query.size > 0 ? `${path}?${query.toString()}` : path,
    headers: { ...headers, ...body?.headers },
    remoteAddress: caller.loopback ? LOOPBACK_ADDRESS : REMOTE_ADDRESS,
    ...(body && { payload: body.payload }),
  };
}

function bodyOf({ tree }: World, { body, upload, asJson }: Line, params: URLSearchParams) {
  if (body) return { payload: tree.code.bodyOf(body), headers: { "content-type": `application/x-${body}-request` } };
  if (asJson) return { payload: JSON.stringify(Object.fromEntries(params)), headers: { "content-type": JSON_TYPE } };
  if (upload === undefined) return { payload: params.toString(), headers: { "content-type": FORM } };
  const isReplaced = params.keys().some((name) => name === upload || name.startsWith(`${upload}[`));
  return multipart({
    ...Object.fromEntries(params),
    ...(!isReplaced && { [upload]: { filename: "picture.gif", bytes: GIF } }),
  });
}

/** The parameters of the line, with the values of this cell. */
function filled(world: World, cell: Cell, { values }: CellSetup): string | undefined {
  const { user, group } = world.tree;
  const things: Readonly<Record<string, unknown>> = {
    ...{ user, group, namespace: actingAccount(world, cell)?.namespaceId ?? MISSING_ID },
    visibility: cell.visibility === "private" ? "internal" : "private",
    ...values,
  };
  return cell.line.send
    ?.replaceAll("*", `w${randomUUID().slice(0, 18)}`)
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(things[name])));
}

/** Sets the parameters that name the group or project, by id unless the form of the cell says otherwise, and its child. */
function nameContainer(
  { tree: { code } }: World,
  { by, child, childBy, foundBy, overGit }: NonNullable<Line["container"]>,
  { form, owner }: Cell,
  { container, project }: CellSetup,
  params: URLSearchParams,
  names: readonly string[],
) {
  if (foundBy) {
    params.set("search", container?.name ?? MISSING_ID);
    return;
  }
  const nowhere = overGit ? `${MISSING_ID}/${MISSING_ID}` : MISSING_ID;
  params.set(
    by ?? names[0] ?? "",
    container ? addressIn(overGit && !form.includes("path") ? "full path" : form, container) : nowhere,
  );
  const behind = [...names.slice(1), ...(childBy === undefined ? [] : [childBy])];
  const last = behind.at(-1);
  if (!child || last === undefined) return;
  if (isCodeChild(child)) {
    params.set(behind[0] ?? "", code.nameOf(child, owner) ?? MISSING_ID);
    return;
  }
  const children: Partial<Record<Owner, readonly Name[]>> =
    child === "project" ? { own: [project ?? 0] } : (container?.children ?? {});
  // The names before the last are always the container's own.
  for (const [index, name] of behind.entries()) params.set(name, String(children.own?.[index] ?? MISSING_ID));
  params.set(last, String(children[owner]?.at(-1) ?? MISSING_ID));
}

function addressIn(form: Cell["form"], { id, fullPath, oldPath }: TestContainer): string {
  if (form === "full path") return fullPath;
  if (form === "full path in upper case") return fullPath.toUpperCase();
  return form === "old path" ? oldPath : String(id);
}

export function objectId(world: World, cell: Cell, { object, newcomer, given }: CellSetup): string {
  if (cell.owner === "missing") return MISSING_ID;
  if (isUserFixture(cell.line.object)) return given ?? MISSING_ID;
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
  if (caller.carrier === "two") query.set("private_token", world.otherUser.token);
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

function problemOf(cell: Cell, { container }: CellSetup, response: LightMyRequestResponse): string | undefined {
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
  if (line.container?.foundBy && container) {
    const shown = itemsOf(payload).some(({ id }) => id === container.id);
    if (shown !== isListed(line.container, cell)) return `expected the list to ${shown ? "hide" : "show"} it`;
  }
  if (line.container?.holds === "hidden member" && container) {
    const shown = itemsOf(payload).some(({ id }) => id === container.children.own[0]);
    if (shown !== seesAll(line, caller)) return `expected the list to ${shown ? "hide" : "show"} the hidden member`;
  }
  const count = line.container && isUnfiltered(cell) ? shownOf(line.container, cell) : undefined;
  if (count !== undefined && itemsOf(payload).length !== count)
    return `expected the list to show ${count}, got ${itemsOf(payload).length}`;
  return undefined;
}

/** Whether the list is requested without filters. */
const isUnfiltered = ({ line }: Cell) => line.send === undefined;

function itemsOf(payload: string): { readonly id?: number }[] {
  const body = JSON.parse(payload) as object | object[];
  return Array.isArray(body) ? body : [body];
}

function familyProblem(
  { line, verb, operation, form }: Cell,
  { successor }: CellSetup,
  ended = false,
): string | undefined {
  if (!successor || form !== "plain" || verb !== operation.endpoint.method) return undefined;
  if (ended === (line.endsFamily === true)) return undefined;
  return `expected the token that came from the shown one to ${ended ? "live on" : "end"}`;
}
