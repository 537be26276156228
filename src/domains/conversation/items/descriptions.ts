import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { type Answer, markTruncated } from "./answer.ts";

/** What the descriptions or notes in one answer have at most. A hundred items could have a hundred times as much. */
export const MAX_TEXT_BYTES = 4 * 1024 ** 2;

/** A row of items; rows are read without descriptions, since these may be long. */
interface Described {
  readonly id: number;
  readonly description?: string | null;
}

/** The tables with long texts, and the column of the text. */
const TEXTS = { issues: "description", epics: "description", merge_requests: "description", notes: "body" } as const;

/** Adds the descriptions of items to their rows. */
export async function withDescriptions<R extends Described>(
  db: Db,
  table: Exclude<keyof typeof TEXTS, "notes">,
  rows: readonly R[],
  answer: Answer,
): Promise<(R & { readonly description: string | null })[]> {
  const ids = rows.flatMap(({ id, description }) => (description === undefined ? id : []));
  const descriptions = await textsOf(db, table, ids, answer);
  return rows.map((row) => ({ ...row, description: row.description ?? descriptions.get(row.id) ?? null }));
}

interface LongText {
  readonly id: number;
  readonly text: string;
  /** Of all texts, uncut. */
  readonly bytes: number;
}

/**
 * The texts of some rows by id. If together they have more than fits into one answer, each that is longer than its share
 * is cut to that, and the answer says so; the text of a single row always fits.
 */
export async function textsOf(
  db: Db,
  table: keyof typeof TEXTS,
  ids: readonly number[],
  answer: Answer,
): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const column = sql.ref(TEXTS[table]);
  const max = Math.floor(MAX_TEXT_BYTES / (answer.copies ?? 1));
  const share = Math.floor(max / ids.length);
  const { rows } = await sql<LongText>`
    select id, bytes, case
      when bytes <= ${max}::bigint or length <= ${share}::bigint then text
      -- Its characters have so many bytes on average, rounded up.
      else left(text, (${share}::bigint / ((length + char_length(text) - 1) / char_length(text)))::integer)
    end as text
    from (
      select id, ${column} as text, octet_length(${column}) as length,
        (sum(octet_length(${column})) over ())::bigint as bytes
      from ${sql.table(table)} where id = any(${ids}::bigint[]) and ${column} is not null
    ) texts`.execute(db);
  const bytes = rows[0]?.bytes ?? 0;
  if (bytes > max) markTruncated(answer);
  answer.reserveMemory?.(Math.min(bytes * (answer.copies ?? 1), MAX_TEXT_BYTES));
  return new Map(rows.map(({ id, text }) => [id, text]));
}
