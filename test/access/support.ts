import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { type Operation, operationsOf } from "#http/app.ts";
import { resources } from "#resources/index.ts";
import type { Answer } from "#test/matrix/ask.ts";
import { linesOf } from "#test/matrix/cells.ts";
import type { Line, Place } from "#test/matrix/line.ts";

interface InPlace {
  readonly operation: Operation;
  readonly line: Line & { readonly place: Place };
}

/** Every operation that names a group or project, with each of its lines that says so. */
export const placeOperations = (): InPlace[] =>
  operationsOf(resources).flatMap((operation) =>
    linesOf(operation).flatMap((line) =>
      line.place && !line.place.foundBy ? [{ operation, line: { ...line, place: line.place } }] : [],
    ),
  );

/** What reaches the caller, but for what is never the same twice. */
export function bytesOf({ status, payload, headers }: Pick<Answer, "status" | "payload" | "headers">): string {
  const lasting = Object.entries(headers).filter(([name]) => !/^(date|x-request-id|ratelimit-.*)$/.test(name));
  return JSON.stringify([status, lasting, payload]);
}

/** What is noted of whoever calls, some time after the answer. */
export const NOTED: readonly string[] = ["last_used_at", "last_activity_on"];

/** Tells any two states of the database apart, but for when somebody last called. */
export async function snapshotOf(db: Db): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`.execute(db);
  const digests: Record<string, string> = {};
  for (const { schema, name } of tables) {
    const rewritten = name === "users" || name === "personal_access_tokens" ? sql`` : sql`|| t.xmin::text`;
    const { rows } = await sql<{ digest: string | null }>`
      select md5(string_agg(line, ',' order by line)) as digest
      from (select (to_jsonb(t) - ${NOTED}::text[])::text ${rewritten} as line from ${sql.table(`${schema}.${name}`)} t) lines`.execute(
      db,
    );
    digests[`${schema}.${name}`] = rows[0]?.digest ?? "";
  }
  return digests;
}
