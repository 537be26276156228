import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";

/** What the descriptions or notes in one answer have at most. A hundred items could have a hundred times as much. */
export const MAX_DESCRIPTION_BYTES = 8 * 1024 ** 2;

/** A row of `issues` or `epics`; rows are read without descriptions, since these may be long. */
interface Described {
  readonly id: number;
  readonly description?: string | null;
}

/** The tables with long texts, the column of the text, and what callers know it by. */
const TEXTS = {
  issues: { column: "description", name: "descriptions" },
  epics: { column: "description", name: "descriptions" },
  notes: { column: "body", name: "notes" },
} as const;

/** Adds the descriptions of issues or epics to their rows, unless they are too much for one answer. */
export async function withDescriptions<R extends Described>(
  db: Db,
  table: "issues" | "epics",
  rows: readonly R[],
): Promise<(R & { readonly description: string | null })[]> {
  const ids = rows.flatMap(({ id, description }) => (description === undefined ? id : []));
  const descriptions = await textsOf(db, table, ids);
  return rows.map((row) => ({ ...row, description: row.description ?? descriptions.get(row.id) ?? null }));
}

interface LongText {
  readonly id: number;
  readonly text: string;
  readonly bytes: number;
}

/** The texts of some rows by id; together they fit into one answer, or the request is refused. */
export async function textsOf(
  db: Db,
  table: keyof typeof TEXTS,
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const { column, name } = TEXTS[table];
  const { rows } = await sql<LongText>`
    select id, bytes, case when bytes <= ${sql.lit(MAX_DESCRIPTION_BYTES)} then text end as text
    from (
      select id, ${sql.ref(column)} as text, (sum(octet_length(${sql.ref(column)})) over ())::bigint as bytes
      from ${sql.table(table)} where id = any(${ids}::bigint[]) and ${sql.ref(column)} is not null
    ) described`.execute(db);
  const bytes = rows[0]?.bytes ?? 0;
  if (bytes > MAX_DESCRIPTION_BYTES) {
    throw new Refusal(
      "too large",
      `The ${name} have ${bytes} bytes, more than fit into one answer; ask for fewer by per_page`,
    );
  }
  return new Map(rows.map(({ id, text }) => [id, text]));
}
