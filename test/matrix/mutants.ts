import type { Access, Caller } from "#access/access.ts";
import { type ActingUser, type Actor, actorOf, type TokenRow } from "#access/principal.ts";
import { tokenByDigest } from "#access/acting-users.ts";
import { SCOPES } from "#access/scopes.ts";
import type { Databases } from "#db/database.ts";
import type { Endpoint } from "#http/endpoint.ts";
import { LEVELS } from "./callers.ts";
import type { Cell } from "./cells.ts";
import type { Line, Container, Visibility } from "./line.ts";

type Rule = Access<object>;

/** A changed access rule, or a database that returns changed rows to rules and handlers. */
export interface Weaker {
  readonly access?: Partial<Rule>;
  /** Mutants with the same function are tried together. */
  readonly db?: (db: Databases) => Databases;
}

/** One way to weaken an access rule; some cell of every endpoint that it applies to must notice. */
export interface Mutation {
  readonly name: string;
  /** The change, or undefined if the lines do not depend on it. */
  weaken(endpoint: Endpoint, lines: readonly Line[], otherUser: Actor): Weaker | undefined;
  /** Whether a cell is likely to notice; such cells run first. */
  likely(cell: Cell): boolean;
}

/** The row by which a rule decides about a group or project. */
interface ContainerRow {
  readonly level: number;
  readonly visibility: number;
  readonly archived: boolean;
  readonly repository_access_level?: string;
}

const PUBLIC = 20;
const INTERNAL = 10;

/** Each further scope; that the rules name none is a comparison of two lists, which takes no request. */
export const scopeMutations: readonly Mutation[] = SCOPES.map((scope) => ({
  name: `scope ${scope} opens it`,
  weaken({ access, method }) {
    const reads = method === "GET" && !access.forGit;
    const known = access.scopes.includes(scope) || scope === "api" || (scope === "read_api" && reads);
    return known ? undefined : { access: { scopes: [...access.scopes, scope] } };
  },
  likely: isAs("administrator", scope),
}));

const general: readonly Mutation[] = [
  {
    name: "anyone may",
    weaken: ({ access }, _, otherUser) =>
      access.admits.anonymous
        ? undefined
        : { access: { admits: { ...access.admits, anonymous: true }, ...asOtherUser(access, otherUser) } },
    likely: ({ caller }) => caller.role === "anonymous",
  },
  {
    name: "every address is trusted",
    weaken: ({ access }, lines) =>
      lines.some(({ loopback }) => loopback !== undefined)
        ? { access: { check: (caller) => access.check({ ...caller, address: "127.0.0.1" }) } }
        : undefined,
    likely: ({ caller }) => caller.role === "anonymous",
  },
  {
    name: "every user counts as an administrator",
    weaken({ access }, lines) {
      const differs = lines.some(
        (line) => line.adminsSee !== undefined || line.container || String(line.user) !== String(line.administrator),
      );
      const check = async (caller: Caller) => promoted(await access.check(withUser(caller, { admin: true })));
      return differs ? { access: { check } } : undefined;
    },
    likely: isAs("user", "api"),
  },
  {
    name: "bots count as people",
    weaken: ({ access }, lines) =>
      lines.some(({ robots }) => robots !== undefined)
        ? { access: { check: (caller) => access.check(withUser(caller, { user_type: "human" })) } }
        : undefined,
    likely: ({ caller }) => caller.name === "service account",
  },
  {
    name: "a revoked token ends nothing",
    weaken: ({ access }) =>
      access.onRevokedToken ? { access: { onRevokedToken: () => Promise.resolve() } } : undefined,
    likely: ({ caller }) => caller.token === "rotated",
  },
];

type Oversight = [how: string, change: (row: TokenRow) => Partial<TokenRow>, whom: string];

/** The problems of tokens and accounts, each ignored in turn, with a caller who has the problem. */
const OVERLOOKED: readonly Oversight[] = [
  ["expired tokens pass", () => ({ expired: false }), "administrator, expired token"],
  ["revoked tokens pass", () => ({ revoked: false }), "administrator, revoked token"],
  ["blocked accounts pass", () => ({ state: "active" }), "administrator, blocked"],
  ["internal bots pass", () => ({ user_type: "human" }), "administrator, internal bot"],
  ["unconfirmed accounts pass", () => ({ confirmed: true }), "administrator, unconfirmed"],
  ["expired passwords pass", () => ({ password_expired: false }), "administrator, password expired"],
  [
    "sudo needs no scope",
    ({ scopes }) => ({ scopes: [...scopes, "sudo"] }),
    "administrator for an administrator, without the scope",
  ],
  [
    "sudo needs no administrator",
    ({ scopes, admin }) => ({ admin: admin || scopes.includes("sudo") }),
    "user for an administrator",
  ],
];

const overlooking: readonly Mutation[] = OVERLOOKED.map(([name, change, whom]) => ({
  name,
  weaken: ({ access }) => ({
    access: {
      findToken: async (db, digest) => {
        const row = await (access.findToken ?? tokenByDigest)(db, digest);
        return row && { ...row, ...change(row) };
      },
    },
  }),
  likely: isAs(whom, "api"),
}));

/** Ways to weaken the rule of a group or project. */
const inContainers: readonly Mutation[] = [
  changedRow(
    "who has one role less may",
    isRole,
    ({ level }, container) => ({ level: level >= levelBelow(container) ? Math.max(level, levelOf(container)) : level }),
    ({ caller, line, visibility }) => visibility === "private" && caller.name === nameBelow(line.container),
  ),
  changedRow("whoever sees it may", isRole, () => ({ level: LEVELS.owner }), isAt("user", "public")),
  changedRow(
    "whoever reads code may push it",
    ({ code, requestRole }) => code !== undefined && requestRole !== undefined,
    ({ level }) => ({ level: level >= LEVELS.reporter ? Math.max(level, LEVELS.developer) : level }),
    isAt("reporter", "private"),
  ),
  changedRow(
    "what is archived can be pushed to",
    ({ code, requestRole }) => code === "push" || (code !== undefined && requestRole !== undefined),
    () => ({ archived: false }),
    ({ caller, state }) => caller.name === "owner" && state.startsWith("archived"),
  ),
  changedRow(
    "code is for everybody who sees the project",
    ({ code }) => code !== undefined,
    () => ({ repository_access_level: "enabled" }),
    ({ caller, state }) => caller.name === "owner" && state === "code for nobody",
  ),
  {
    name: "what is marked for deletion can be pushed to",
    weaken: (_, lines) =>
      containersOf(lines).some(({ code, requestRole }) => code === "push" || (code && requestRole))
        ? neverDeleted
        : undefined,
    likely: ({ caller, state }) => caller.name === "owner" && state === "marked for deletion",
  },
  changedRow("everything counts as public", isAny, () => ({ visibility: PUBLIC }), isAt("user", "private")),
  changedRow(
    "what is internal counts as public",
    isAny,
    ({ visibility }) => ({ visibility: visibility === INTERNAL ? PUBLIC : visibility }),
    isAt("external user", "internal"),
  ),
  changedStatement(
    "expired memberships count",
    "owner, expired",
    isAny,
    /\(m\.expires_at is null or [^)]*\)[^)]*\)/g,
    "true",
  ),
  changedStatement(
    "expired shares count",
    "owner by an expired share",
    isAny,
    /\(s\.expires_at is null or [^)]*\)[^)]*\)/g,
    "true",
  ),
  changedStatement("minimal access reaches down", "minimal above", isBelow, /m\.access_level >= 10 and/g, ""),
  changedStatement(
    "a share gives what its members have",
    "guest, by the limit of a share",
    isAboveGuest,
    /least\(s\.access_level, (m\.access_level)\)/g,
    "$1",
  ),
  changedStatement(
    "a share gives all that it may",
    "guest, by a share",
    isAboveGuest,
    /least\((s\.access_level), m\.access_level\)/g,
    "$1",
  ),
  {
    name: "external users count as others",
    weaken({ access }, lines) {
      const differs = lines.some(
        ({ container, user }) =>
          container && container.foundBy !== "members" && container.foundBy !== "its own" && user !== 404,
      );
      const check = (caller: Caller) => access.check(withUser(caller, { external: false }));
      return differs ? { access: { check } } : undefined;
    },
    likely: isAt("external user", "internal"),
  },
  {
    name: "a list shows everything",
    weaken({ access }, lines) {
      const lists = containersOf(lines).some(
        ({ holds, foundBy }) => foundBy || holds === "subgroup" || holds === "project inside",
      );
      const check = async (caller: Caller) => promoted(await access.check(caller));
      return lists ? { access: { check } } : undefined;
    },
    likely: ({ caller, visibility, line: { container } }) =>
      caller.name === "user" && visibility === (container?.foundBy ? "private" : "public"),
  },
  {
    name: "those not signed in count as others",
    weaken: ({ access }, lines, otherUser) =>
      access.admits.anonymous && containersOf(lines).length > 0
        ? { access: asOtherUser(access, otherUser) }
        : undefined,
    likely: ({ caller, visibility }) => caller.role === "anonymous" && visibility === "internal",
  },
  {
    name: "a previous path redirects everybody",
    weaken({ access }, lines) {
      const check = (caller: Caller) => access.check(isId(caller.path["id"]) ? caller : asPublic(caller));
      return containerOf(lines)?.by === undefined && containerOf(lines) ? { access: { check } } : undefined;
    },
    likely: ({ caller, form, visibility }) => form === "old path" && caller.name === "user" && visibility === "private",
  },
];

export const ruleMutations: readonly Mutation[] = [...general, ...overlooking, ...inContainers];

const containersOf = (lines: readonly Line[]): Container[] => lines.flatMap(({ container }) => container ?? []);

/** The containers that a rule looks up. */
const lookedUp = (lines: readonly Line[]): Container[] =>
  containersOf(lines).filter(({ foundBy, least }) => !foundBy && least !== "administrator");

const containerOf = (lines: readonly Line[]): Container | undefined => lookedUp(lines)[0];

const ASCENDING_LEVELS = Object.values(LEVELS);
/** The role that a private container needs. */
function levelOf({ least, code, fromReporter }: Container): number {
  if (least === "viewer") return code || fromReporter ? LEVELS.reporter : 0;
  return least === "administrator" ? 0 : LEVELS[least];
}
function levelBelow(container: Container): number {
  return ASCENDING_LEVELS.findLast((level) => level < levelOf(container)) ?? 0;
}

function nameBelow(container: Container | undefined): string | undefined {
  return container && Object.entries(LEVELS).find(([, level]) => level === levelBelow(container))?.[0];
}

function isAny(): boolean {
  return true;
}
// What is inside a group stays hidden from those with minimal access, wherever they have it.
function isBelow({ top, inner, child }: Container): boolean {
  return !top && !(inner && child !== undefined);
}
function isRole({ least, code, fromReporter }: Container): boolean {
  return least !== "viewer" || code !== undefined || fromReporter === true;
}

/** Whether it takes more than the least role, which is also the least that a share gives. */
function isAboveGuest(container: Container): boolean {
  return isRole(container) && container.least !== "guest";
}

const isId = (text = "") => /^\d+$/.test(text);
const asPublic = (caller: Caller): Caller => ({
  ...caller,
  db: withChangedRows(caller.db, isContainerRow, () => ({ visibility: PUBLIC })),
});

/** A mutation of the rows that a rule reads. */
function changedRow(
  name: string,
  concerns: (container: Container) => boolean,
  change: (row: ContainerRow, container: Container) => Partial<ContainerRow>,
  likely: Mutation["likely"],
): Mutation {
  const known = new Map<number, NonNullable<Weaker["db"]>>();
  const weakerDb = (container: Container) => (db: Databases) =>
    withChangedRows(db, isContainerRow, (row) => change(row, container));
  return {
    name,
    weaken(_, lines) {
      const container = lookedUp(lines).find(concerns);
      if (!container) return undefined;
      const db = known.get(levelOf(container)) ?? weakerDb(container);
      known.set(levelOf(container), db);
      return { db };
    },
    likely,
  };
}

/** A mutation of the statement that reads them. */
function changedStatement(
  name: string,
  whom: string,
  concerns: (container: Container) => boolean,
  pattern: RegExp,
  by: string,
): Mutation {
  const known = new Map<unknown, unknown>();
  function reword<L extends { readonly text: string }>(lookup: L): L {
    if (!known.has(lookup)) known.set(lookup, { ...lookup, text: lookup.text.replaceAll(pattern, by) });
    return known.get(lookup) as L;
  }
  const weaker: Weaker = { db: (db) => withChangedLookups(db, reword) };
  return {
    name,
    weaken(_, lines) {
      const container = containerOf(lines);
      return container && concerns(container) ? weaker : undefined;
    },
    likely: isAt(whom, "private"),
  };
}

function withChangedLookups(db: Databases, reword: <L extends { readonly text: string }>(lookup: L) => L): Databases {
  return { ...db, point: { ...db.point, load: (lookup, key) => db.point.load(reword(lookup), key) } };
}

/** A database that returns changed rows of one kind. */
function withChangedRows<R extends object>(
  db: Databases,
  concerns: (row: object) => row is R,
  change: (row: R) => Partial<R>,
): Databases {
  return {
    ...db,
    point: {
      ...db.point,
      async load(lookup, key) {
        const row = await db.point.load(lookup, key);
        return row && concerns(row) ? { ...row, ...change(row) } : row;
      },
    },
  };
}

/** A row with the state of deletion. */
const hasDeletion = (row: object): row is { readonly pending_deletion: boolean } => "pending_deletion" in row;
const neverDeleted: Weaker = { db: (db) => withChangedRows(db, hasDeletion, () => ({ pending_deletion: false })) };

const isContainerRow = (row: object): row is ContainerRow => "level" in row && "visibility" in row;

function isAs(name: string, scope: string) {
  return ({ caller, scopes }: Cell) => caller.name === name && scopes?.[0] === scope;
}

function isAt(name: string, visibility: Visibility) {
  return (cell: Cell) => cell.visibility === visibility && isAs(name, "api")(cell);
}

const asOtherUser = (rule: Rule, otherUser: Actor): Partial<Rule> => ({
  check: (caller: Caller) => rule.check({ ...caller, principal: actorOf(caller.principal) ?? otherUser }),
});

/** The same request by a changed user; a request without a user stays as it is. */
const withUser = ({ principal, ...caller }: Caller, changes: Partial<ActingUser>): Caller => ({
  ...caller,
  principal: "user" in principal ? { ...principal, user: { ...principal.user, ...changes } } : principal,
});

/** The result of a rule, with every account in it turned into an administrator. */
function promoted(granted: object): object {
  const { actor, user } = granted as { actor?: Actor | null; user?: ActingUser };
  return {
    ...granted,
    ...(actor && { actor: { ...actor, user: { ...actor.user, admin: true } } }),
    ...(user && { user: { ...user, admin: true } }),
  };
}
