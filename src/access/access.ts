import type { Config } from "#config.ts";
import type { Databases } from "#db/database.ts";
import type { Settings } from "#db/settings.ts";
import { forbidden, unauthenticated } from "#lib/refusal.ts";
import {
  type Actor,
  actorOf,
  type TokenRow,
  type FindToken,
  isAdministrator,
  type Principal,
  type PrincipalKind,
} from "./principal.ts";
import { needsAdministrator } from "./roles.ts";
import type { Scope } from "./scopes.ts";

/** What a rule may look at: who asks and from where, the names in the path, and the database. Never query or body. */
export interface Caller<Who extends Principal = Principal> extends Origin {
  readonly config: Config;
  readonly settings: Settings;
  readonly db: Databases;
  readonly principal: Who;
  /** The row of the token; undefined if another user acts through sudo. */
  readonly row: TokenRow | undefined;
  readonly path: Readonly<Record<string, string>>;
}

/** Where a request came from, for the audit log. */
export interface Origin {
  readonly address: string;
  readonly requestId: string;
  /** The User-Agent header. */
  readonly agent: string;
}

/** A request that shows a secret which is no token of a user. */
interface KeyHolder {
  readonly db: Databases;
  /** The token of Bearer, or the password of Basic authentication. */
  readonly secret: string | undefined;
  readonly path: Readonly<Record<string, string>>;
}

/** Which kinds of principals a rule admits. A kind that is left out is a type error, so that each rule decides on it. */
export type Admission = Readonly<Record<PrincipalKind, boolean>>;

type Admitted<Admits extends Admission> = Extract<
  Principal,
  { readonly kind: { [Kind in PrincipalKind]: Admits[Kind] extends false ? never : Kind }[PrincipalKind] }
>;

/** Users over HTTP. SSH keys and jobs use repositories, but no endpoint. */
export const USERS = {
  anonymous: false,
  "user by token": true,
  "user by session": true,
  "user by SSH key": false,
  "user by job": false,
  "deploy key": false,
  "integration key": false,
} as const satisfies Admission;

export const USERS_AND_ANONYMOUS = { ...USERS, anonymous: true } as const satisfies Admission;

/** Who may call an endpoint: the rule is enforced, documented, and grants the handler what it looked up. */
export interface Access<Granted extends object> {
  /** The rule in words, as the documentation shows it. */
  readonly rule: string;
  readonly admits: Admission;
  /** Scopes that are enough besides `api` and, for reads, `read_api`. */
  readonly scopes: readonly Scope[];
  /** For git clients: a token may be the password of Basic authentication, and `read_api` is not enough. */
  readonly forGit?: true;
  /** A statement that reads more than the usual columns of the caller, so that one read is enough. */
  readonly findToken?: FindToken;
  /** For keys that are no tokens of users: finds the principal by the secret, in place of tokens and sessions. */
  readonly authenticateKey?: (holder: KeyHolder) => Promise<Principal>;
  /** For signing in and mailed links: an existing session is ignored, and requests of other sites are refused. */
  readonly signsIn?: true;
  /** Tokens and cookies are neither looked up nor refused. */
  readonly ignoresCredentials?: true;
  /** Called when a revoked token is used here, before it is refused. */
  readonly onRevokedToken?: (db: Databases, row: TokenRow, origin: Origin) => Promise<void>;
  check(caller: Caller): Granted | Promise<Granted>;
}

interface Options {
  readonly scopes?: readonly Scope[];
}

/** Defines a rule whose `check` gets only the kinds of principals that it admits. */
export function defineRule<Granted extends object, const Admits extends Admission>({
  check,
  ...rule
}: Omit<Access<Granted>, "admits" | "check"> & {
  readonly admits: Admits;
  check(caller: Caller<Admitted<Admits>>): Granted | Promise<Granted>;
}): Access<Granted> {
  return {
    ...rule,
    check(caller) {
      requireAdmitted(rule, caller.principal);
      return check(caller as Caller<Admitted<Admits>>);
    },
  };
}

/** Refuses a principal of a kind that a rule does not admit. */
export function requireAdmitted({ admits, rule }: Pick<Access<object>, "admits" | "rule">, { kind }: Principal) {
  if (!admits[kind]) throw kind === "anonymous" ? unauthenticated() : forbidden(`This is for ${rule}`);
}

export const anyone = ({ scopes = [] }: Options = {}): Access<{ actor: Actor | null }> =>
  defineRule({
    rule: "anyone",
    admits: USERS_AND_ANONYMOUS,
    scopes,
    check: ({ principal }) => ({ actor: actorOf(principal) }),
  });

export const signedIn = ({ scopes = [] }: Options = {}): Access<{ actor: Actor }> =>
  defineRule({
    rule: "anyone who is signed in",
    admits: USERS,
    scopes,
    check: ({ principal }) => ({ actor: principal }),
  });

export const administrator = ({ scopes = [] }: Options = {}): Access<{ actor: Actor }> =>
  defineRule({
    rule: "administrators",
    admits: USERS,
    scopes,
    check({ principal }) {
      if (!isAdministrator(principal)) throw needsAdministrator();
      return { actor: principal };
    },
  });
