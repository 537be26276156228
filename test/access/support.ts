import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { type Operation, operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import type { Answer } from "#test/matrix/requests.ts";
import { linesOf } from "#test/matrix/cells.ts";
import type { Line, Container } from "#test/matrix/line.ts";

interface InContainer {
  readonly operation: Operation;
  readonly line: Line & { readonly container: Container };
}

/** Every operation that names a group or project, with each of its lines that does. */
export const containerOperations = (): InContainer[] =>
  operationsOf(resources).flatMap((operation) =>
    linesOf(operation).flatMap((line) =>
      line.container && !line.container.foundBy ? [{ operation, line: { ...line, container: line.container } }] : [],
    ),
  );

/** Paths whose second name is not a child of the first. */
export const NO_CHILD: Readonly<Record<string, string>> = {
  "GET /uploads/-/system/user/avatar/:id/:file": "a file is asked for by its name",
  "GET /uploads/-/system/group/avatar/:id/:file": "a file is asked for by its name",
  "GET /uploads/-/system/project/avatar/:id/:file": "a file is asked for by its name",
  "POST /groups/:id/projects/:project_id": "the project is one of elsewhere, which comes into the group",
  "PUT /users/:id/custom_attributes/:key": "an attribute that is not there is made",
  "POST /projects/:id/repository/files/:file_path": "a file that is not there is made",
  "GET /projects/:id/repository/commits/:sha/signature": "no commit has one",
  "GET /snippets/:id/files/:ref/:file_path/raw": "a file is asked for by its name",
  "GET /snippets/:id/repository_storage_moves/:repository_storage_id": "its tests ask for a move of another snippet",
  "POST /*project/alerts/notify/:slug/:identifier": "its tests send the key of another integration",
};

/** A response without the parts that always differ. */
export function bytesOf({ status, payload, headers }: Pick<Answer, "status" | "payload" | "headers">): string {
  const lasting = Object.entries(headers).filter(([name]) => !/^(date|x-request-id|ratelimit-.*)$/.test(name));
  return JSON.stringify([status, lasting, payload]);
}

/** Columns that record the last use by a caller, some time after the response. */
export const LAST_USE_COLUMNS: readonly string[] = ["last_used_at", "last_activity_on"];

/** The tables of those columns. */
const TABLES_WITH_LAST_USE = ["users", "personal_access_tokens"];

/** A fingerprint of the state of the database, apart from the last use by callers. */
export async function snapshotOf(db: Db): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`.execute(db);
  const states = tables.map(({ schema, name }) => {
    // An inserted or updated row has a newer xmin, and a deleted one is missing.
    const state = TABLES_WITH_LAST_USE.includes(name)
      ? sql`md5(string_agg((to_jsonb(t) - ${LAST_USE_COLUMNS}::text[])::text, ',' order by id))`
      : sql`count(*) || ' ' || max(xmin::text::bigint)`;
    return sql`select ${`${schema}.${name}`} as name, ${state} as state from ${sql.table(`${schema}.${name}`)} t`;
  });
  const { rows } = await sql<{ name: string; state: string | null }>`${sql.join(states, sql` union all `)}`.execute(db);
  return Object.fromEntries(rows.map(({ name, state }) => [name, state ?? ""]));
}
