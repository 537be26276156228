import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { actingUserByIdOrName } from "#access/acting-users.ts";
import { tokenDigest } from "#access/authenticate.ts";
import type { Actor } from "#access/principal.ts";
import type { FixtureContext } from "#test/contract.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { callers, members, type SudoTarget } from "./callers.ts";
import { makeTree, type Tree, type TestContainer, type ContainerSpec } from "./tree.ts";
import { contracts } from "#test/support/contracts.ts";
import { makeFixtures, makeFixtureContext } from "#test/support/fixtures.ts";
import { GIF } from "#test/support/images.ts";
import { beginSession } from "#test/support/sessions.ts";
import { MADE, word } from "./rows.ts";

/** Specs with the same name share one object. */
interface Shareable {
  readonly sharedAs?: string;
}

/** Creates objects in bulk; undefined specs are skipped. */
export interface Factory<W extends Shareable, M> {
  of(specs: readonly (W | undefined)[]): Promise<(M | undefined)[]>;
  /** The shared objects, with their specs. */
  shared(): readonly (readonly [W, M])[];
}

/** A token to create. */
export interface TokenSpec extends Shareable {
  readonly user: number;
  readonly scopes: readonly string[];
  readonly expired?: boolean;
  readonly revoked?: boolean;
  readonly previous?: number;
}

export interface TestToken {
  readonly id: number;
  readonly token: string;
}

/** The accounts of the callers, and the data that is created for cells in bulk, so that no cell disturbs another. */
export interface World {
  /** The account of each caller, by the caller's name. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly targets: Readonly<Record<Exclude<SudoTarget, "missing">, Account>>;
  /** The owner of objects that belong to no caller. */
  readonly otherUser: Account;
  makeAccount(columns?: Parameters<TestApp["makeUser"]>[0]): Promise<Account>;
  readonly context: FixtureContext;
  readonly tree: Tree;
  readonly tokens: Factory<TokenSpec, TestToken>;
  /** Groups and projects. */
  readonly containers: Factory<ContainerSpec, TestContainer>;
  /** A new user with these columns; the same name returns the same user. */
  newcomer(columns?: Readonly<Record<string, unknown>>, sharedAs?: string): Promise<number>;
  /** Creates a fixture for a user and returns its name in a path. */
  give(kind: string, userId: number, callerId: number): Promise<string>;
  /** Undoes what requests added to accounts or changed in them. */
  resetAccounts(): Promise<void>;
  /** The values of the names in braces in what a line sends. */
  valuesIn(send: string): Promise<Readonly<Record<string, string>>>;
  /** Creates a session and returns the headers that a page of ours sends with it. */
  signIn(userId: number): Promise<Record<string, string>>;
  isRevoked(tokenIds: readonly number[]): Promise<boolean[]>;
  auditRows(): Promise<number>;
}

export interface Account extends TestUser {
  readonly namespaceId: number;
}

/** A name or id that does not exist. */
export const MISSING_ID = "4503599627370495";

export async function makeWorld(app: TestApp): Promise<World> {
  const { write } = app.services.db;
  const makeAccount = async (columns: Parameters<TestApp["makeUser"]>[0] = {}): Promise<Account> => {
    const user = await app.makeUser(columns);
    const { namespace_id } = await write
      .selectFrom("users")
      .select("namespace_id")
      .where("id", "=", user.id)
      .executeTakeFirstOrThrow();
    return { ...user, namespaceId: namespace_id };
  };
  const accounts = new Map<string, Account>();
  for (const { name, account } of [...callers, ...members]) accounts.set(name, await makeAccount(account));
  const targets = {
    user: await makeAccount(),
    administrator: await makeAccount({ admin: true }),
    blocked: await makeAccount({ state: "blocked" }),
    internal: await makeAccount({ user_type: "alert_bot" }),
  };
  const newcomers = new Map<string, Promise<number>>();
  const otherUser = await makeAccount();
  const everybody = [...accounts.values(), ...Object.values(targets)];
  const context = makeFixtureContext(app, makeAccount);
  const tree = await makeTree(app.services, context, otherUser, everybody, await app.services.blobs.put(GIF));
  const values = new Map(contracts.flatMap((contract) => Object.entries(contract.values ?? {})));
  return {
    accounts,
    targets,
    otherUser,
    makeAccount,
    context,
    tree,
    containers: factory(tree.make),
    tokens: factory(async (specs) => {
      const tokens = specs.map(() => `flpat-${randomBytes(20).toString("base64url")}`);
      const rows = specs.map((spec, index) => ({ ...spec, digest: tokenDigest(tokens[index] ?? "") }));
      const { rows: made } = await sql<{ id: number; digest: string }>`
        insert into personal_access_tokens (user_id, name, scopes, token_digest, expires_at, revoked_at, previous_id)
        select "user", 'matrix', scopes, decode(digest, 'hex'),
          (now() at time zone 'UTC')::date + case when expired then 0 else 30 end, case when revoked then now() - interval '1 minute' end,
          previous
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as spec ("user" bigint, scopes text[], digest text, expired boolean, revoked boolean, previous bigint)
        returning id, encode(token_digest, 'hex') as digest`.execute(write);
      const ids = new Map(made.map(({ id, digest }) => [digest, id]));
      return rows.map(({ digest }, index) => ({ id: ids.get(digest) ?? 0, token: tokens[index] ?? "" }));
    }),

    newcomer(columns, name) {
      const known = name === undefined ? undefined : newcomers.get(name);
      const id = known ?? makeAccount(columns).then((account) => account.id);
      if (name !== undefined) newcomers.set(name, id);
      return id;
    },

    async give(kind, id, acting) {
      const [names] = await makeFixtures(context, kind, [{ kind: "user", id, acting, name: word() }]);
      return String(names?.[0]);
    },
    async resetAccounts() {
      for (const statement of contracts.flatMap((contract) => contract.resetAccounts ?? []))
        await sql.raw(statement).execute(write);
    },
    async valuesIn(send) {
      const names = [...send.matchAll(/\{(\w+)\}/g)].map((found) => found[1] ?? "");
      const made = await Promise.all(names.map(async (name) => [name, await values.get(name)?.(context)] as const));
      return Object.fromEntries(made.filter((entry): entry is [string, string] => entry[1] !== undefined));
    },

    signIn: (userId) => beginSession(write, userId),

    async isRevoked(tokenIds) {
      if (tokenIds.every((id) => id === 0)) return tokenIds.map(() => false);
      const rows = await write
        .selectFrom("personal_access_tokens")
        .select(["id", "revoked_at"])
        .where("id", "=", sql<number>`any(${tokenIds}::bigint[])`)
        .execute();
      const revoked = new Set(rows.filter(({ revoked_at }) => revoked_at !== null).map(({ id }) => id));
      return tokenIds.map((id) => revoked.has(id));
    },

    async auditRows() {
      const { count } = await write
        .selectFrom("audit_events")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        // A refused request may write the former event, and fixtures write the latter; neither is a write of an endpoint.
        .where("event", "not in", ["personal_access_token_reused", MADE])
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}

/** The user that a weakened rule substitutes for anonymous callers. */
export async function actorOf({ services }: TestApp, { otherUser }: World): Promise<Actor> {
  const user = await actingUserByIdOrName(services.db, otherUser.username);
  if (!user) throw new Error("the other user of the matrix is missing");
  return { kind: "user by token", user, token: { id: otherUser.tokenId, scopes: ["api"] } };
}

function factory<W extends Shareable, M>(make: (specs: readonly W[]) => Promise<M[]>): Factory<W, M> {
  const shared = new Map<string, readonly [W, M]>();
  return {
    shared: () => [...shared.values()],
    async of(specs) {
      const known = new Set(shared.keys());
      const unknown = specs.filter((spec) => {
        if (spec?.sharedAs === undefined) return spec !== undefined;
        if (known.has(spec.sharedAs)) return false;
        known.add(spec.sharedAs);
        return true;
      }) as W[];
      const made = unknown.length === 0 ? [] : await make(unknown);
      const fresh = new Map(unknown.map((spec, index) => [spec, made[index] as M]));
      for (const [spec, thing] of fresh) if (spec.sharedAs !== undefined) shared.set(spec.sharedAs, [spec, thing]);
      return specs.map(
        (spec) => spec && (spec.sharedAs === undefined ? fresh.get(spec) : shared.get(spec.sharedAs)?.[1]),
      );
    },
  };
}
