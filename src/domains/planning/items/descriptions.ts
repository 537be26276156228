import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";

/** What the descriptions in one answer have at most. A hundred items could have a hundred times as much. */
export const MAX_DESCRIPTION_BYTES = 8 * 1024 ** 2;

/** A row of `issues` or `epics`; rows are read without descriptions, since these may be long. */
interface Described {
  readonly id: number;
  readonly description?: string | null;
}

interface Description {
  readonly id: number;
  readonly description: string;
  readonly bytes: number;
}

/** Adds the descriptions of issues or epics to their rows, unless they are too much for one answer. */
export async function withDescriptions<R extends Described>(
  db: Db,
  table: "issues" | "epics",
  rows: readonly R[],
): Promise<(R & { readonly description: string | null })[]> {
  const ids = rows.flatMap(({ id, description }) => (description === undefined ? id : []));
  const found = ids.length === 0 ? [] : await read(db, table, ids);
  const descriptions = new Map(found.map(({ id, description }) => [id, description]));
  return rows.map((row) => ({ ...row, description: row.description ?? descriptions.get(row.id) ?? null }));
}

async function read(db: Db, table: string, ids: readonly number[]): Promise<Description[]> {
  const { rows } = await sql<Description>`
    select id, bytes, case when bytes <= ${sql.lit(MAX_DESCRIPTION_BYTES)} then description end as description
    from (
      select id, description, (sum(octet_length(description)) over ())::bigint as bytes
      from ${sql.table(table)} where id = any(${ids}::bigint[]) and description is not null
    ) described`.execute(db);
  const bytes = rows[0]?.bytes ?? 0;
  if (bytes > MAX_DESCRIPTION_BYTES) {
    throw new Refusal(
      "too large",
      `The descriptions have ${bytes} bytes, more than fit into one answer; ask for fewer by per_page`,
    );
  }
  return rows;
}
