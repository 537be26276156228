import type { Access, Caller } from "#access/access.ts";
import type { ActingUser, Actor, CallerRow } from "#access/actor.ts";
import { callerByDigest } from "#access/callers.ts";
import { SCOPES } from "#access/scopes.ts";
import type { Databases } from "#db/database.ts";
import type { Endpoint } from "#http/endpoint.ts";
import { LEVELS } from "./callers.ts";
import type { Cell } from "./cells.ts";
import type { Line, Place, Visibility } from "./line.ts";

type Rule = Access<object>;

/** Another rule, or other rows to decide by, whether a rule or a handler decides. */
export interface Weaker {
  readonly access?: Partial<Rule>;
  /** The same function for all that may be tried at once. */
  readonly db?: (db: Databases) => Databases;
}

/** One way to weaken an access rule by a step; some cell of every endpoint that it is done to must notice. */
export interface Mutation {
  readonly name: string;
  /** What is weaker, or nothing where the lines make no difference of it. */
  weaken(endpoint: Endpoint, lines: readonly Line[], somebody: Actor): Weaker | undefined;
  /** The cells that are likely to notice, which are asked first. */
  likely(cell: Cell): boolean;
}

/** The rows by which a rule decides about a group or project. */
interface Seen {
  readonly level: number;
  readonly visibility: number;
  readonly archived: boolean;
  readonly code_access?: string;
}

const PUBLIC = 20;
const INTERNAL = 10;

const widened: readonly Mutation[] = SCOPES.map((scope) => ({
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
    weaken: ({ access }, _, somebody) =>
      access.signedIn ? { access: { signedIn: false, ...asSomebody(access, somebody) } } : undefined,
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
        (line) => line.adminsSee !== undefined || line.place || String(line.user) !== String(line.administrator),
      );
      const check = async (caller: Caller) =>
        promoted(await access.check({ ...caller, actor: promotedActor(caller.actor) }));
      return differs ? { access: { check } } : undefined;
    },
    likely: isAs("user", "api"),
  },
  {
    name: "bots count as people",
    weaken: ({ access }, lines) =>
      lines.some(({ robots }) => robots !== undefined)
        ? { access: { check: (caller) => access.check({ ...caller, actor: asPerson(caller.actor) }) } }
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

type Forgiveness = [how: string, change: (row: CallerRow) => Partial<CallerRow>, whom: string];

/** What is wrong with a token or its account, each overlooked in turn, and a caller whom it stands in the way. */
const FORGIVEN: readonly Forgiveness[] = [
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

const forgiving: readonly Mutation[] = FORGIVEN.map(([name, change, whom]) => ({
  name,
  weaken: ({ access }) => ({
    access: {
      findCaller: async (db, digest) => {
        const row = await (access.findCaller ?? callerByDigest)(db, digest);
        return row && { ...row, ...change(row) };
      },
    },
  }),
  likely: isAs(whom, "api"),
}));

/** Steps by which the rule of a group or project gets weaker. */
const inPlaces: readonly Mutation[] = [
  seen(
    "who has one role less may",
    isRole,
    ({ level }, place) => ({ level: level >= levelBelow(place) ? Math.max(level, levelOf(place)) : level }),
    ({ caller, line, visibility }) => visibility === "private" && caller.name === nameBelow(line.place),
  ),
  seen("whoever sees it may", isRole, () => ({ level: LEVELS.owner }), isAt("user", "public")),
  seen(
    "whoever reads code may push it",
    ({ code, forThis }) => code !== undefined && forThis !== undefined,
    ({ level }) => ({ level: level >= LEVELS.reporter ? Math.max(level, LEVELS.developer) : level }),
    isAt("reporter", "private"),
  ),
  seen(
    "what is archived can be pushed to",
    ({ code, forThis }) => code === "push" || (code !== undefined && forThis !== undefined),
    () => ({ archived: false }),
    ({ caller, state }) => caller.name === "owner" && state.startsWith("archived"),
  ),
  seen(
    "code is for everybody who sees the project",
    ({ code }) => code !== undefined,
    () => ({ code_access: "enabled" }),
    ({ caller, state }) => caller.name === "owner" && state === "code for nobody",
  ),
  {
    name: "what is marked for deletion can be pushed to",
    weaken: (_, lines) =>
      placesOf(lines).some(({ code, forThis }) => code === "push" || (code && forThis)) ? neverEnding : undefined,
    likely: ({ caller, state }) => caller.name === "owner" && state === "marked for deletion",
  },
  seen("everything counts as public", isAny, () => ({ visibility: PUBLIC }), isAt("user", "private")),
  seen(
    "what is internal counts as public",
    isAny,
    ({ visibility }) => ({ visibility: visibility === INTERNAL ? PUBLIC : visibility }),
    isAt("external user", "internal"),
  ),
  reworded("expired memberships count", "owner, expired", isAny, /\(m\.expires_at is null or [^)]*\)[^)]*\)/g, "true"),
  reworded(
    "expired shares count",
    "owner by an expired share",
    isAny,
    /\(s\.expires_at is null or [^)]*\)[^)]*\)/g,
    "true",
  ),
  reworded("minimal access reaches down", "minimal above", isBelow, /m\.access_level >= 10 and/g, ""),
  reworded(
    "a share gives what its members have",
    "guest, by the limit of a share",
    isRole,
    /least\(s\.access_level, (m\.access_level)\)/g,
    "$1",
  ),
  reworded(
    "a share gives all that it may",
    "guest, by a share",
    isRole,
    /least\((s\.access_level), m\.access_level\)/g,
    "$1",
  ),
  {
    name: "external users count as others",
    weaken({ access }, lines) {
      const differs = lines.some(
        ({ place, user }) => place && place.foundBy !== "members" && place.foundBy !== "its own" && user !== 404,
      );
      const check = (caller: Caller) => access.check({ ...caller, actor: insider(caller.actor) });
      return differs ? { access: { check } } : undefined;
    },
    likely: isAt("external user", "internal"),
  },
  {
    name: "a list shows everything",
    weaken({ access }, lines) {
      const lists = placesOf(lines).some(
        ({ holds, foundBy }) => foundBy || holds === "subgroups" || holds === "projects",
      );
      const check = async (caller: Caller) => promoted(await access.check(caller));
      return lists ? { access: { check } } : undefined;
    },
    likely: ({ caller, visibility, line: { place } }) =>
      caller.name === "user" && visibility === (place?.foundBy ? "private" : "public"),
  },
  {
    name: "those not signed in count as others",
    weaken: ({ access }, lines, somebody) =>
      !access.signedIn && placesOf(lines).length > 0 ? { access: asSomebody(access, somebody) } : undefined,
    likely: ({ caller, visibility }) => caller.role === "anonymous" && visibility === "internal",
  },
  {
    name: "an address of before is told to everybody",
    weaken({ access }, lines) {
      const check = (caller: Caller) => access.check(isId(caller.path["id"]) ? caller : publicly(caller));
      return placeOf(lines)?.by === undefined && placeOf(lines) ? { access: { check } } : undefined;
    },
    likely: ({ caller, form, visibility }) => form === "old path" && caller.name === "user" && visibility === "private",
  },
];

export const mutations: readonly Mutation[] = [...widened, ...general, ...forgiving, ...inPlaces];

const placesOf = (lines: readonly Line[]): Place[] => lines.flatMap(({ place }) => place ?? []);

/** The places that are looked up to decide. */
const lookedUp = (lines: readonly Line[]): Place[] =>
  placesOf(lines).filter(({ foundBy, least }) => !foundBy && least !== "administrator");

const placeOf = (lines: readonly Line[]): Place | undefined => lookedUp(lines)[0];

const LEAST_FIRST = Object.values(LEVELS);
/** The least role that opens the place where nothing else does. */
function levelOf({ least, code }: Place): number {
  if (least === "viewer") return code ? LEVELS.reporter : 0;
  return least === "administrator" ? 0 : LEVELS[least];
}
function levelBelow(place: Place): number {
  return LEAST_FIRST.findLast((level) => level < levelOf(place)) ?? 0;
}

function nameBelow(place: Place | undefined): string | undefined {
  return place && Object.entries(LEVELS).find(([, level]) => level === levelBelow(place))?.[0];
}

function isAny(): boolean {
  return true;
}
function isBelow({ top }: Place): boolean {
  return !top;
}
function isRole({ least, code }: Place): boolean {
  return least !== "viewer" || code !== undefined;
}

const isId = (text = "") => /^\d+$/.test(text);
const publicly = (caller: Caller): Caller => ({
  ...caller,
  db: changing(caller.db, isSeen, () => ({ visibility: PUBLIC })),
});

/** A mutation of the rows by which is decided. */
function seen(
  name: string,
  concerns: (place: Place) => boolean,
  change: (row: Seen, place: Place) => Partial<Seen>,
  likely: Mutation["likely"],
): Mutation {
  const known = new Map<number, NonNullable<Weaker["db"]>>();
  const weakerDb = (place: Place) => (db: Databases) => changing(db, isSeen, (row) => change(row, place));
  return {
    name,
    weaken(_, lines) {
      const place = lookedUp(lines).find(concerns);
      if (!place) return undefined;
      const db = known.get(levelOf(place)) ?? weakerDb(place);
      known.set(levelOf(place), db);
      return { db };
    },
    likely,
  };
}

/** A mutation of the statement by which they are found. */
function reworded(
  name: string,
  whom: string,
  concerns: (place: Place) => boolean,
  pattern: RegExp,
  by: string,
): Mutation {
  const known = new Map<unknown, unknown>();
  function reword<L extends { readonly text: string }>(lookup: L): L {
    if (!known.has(lookup)) known.set(lookup, { ...lookup, text: lookup.text.replaceAll(pattern, by) });
    return known.get(lookup) as L;
  }
  const weaker: Weaker = { db: (db) => loading(db, reword) };
  return {
    name,
    weaken(_, lines) {
      const place = placeOf(lines);
      return place && concerns(place) ? weaker : undefined;
    },
    likely: isAt(whom, "private"),
  };
}

function loading(db: Databases, reword: <L extends { readonly text: string }>(lookup: L) => L): Databases {
  return { ...db, point: { ...db.point, load: (lookup, key) => db.point.load(reword(lookup), key) } };
}

/** The rows of one kind, read otherwise than they are. */
function changing<R extends object>(
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

/** A row that says whether what it is about comes to its end. */
const isEnding = (row: object): row is { readonly ending: boolean } => "ending" in row;
const neverEnding: Weaker = { db: (db) => changing(db, isEnding, () => ({ ending: false })) };

const isSeen = (row: object): row is Seen => "level" in row && "visibility" in row;

function isAs(name: string, scope: string) {
  return ({ caller, scopes }: Cell) => caller.name === name && scopes?.[0] === scope;
}

function isAt(name: string, visibility: Visibility) {
  return (cell: Cell) => cell.visibility === visibility && isAs(name, "api")(cell);
}

const asSomebody = (rule: Rule, somebody: Actor): Partial<Rule> => ({
  check: (caller: Caller) => rule.check({ ...caller, actor: caller.actor ?? somebody }),
});

const insider = (actor: Actor | null): Actor | null => actor && { ...actor, user: { ...actor.user, external: false } };

const asPerson = (actor: Actor | null): Actor | null =>
  actor && { ...actor, user: { ...actor.user, user_type: "human" } };

const promotedActor = (actor: Actor | null): Actor | null =>
  actor && { ...actor, user: { ...actor.user, admin: true } };

/** What the rule hands on, with every account in it an administrator's. */
function promoted(granted: object): object {
  const { actor, user } = granted as { actor?: Actor | null; user?: ActingUser };
  return {
    ...granted,
    ...(actor && { actor: promotedActor(actor) }),
    ...(user && { user: { ...user, admin: true } }),
  };
}
