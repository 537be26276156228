import { sql } from "kysely";
import type { Databases } from "#db/database.ts";

/** Tables that are put back row by row; of the others, what was added is removed. */
const TABLES = ["namespaces", "projects", "routes", "members", "shares", "stars", "settings"] as const;

export interface Snapshot {
  /** Puts every row back; nothing may be asked meanwhile. */
  restore(): Promise<void>;
  restoreSettings(): Promise<void>;
}

/** Keeps the rows that there are now. */
export async function takeSnapshot(db: Databases): Promise<Snapshot> {
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
  const [user, token, event] = [
    await lastId(db, "users"),
    await lastId(db, "personal_access_tokens"),
    await lastId(db, "audit_events"),
  ];
  // In a replica neither a trigger nor a foreign key stands in the way of rows that fit together once all are there.
  await define(
    "restore() returns void language plpgsql set session_replication_role = replica",
    `begin
      delete from emails where user_id > ${user};
      delete from identities where user_id > ${user};
      delete from user_custom_attributes where user_id > ${user};
      delete from personal_access_tokens where id > ${token};
      delete from users where id > ${user};
      delete from audit_events where id > ${event};
      delete from jobs.job_common;
      ${back.join("")}
      update users u set username = n.path from namespaces n where n.id = u.namespace_id and u.username <> n.path;
    end`,
  );
  const settings = columns.get("settings");
  await define(
    "restore_settings() returns void language sql",
    `update settings s set (${settings}) = row(${prefixed("k", settings)}) from kept.settings k where k <> s`,
  );
  const run = (name: string) =>
    db.transaction(async (tx) => void (await sql`select ${sql.raw(`kept.${name}()`)}`.execute(tx)));
  return { restore: () => run("restore"), restoreSettings: () => run("restore_settings") };

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

async function lastId({ write }: Databases, table: "users" | "personal_access_tokens" | "audit_events") {
  const { last } = await write
    .selectFrom(table)
    .select(({ fn }) => fn.max("id").as("last"))
    .executeTakeFirstOrThrow();
  return last;
}
