import { sql } from "kysely";
import type { Databases } from "#db/database.ts";
import { contracts } from "#test/support/contracts.ts";

/** Append-only tables, from which new rows are removed. */
const LOGS = ["audit_events", "pushes", "events"];

/** Tables that are restored row by row. */
const TABLES = [...contracts.flatMap((contract) => contract.tables ?? []), "kept_answers"].filter(
  (table) => !LOGS.includes(table),
);

/** Columns of users that decide whether they can authenticate. */
const CALLER_COLUMNS = [
  ...["username", "email", "confirmed_at", "state", "user_type", "admin", "removal_began_at"],
  ...["password_digest", "password_expired", "failed_attempts", "locked_until", "two_factor_enabled"],
];

export interface Snapshot {
  /** Restores every row; no request may run meanwhile. */
  restore(): Promise<void>;
  /** Restores the columns that callers need, and the settings. */
  revive(): Promise<void>;
}

/** Remembers all current rows. */
export async function takeSnapshot(db: Databases, callers: readonly number[]): Promise<Snapshot> {
  await sql`create schema kept`.execute(db.write);
  for (const table of TABLES) {
    await sql`create table kept.${sql.ref(table)} as table ${sql.table(table)}`.execute(db.write);
  }
  const columns = await columnsOf(db);
  const back = TABLES.map(
    (table) => `
      delete from ${table} t where not exists (select from kept.${table} k where k = t);
      insert into ${table} (${columns.get(table)}) select ${columns.get(table)} from kept.${table} k
        where not exists (select from ${table} t where t = k);`,
  );
  const { last: event } = await db.write
    .selectFrom("audit_events")
    .select(({ fn }) => fn.max("id").as("last"))
    .executeTakeFirstOrThrow();
  // With the replication role, triggers and foreign keys are not checked until all rows are restored.
  await define(
    "restore() returns void language plpgsql set session_replication_role = replica",
    `begin
      -- When somebody was last here is written down some time after they were answered.
      lock table ${TABLES.join()} in share row exclusive mode;
      delete from audit_events where id > ${event};
      delete from jobs.job_common;
      delete from pushes;
      delete from events;
      ${back.join("")}
    end`,
  );
  const theirs = `k.user_id in (${callers.join()})`;
  const upsert = (table: string, key: string) => `
    insert into ${table} (${columns.get(table)}) select ${columns.get(table)} from kept.${table} k
      where ${theirs} and not exists (select from ${table} t where t = k)
      on conflict (${key}) do update set (${columns.get(table)}) = row(${prefixed("excluded", columns.get(table))});`;
  const settings = columns.get("settings");
  await define(
    "revive() returns void language plpgsql",
    `begin
      -- Whoever changes what belongs to them holds them too.
      perform from users where id in (${callers.join()}) order by id for update;
      update users u set (${CALLER_COLUMNS.join()}) = row(${prefixed("k", CALLER_COLUMNS.join())}) from kept.users k
        where k.id = u.id and k.id in (${callers.join()})
          and (${prefixed("k", CALLER_COLUMNS.join())}) is distinct from (${prefixed("u", CALLER_COLUMNS.join())});
      update personal_access_tokens set previous_id = null
        where previous_id in (select id from kept.personal_access_tokens k where ${theirs});
      update personal_access_tokens t set revoked_at = k.revoked_at from kept.personal_access_tokens k
        where k.id = t.id and ${theirs} and k.revoked_at is distinct from t.revoked_at;
      ${upsert("second_factors", "user_id")}
      ${upsert("recovery_codes", "user_id, digest")}
      ${upsert("mailed_links", "digest")}
      ${upsert("sessions", "id")}
      update settings s set (${settings}) = row(${prefixed("k", settings)}) from kept.settings k where k <> s;
    end`,
  );
  const run = (name: string) =>
    db.transaction(async (tx) => {
      // On a busy machine it may have to wait for a lock.
      await sql`set local lock_timeout = 0`.execute(tx);
      await sql`set local statement_timeout = 0`.execute(tx);
      await sql`select ${sql.raw(`kept.${name}()`)}`.execute(tx);
    });
  return { restore: () => run("restore"), revive: () => run("revive") };

  async function define(head: string, body: string) {
    await sql.raw(`create function kept.${head} as $$${body}$$`).execute(db.write);
  }
}

const prefixed = (alias: string, columns = "") => columns.replaceAll(/\w+/g, `${alias}.$&`);

/** The columns of each table that can be written. */
async function columnsOf({ write }: Databases): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ name: string; columns: string }>`
    select table_name as name, string_agg(column_name, ', ') as columns from information_schema.columns
    where table_schema = 'public' and table_name = any(${TABLES}::text[]) and is_generated = 'NEVER'
    group by 1`.execute(write);
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}
