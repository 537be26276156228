import type { Access, Caller } from "#access/access.ts";
import type { ActingUser, Actor, CallerRow } from "#access/actor.ts";
import { callerByDigest } from "#access/callers.ts";
import { SCOPES } from "#access/scopes.ts";
import type { Operation } from "#http/app.ts";
import type { Endpoint } from "#http/endpoint.ts";
import type { Caller as Asking } from "./callers.ts";
import type { Cell } from "./cells.ts";
import type { Line } from "./lines.ts";

/** An endpoint whose access rule is weaker by one step; some cell must notice. */
export interface Mutant {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** The cells that are likely to notice, which are asked first. */
  likely(cell: Cell): boolean;
}

type Rule = Access<object>;

/** Every weakening of an operation's rule that its line makes a difference of. */
export function mutantsOf({ name, endpoint }: Operation, line: Line, somebody: Actor): Mutant[] {
  const rule = endpoint.access;
  const mutants: Mutant[] = [];
  const weaken = (how: string, change: Partial<Rule>, likely: (cell: Cell) => boolean) =>
    mutants.push({ name: `${name}: ${how}`, endpoint: { ...endpoint, access: { ...rule, ...change } }, likely });

  for (const scope of SCOPES) {
    const known = rule.scopes.includes(scope) || scope === "api" || (scope === "read_api" && endpoint.method === "GET");
    const widened = { scopes: [...rule.scopes, scope] };
    if (!known) weaken(`scope ${scope} opens it`, widened, isAs("administrator", scope));
  }
  if (rule.signedIn) {
    const check = (caller: Caller) => rule.check({ ...caller, actor: caller.actor ?? somebody });
    weaken("anyone may", { signedIn: false, check }, ({ caller }) => caller.role === "anonymous");
  }
  if (line.loopback !== undefined) {
    const check = (caller: Caller) => rule.check({ ...caller, address: "127.0.0.1" });
    weaken("every address is trusted", { check }, ({ caller }) => caller.role === "anonymous");
  }
  if (line.adminsSee !== undefined || String(line.user) !== String(line.administrator)) {
    const check = async (caller: Caller) =>
      promoted(await rule.check({ ...caller, actor: promotedActor(caller.actor) }));
    weaken("every user counts as an administrator", { check }, isAs("user", "api"));
  }
  if (rule.onRevokedToken) {
    const forgets = { onRevokedToken: () => Promise.resolve() };
    weaken("a revoked token ends nothing", forgets, ({ caller }) => caller.token === "rotated");
  }
  for (const [how, change, concerns] of FORGIVEN) {
    const findCaller: Rule["findCaller"] = async (db, digest) => {
      const row = await (rule.findCaller ?? callerByDigest)(db, digest);
      return row && { ...row, ...change(row) };
    };
    weaken(how, { findCaller }, ({ caller, scopes }) => concerns(caller) && scopes?.[0] === "api");
  }
  return mutants;
}

type Forgiveness = [how: string, change: (row: CallerRow) => Partial<CallerRow>, concerns: (caller: Asking) => boolean];

/** What is wrong with a token or its account, each overlooked in turn. */
const FORGIVEN: readonly Forgiveness[] = [
  ["expired tokens pass", () => ({ expired: false }), ({ token }) => token === "expired"],
  ["revoked tokens pass", () => ({ revoked: false }), ({ token }) => token === "revoked"],
  ["blocked accounts pass", () => ({ state: "active" }), ({ account }) => account?.["state"] !== undefined],
  ["internal bots pass", () => ({ user_type: "human" }), ({ account }) => account?.["user_type"] !== undefined],
  ["unconfirmed accounts pass", () => ({ confirmed: true }), ({ account }) => account?.["confirmed_at"] === null],
  [
    "expired passwords pass",
    () => ({ password_expired: false }),
    ({ account }) => account?.["password_expired"] === true,
  ],
  ["sudo needs no scope", ({ scopes }) => ({ scopes: [...scopes, "sudo"] }), ({ sudo }) => sudo !== undefined],
  [
    "sudo needs no administrator",
    ({ scopes, admin }) => ({ admin: admin || scopes.includes("sudo") }),
    ({ sudo, role }) => sudo !== undefined && role === "user",
  ],
];

const isAs =
  (name: string, scope: string) =>
  ({ caller, scopes }: Cell) =>
    caller.name === name && scopes?.[0] === scope;

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
