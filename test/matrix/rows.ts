import { randomBytes, randomInt } from "node:crypto";
import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { type End, type Level, LEVELS } from "./callers.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import type { Visibility } from "./line.ts";

/** A row to be inserted; all rows of one call have the same columns. */
export type Row = Readonly<Record<string, unknown>>;
export type Table = keyof Database;
export type At = { readonly group_id: number } | { readonly project_id: number };

/** The column that references the group or project. */
export const at = ({ kind, id }: { readonly kind: string; readonly id: number }): At =>
  kind === "group" ? { group_id: id } : { project_id: id };

const LEVEL_OF = { private: 0, internal: 10, public: 20 } as const;
const DAY = 86_400_000;

/** A unique name. */
export const word = () => `p${randomBytes(9).toString("hex")}`;

const dateOf = (ends: End | undefined) =>
  ends ? new Date(Date.now() + (ends === "next week" ? 7 * DAY : 0)).toISOString().slice(0, 10) : null;

export const membership = (at: At, user_id: number, level: Level, ends?: End): Row => ({
  ...{ group_id: null, project_id: null, ...at },
  ...{ user_id, access_level: LEVELS[level], expires_at: dateOf(ends) },
});

export const share = (at: At, with_group_id: number, upTo: Level, ends?: End): Row => ({
  ...{ group_id: null, project_id: null, ...at },
  ...{ with_group_id, access_level: LEVELS[upTo], expires_at: dateOf(ends) },
});

interface ContainerColumns {
  readonly path?: string;
  readonly name?: string;
  readonly visibility?: Visibility;
  readonly archived?: boolean;
  readonly marked_for_deletion_at?: string | null;
  readonly avatar_blob?: string;
  readonly avatar_file?: string;
  readonly preferences?: object;
}

const containerRow = ({ path = word(), name = path, visibility = "public", ...columns }: ContainerColumns): Row => ({
  ...{ path, name, archived: false, marked_for_deletion_at: null, ...columns },
  visibility: LEVEL_OF[visibility],
});

export const group = (parent_id: number | null, columns: ContainerColumns = {}): Row => ({
  ...{ kind: "group", parent_id },
  ...containerRow(columns),
});

export const project = (namespace_id: number, columns: ContainerColumns = {}): Row => ({
  ...{ namespace_id, default_branch: "main" },
  ...containerRow(columns),
});

/** The prefix of the names of fixtures that callers keep. */
export const KNOWN_PREFIX = "kept-";

/** The event of audit rows that fixtures insert. */
export const MADE = "made_by_matrix";

/** A digest of a secret that nobody knows. */
export const randomDigest = () => String.raw`\x${randomBytes(32).toString("hex")}`;

/** A token whose value nobody knows. */
export const token = (user_id: number, { impersonation = false } = {}): Row => ({
  ...{ user_id, name: word(), scopes: ["api"], token_digest: randomDigest() },
  ...{ impersonation, created_at: new Date().toISOString() },
});

/** An SSH key, by its title. */
export const sshKey = (user_id: number, title: string, kind: "user" | "deploy" = "user"): Row => ({
  ...{ user_id, title, key: newSshKey(), fingerprint_sha256: title },
  ...{ kind, usage_type: "auth", created_at: new Date().toISOString() },
});

/** An alert that was just reported. */
export function alert(project_id: number, integration_id: number | null = null) {
  const now = new Date().toISOString();
  return {
    ...{ project_id, integration_id, iid: randomInt(1, 2 ** 30), title: word(), fingerprint: randomDigest() },
    ...{ event_count: 1, status: 0, severity: 0, hosts: [], grouped_by: {}, payload: "{}" },
    ...{ started_at: now, created_at: now, updated_at: now },
  };
}

/** Inserts any number of rows with one statement; they are returned in no particular order. */
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

/** Inserts rows and returns their ids in the same order; the column `by` is unique among them. */
export async function insertForIds(db: Db, table: Table, rows: readonly Row[], by = "path"): Promise<number[]> {
  const made = await insert(db, table, rows);
  const ids = new Map(made.map((row) => [row[by], row["id"] as number]));
  return rows.map((row) => ids.get(row[by]) ?? 0);
}

export async function insertForId(db: Db, table: Table, row: Row): Promise<number> {
  const [made] = await insert(db, table, [row]);
  return made?.["id"] as number;
}

/** A public project in the namespace of each user, who owns it. */
export async function personalProjects(db: Db, users: readonly { readonly id: number }[]): Promise<number[]> {
  const { rows } = await sql<{ id: number; namespace_id: number }>`
    select id, namespace_id from users where id = any(${users.map(({ id }) => id)}::bigint[])`.execute(db);
  const namespaces = new Map(rows.map(({ id, namespace_id }) => [id, namespace_id]));
  const ids = await insertForIds(
    db,
    "projects",
    users.map(({ id }) => project(namespaces.get(id) ?? 0)),
  );
  await insert(
    db,
    "members",
    users.map(({ id }, index) => membership({ project_id: ids[index] ?? 0 }, id, "owner")),
  );
  return ids;
}
