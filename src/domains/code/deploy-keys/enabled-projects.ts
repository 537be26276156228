import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { type IdentityRow, projectIdentities, type ProjectIdentity } from "#domains/organization/projects/identity.ts";

/** The projects listed with a key, of each kind of access: all projects may enable a public key. */
const MAX_LISTED = 100;

interface EnabledProjectRow extends IdentityRow {
  readonly key_id: number;
  readonly can_push: boolean;
}

/** The projects that enabled each of these keys, the oldest first, in a fixed number of statements. */
export async function enabledProjects(db: Db, keyIds: readonly number[]) {
  if (keyIds.length === 0) return () => [];
  const { rows } = await sql<EnabledProjectRow>`
    select d.key_id, d.can_push, p.id, p.namespace_id, p.name, p.path, p.description, p.created_at
    from unnest(${keyIds}::bigint[]) asked (id) cross join (values (true), (false)) wanted (can_push)
    cross join lateral (
      select d.key_id, d.can_push, d.project_id from deploy_keys_projects d
      where d.key_id = asked.id and d.can_push = wanted.can_push
      order by d.project_id limit ${sql.lit(MAX_LISTED)}
    ) d join projects p on p.id = d.project_id
    order by d.key_id, p.id`.execute(db);
  const identities = await projectIdentities(db, rows);
  const enabled = Map.groupBy(rows, ({ key_id, can_push }) => `${key_id} ${can_push}`);
  return (keyId: number, canPush: boolean): ProjectIdentity[] =>
    (enabled.get(`${keyId} ${canPush}`) ?? []).flatMap(({ id }) => identities.get(id) ?? []);
}
