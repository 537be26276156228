import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { callers, type SudoTarget } from "./callers.ts";

/** A token to be made. */
export interface Wish {
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

/** The accounts that the cells act with, and tokens made in bulk: every cell has its own, so that none disturbs another. */
export interface World {
  /** The account of each caller, by the caller's name. */
  readonly accounts: ReadonlyMap<string, TestUser>;
  readonly targets: Readonly<Record<Exclude<SudoTarget, "missing">, TestUser>>;
  /** Whose things are foreign to every caller. */
  readonly somebody: TestUser;
  makeTokens(wishes: readonly Wish[]): Promise<Made[]>;
  isRevoked(tokenIds: readonly number[]): Promise<boolean[]>;
  auditRows(): Promise<number>;
}

/** A name or an id that nothing has. */
export const NOBODY = "4503599627370495";

export async function makeWorld(app: TestApp): Promise<World> {
  const { write } = app.services.db;
  const accounts = new Map<string, TestUser>();
  for (const { name, account } of callers) accounts.set(name, await app.makeUser(account));
  return {
    accounts,
    targets: {
      user: await app.makeUser(),
      administrator: await app.makeUser({ admin: true }),
      blocked: await app.makeUser({ state: "blocked" }),
      internal: await app.makeUser({ user_type: "alert_bot" }),
    },
    somebody: await app.makeUser(),

    async makeTokens(wishes) {
      if (wishes.length === 0) return [];
      const tokens = wishes.map(() => `flpat-${randomBytes(20).toString("base64url")}`);
      const rows = wishes.map((wish, index) => ({ ...wish, digest: tokenDigest(tokens[index] ?? "") }));
      const { rows: made } = await sql<{ id: number; digest: string }>`
        insert into personal_access_tokens (user_id, name, scopes, token_digest, expires_at, revoked_at, previous_id)
        select "user", 'matrix', scopes, decode(digest, 'hex'),
          (now() at time zone 'UTC')::date + case when expired then 0 else 30 end, case when revoked then now() end, previous
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as wish ("user" bigint, scopes text[], digest text, expired boolean, revoked boolean, previous bigint)
        returning id, encode(token_digest, 'hex') as digest`.execute(write);
      const ids = new Map(made.map(({ id, digest }) => [digest, id]));
      return rows.map(({ digest }, index) => ({ id: ids.get(digest) ?? 0, token: tokens[index] ?? "" }));
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
        // What a refused request ended is an event, but not a write of an endpoint.
        .where("event", "<>", "personal_access_token_reused")
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}
