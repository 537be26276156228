import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Db } from "#db/database.ts";
import { Nullable } from "#http/params/vocabulary.ts";

/** The fields that identify a project where another resource names it. */
export const ProjectIdentity = Type.Object(
  {
    id: Type.Integer(),
    description: Nullable(Type.String()),
    name: Type.String(),
    name_with_namespace: Type.String(),
    path: Type.String(),
    path_with_namespace: Type.String(),
    created_at: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false, title: "ProjectIdentity" },
);
export type ProjectIdentity = Static<typeof ProjectIdentity>;

export interface IdentityRow extends Omit<ProjectIdentity, "name_with_namespace" | "path_with_namespace"> {
  readonly namespace_id: number;
}

/** The identities of projects by their ids, with one statement for all namespaces. */
export async function projectIdentities(
  db: Db,
  rows: readonly IdentityRow[],
): Promise<ReadonlyMap<number, ProjectIdentity>> {
  const namespaces = await namespacesOf(db, [...new Set(rows.map(({ namespace_id }) => namespace_id))]);
  return new Map(
    rows.flatMap((row) => {
      const namespace = namespaces.get(row.namespace_id);
      return namespace ? [[row.id, presentIdentity(row, namespace)]] : [];
    }),
  );
}

interface NamespaceNames {
  readonly id: number;
  readonly full_path: string;
  readonly full_name: string;
}

export const presentIdentity = (
  row: Omit<IdentityRow, "namespace_id">,
  { full_path, full_name }: Omit<NamespaceNames, "id">,
): ProjectIdentity => ({
  id: row.id,
  description: row.description === "" ? null : row.description,
  name: row.name,
  name_with_namespace: `${full_name} / ${row.name}`,
  path: row.path,
  path_with_namespace: `${full_path}/${row.path}`,
  created_at: row.created_at,
});

/** The full paths and names of namespaces; nothing else, as there may be thousands. */
async function namespacesOf(db: Db, ids: readonly number[]) {
  if (ids.length === 0) return new Map<number, NamespaceNames>();
  const { rows } = await sql<NamespaceNames>`
    select n.id, string_agg(above.path, '/' order by cardinality(above.traversal_ids)) as full_path,
      string_agg(above.name, ' / ' order by cardinality(above.traversal_ids)) as full_name
    from namespaces n join namespaces above on above.id = any(n.traversal_ids)
    where n.id = any(${ids}::bigint[]) group by n.id`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
