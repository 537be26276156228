import { sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import type { ProjectIdentity } from "./entity.ts";

/** The projects listed with a key, of each kind of access: all projects may enable a public key. */
const MAX_LISTED = 100;

interface EnabledProjectRow extends Omit<
  Static<typeof ProjectIdentity>,
  "name_with_namespace" | "path_with_namespace"
> {
  readonly key_id: number;
  readonly can_push: boolean;
  readonly namespace_id: number;
}

/** The projects that enabled each of these keys, the oldest first, in a fixed number of statements. */
export async function enabledProjects(db: Db, keyIds: readonly number[]) {
  if (keyIds.length === 0) return () => [];
  const { rows } = await sql<EnabledProjectRow>`
    select d.key_id, d.can_push, p.id, p.namespace_id, p.name, p.path, nullif(p.description, '') as description, p.created_at
    from unnest(${keyIds}::bigint[]) asked (id) cross join (values (true), (false)) wanted (can_push)
    cross join lateral (
      select d.key_id, d.can_push, d.project_id from deploy_keys_projects d
      where d.key_id = asked.id and d.can_push = wanted.can_push
      order by d.project_id limit ${sql.lit(MAX_LISTED)}
    ) d join projects p on p.id = d.project_id
    order by d.key_id, p.id`.execute(db);
  const namespaces = await namespacesOf(db, [...new Set(rows.map(({ namespace_id }) => namespace_id))]);
  const enabled = Map.groupBy(rows, ({ key_id, can_push }) => `${key_id} ${can_push}`);
  return (keyId: number, canPush: boolean): Static<typeof ProjectIdentity>[] =>
    (enabled.get(`${keyId} ${canPush}`) ?? []).flatMap((row) => {
      const namespace = namespaces.get(row.namespace_id);
      return namespace
        ? {
            id: row.id,
            description: row.description,
            name: row.name,
            name_with_namespace: `${namespace.full_name} / ${row.name}`,
            path: row.path,
            path_with_namespace: `${namespace.full_path}/${row.path}`,
            created_at: row.created_at,
          }
        : [];
    });
}

/** The full paths and names of namespaces; nothing else, as there may be thousands. */
async function namespacesOf(db: Db, ids: readonly number[]) {
  const { rows } = await sql<{ id: number; full_path: string; full_name: string }>`
    select n.id, string_agg(above.path, '/' order by cardinality(above.traversal_ids)) as full_path,
      string_agg(above.name, ' / ' order by cardinality(above.traversal_ids)) as full_name
    from namespaces n join namespaces above on above.id = any(n.traversal_ids)
    where n.id = any(${ids}::bigint[]) group by n.id`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
