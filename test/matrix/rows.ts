import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { type End, type Level, LEVELS } from "./callers.ts";
import type { Visibility } from "./line.ts";

/** A row to be inserted; all rows of one call have the same columns. */
export type Row = Readonly<Record<string, unknown>>;
export type Table = keyof Database;
export type At = { readonly group_id: number } | { readonly project_id: number };

const LEVEL_OF = { private: 0, internal: 10, public: 20 } as const;
const DAY = 86_400_000;

/** A name that nothing has. */
export const word = () => `p${randomBytes(9).toString("hex")}`;

const dateOf = (ends: End | undefined) =>
  ends ? new Date(Date.now() + (ends === "tomorrow" ? DAY : 0)).toISOString().slice(0, 10) : null;

export const membership = (at: At, user_id: number, level: Level, ends?: End): Row => ({
  ...{ group_id: null, project_id: null, ...at },
  ...{ user_id, access_level: LEVELS[level], expires_at: dateOf(ends) },
});

export const share = (at: At, with_group_id: number, upTo: Level, ends?: End): Row => ({
  ...{ group_id: null, project_id: null, ...at },
  ...{ with_group_id, access_level: LEVELS[upTo], expires_at: dateOf(ends) },
});

interface PlaceColumns {
  readonly path?: string;
  readonly name?: string;
  readonly visibility?: Visibility;
  readonly archived?: boolean;
  readonly marked_for_deletion_at?: string | null;
  readonly avatar_blob?: string;
  readonly avatar_file?: string;
  readonly preferences?: object;
}

const place = ({ path = word(), name = path, visibility = "public", ...columns }: PlaceColumns): Row => ({
  ...{ path, name, archived: false, marked_for_deletion_at: null, ...columns },
  visibility: LEVEL_OF[visibility],
});

export const group = (parent_id: number | null, columns: PlaceColumns = {}): Row => ({
  ...{ kind: "group", parent_id },
  ...place(columns),
});

export const project = (namespace_id: number, columns: PlaceColumns = {}): Row => ({
  ...{ namespace_id, default_branch: "main" },
  ...place(columns),
});

/** The name under which the log has what was not done by a request. */
export const MADE = "made_by_matrix";

export const event = (entity_type: "Group" | "Project", entity_id: number): Row => ({
  ...{ event: MADE, actor_name: "matrix", request_id: word(), ip_address: "192.0.2.1" },
  ...{ entity_type, entity_id, target_type: entity_type, target_id: entity_id, target_name: "made" },
});

/** A domain that a group says is its own. */
export const domain = (group_id: number): Row => ({
  ...{ group_id, domain: `${word()}.test`, verification_code: word() },
  created_at: new Date().toISOString(),
});

/** Rows go in by one statement a table, whatever their number, and come back in no order. */
export async function insert(db: Db, table: Table, rows: readonly Row[]): Promise<Row[]> {
  const [first] = rows;
  if (!first) return [];
  const columns = sql.raw(Object.keys(first).join(", "));
  const { rows: made } = await sql<Row>`
    insert into ${sql.table(table)} (${columns})
    select ${columns} from jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb)
    returning *`.execute(db);
  return made;
}

/** The ids of new rows in the order of the rows, which differ in the column `by`. */
export async function insertForIds(db: Db, table: Table, rows: readonly Row[], by = "path"): Promise<number[]> {
  const made = await insert(db, table, rows);
  const ids = new Map(made.map((row) => [row[by], row["id"] as number]));
  return rows.map((row) => ids.get(row[by]) ?? 0);
}

export async function insertForId(db: Db, table: Table, row: Row): Promise<number> {
  const [id] = await insertForIds(db, table, [row], ["request_id", "domain"].find((by) => by in row) ?? "path");
  return id ?? 0;
}
