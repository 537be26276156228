import type { Config } from "#config.ts";
import type { Databases } from "#db/database.ts";
import type { Settings } from "#db/settings.ts";
import { forbidden, unauthenticated } from "#lib/refusal.ts";
import type { Actor, CallerRow, FindCaller } from "./actor.ts";
import type { Scope } from "./scopes.ts";

/** What a rule may look at: who asks and from where, the names in the path, and the database. Never query or body. */
export interface Caller extends Origin {
  readonly config: Config;
  readonly settings: Settings;
  readonly db: Databases;
  readonly actor: Actor | null;
  /** The row that the token led to; absent where another user acts through sudo. */
  readonly row: CallerRow | undefined;
  readonly path: Readonly<Record<string, string>>;
}

/** Where a request came from, for the audit log. */
export interface Origin {
  readonly address: string;
  readonly requestId: string;
  /** What the program that made it calls itself. */
  readonly agent: string;
}

/** Who may call an endpoint, said once: it is enforced, it is documented, and it hands on what it looked up. */
export interface Access<Granted extends object> {
  /** The rule in words, as the documentation shows it. */
  readonly rule: string;
  /** False where a caller without a token may pass. */
  readonly signedIn: boolean;
  /** Scopes that open the endpoint beside `api` and, for reads, `read_api`. */
  readonly scopes: readonly Scope[];
  /** Where git asks: a token may come as the password of Basic, and `read_api` opens nothing. */
  readonly forGit?: true;
  /** A rule that needs more than the usual columns of the caller brings its own statement, so that one read serves both. */
  readonly findCaller?: FindCaller;
  /** Where one signs in or follows a mailed link: a session of before is not looked at, and no other site may ask. */
  readonly signsIn?: true;
  /** Where nobody's name matters: tokens and cookies are not read, so that a wrong one is neither refused nor looked up. */
  readonly ignoresCredentials?: true;
  /** What to do when a revoked token is shown here, before it is refused. */
  readonly onRevokedToken?: (db: Databases, row: CallerRow, origin: Origin) => Promise<void>;
  check(caller: Caller): Granted | Promise<Granted>;
}

interface Options {
  readonly scopes?: readonly Scope[];
}

export const anyone = ({ scopes = [] }: Options = {}): Access<{ actor: Actor | null }> => ({
  rule: "anyone",
  signedIn: false,
  scopes,
  check: ({ actor }) => ({ actor }),
});

export const signedIn = ({ scopes = [] }: Options = {}): Access<{ actor: Actor }> => ({
  rule: "anyone who is signed in",
  signedIn: true,
  scopes,
  check: ({ actor }) => ({ actor: requireActor(actor) }),
});

export const administrator = ({ scopes = [] }: Options = {}): Access<{ actor: Actor }> => ({
  rule: "administrators",
  signedIn: true,
  scopes,
  check({ actor }) {
    const found = requireActor(actor);
    if (!found.user.admin) throw forbidden();
    return { actor: found };
  },
});

export function requireActor(actor: Actor | null): Actor {
  if (!actor) throw unauthenticated();
  return actor;
}
