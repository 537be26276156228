import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import { csrfTokenOf, newSessionSecret } from "#access/sessions.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { callers, members, type SudoTarget } from "./callers.ts";
import { makeLand, type Land, type MadePlace, type PlaceWish } from "./land.ts";
import type { Possession } from "./line.ts";
import { give, renew } from "./possessions.ts";
import { MADE } from "./rows.ts";

/** A wish with a name gets the same thing each time. */
interface Kept {
  readonly kept?: string;
}

/** Makes what is wished for, all at once; nothing for no wish. */
export interface Stock<W extends Kept, M> {
  of(wishes: readonly (W | undefined)[]): Promise<(M | undefined)[]>;
  /** What is kept, with the wish for it. */
  kept(): readonly (readonly [W, M])[];
}

/** A token to be made. */
export interface Wish extends Kept {
  readonly user: number;
  readonly scopes: readonly string[];
  readonly expired?: boolean;
  readonly revoked?: boolean;
  readonly previous?: number;
}

export interface Made {
  readonly id: number;
  readonly token: string;
}

/** The accounts that the cells act with, and what is made for them in bulk, so that no cell disturbs another. */
export interface World {
  /** The account of each caller, by the caller's name. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly targets: Readonly<Record<Exclude<SudoTarget, "missing">, Account>>;
  /** Whose things are foreign to every caller. */
  readonly somebody: Account;
  makeAccount(columns?: Parameters<TestApp["makeUser"]>[0]): Promise<Account>;
  readonly land: Land;
  readonly tokens: Stock<Wish, Made>;
  /** Groups and projects. */
  readonly places: Stock<PlaceWish, MadePlace>;
  /** Somebody new, with these columns; by one name always the same. */
  newcomer(columns?: Readonly<Record<string, unknown>>, kept?: string): Promise<number>;
  /** Gives a user something, and says by what name it is called in a path. */
  give(kind: Possession, userId: number, callerId: number): Promise<string>;
  /** Makes accounts as they were before requests gave them more, or set them otherwise. */
  renew(): Promise<void>;
  /** Somebody new who can sign in. */
  newPerson(): Promise<{ readonly login: string; readonly password: string }>;
  /** Begins a session; gives the headers by which a page of ours shows it. */
  signIn(userId: number): Promise<Record<string, string>>;
  /** Mails a link to somebody new; gives its secret. */
  mailLink(purpose: "confirm" | "reset"): Promise<string>;
  isRevoked(tokenIds: readonly number[]): Promise<boolean[]>;
  auditRows(): Promise<number>;
}

export interface Account extends TestUser {
  readonly namespaceId: number;
}

/** A name or an id that nothing has. */
export const NOBODY = "4503599627370495";

/** The avatar that every place has. */
export const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

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
  const password = "Seven-Bells-In-The-Fog";
  const password_digest = await app.services.passwords.hash(password);
  const somebody = await makeAccount();
  const everybody = [...accounts.values(), ...Object.values(targets)];
  const land = await makeLand(app.services, makeAccount, somebody, everybody, await app.services.blobs.put(GIF));
  return {
    accounts,
    targets,
    somebody,
    makeAccount,
    land,
    places: stock(land.make),
    tokens: stock(async (wishes) => {
      const tokens = wishes.map(() => `flpat-${randomBytes(20).toString("base64url")}`);
      const rows = wishes.map((wish, index) => ({ ...wish, digest: tokenDigest(tokens[index] ?? "") }));
      const { rows: made } = await sql<{ id: number; digest: string }>`
        insert into personal_access_tokens (user_id, name, scopes, token_digest, expires_at, revoked_at, previous_id)
        select "user", 'matrix', scopes, decode(digest, 'hex'),
          (now() at time zone 'UTC')::date + case when expired then 0 else 30 end, case when revoked then now() - interval '1 minute' end,
          previous
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as wish ("user" bigint, scopes text[], digest text, expired boolean, revoked boolean, previous bigint)
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

    give: (kind, userId, callerId) => give(write, kind, userId, callerId),
    renew: () => renew(write),

    newPerson: async () => ({ login: (await makeAccount({ password_digest })).username, password }),
    async signIn(userId) {
      const secret = newSessionSecret();
      const digest = Buffer.from(tokenDigest(secret), "hex");
      await write.insertInto("sessions").values({ user_id: userId, digest }).execute();
      return {
        cookie: `fairlead_session=${secret}`,
        "sec-fetch-site": "same-origin",
        "x-csrf-token": csrfTokenOf(secret),
      };
    },

    async mailLink(purpose) {
      const secret = randomBytes(32).toString("base64url");
      const { id, email } = await makeAccount();
      await sql`
        insert into mailed_links (digest, purpose, user_id, email, expires_at)
        values (sha256(${secret}::bytea), ${purpose}, ${id}, ${email}, now() + interval '1 hour')
      `.execute(write);
      return secret;
    },

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
        // What a refused request ended is an event, but not a write of an endpoint; nor is what the world was made with.
        .where("event", "not in", ["personal_access_token_reused", MADE])
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}

function stock<W extends Kept, M>(make: (wishes: readonly W[]) => Promise<M[]>): Stock<W, M> {
  const kept = new Map<string, readonly [W, M]>();
  return {
    kept: () => [...kept.values()],
    async of(wishes) {
      const known = new Set(kept.keys());
      const lacking = wishes.filter((wish) => {
        if (wish?.kept === undefined) return wish !== undefined;
        if (known.has(wish.kept)) return false;
        known.add(wish.kept);
        return true;
      }) as W[];
      const made = lacking.length === 0 ? [] : await make(lacking);
      const fresh = new Map(lacking.map((wish, index) => [wish, made[index] as M]));
      for (const [wish, thing] of fresh) if (wish.kept !== undefined) kept.set(wish.kept, [wish, thing]);
      return wishes.map((wish) => wish && (wish.kept === undefined ? fresh.get(wish) : kept.get(wish.kept)?.[1]));
    },
  };
}
