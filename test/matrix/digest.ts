import { CompiledQuery, sql } from "kysely";
import type { Db } from "#db/database.ts";
import { contracts } from "#test/support/contracts.ts";

/** A digest of the state of groups and projects, by their ids. */
export type Digest = (groups: readonly number[], projects: readonly number[]) => Promise<string>;

/** Covers every row of the contracts' tables that refers to a group, a project, an issue, epic or alert of it, or to a user whom a group provisioned. */
export async function digester(db: Db): Promise<Digest> {
  const tables = contracts.flatMap((contract) => contract.tables ?? []);
  // Events outlive their project, so not every such column is a foreign key.
  const { rows: references } = await sql<{ table: string; column: string; parent: string }>`
    select table_name as table, column_name as column,
      case column_name when 'project_id' then 'projects' else 'namespaces' end as parent
    from information_schema.columns
    where table_schema = 'public' and column_name in ('project_id', 'group_id') and table_name = any(${tables}::text[])
    union
    select c.relname as table, a.attname as column, p.relname as parent
    from pg_constraint f join pg_class c on c.oid = f.conrelid join pg_class p on p.oid = f.confrelid
      join pg_attribute a on a.attrelid = f.conrelid and a.attnum = f.conkey[1]
    where f.contype = 'f' and f.conparentid = 0 and p.relname in ('namespaces', 'projects', 'users', 'issues', 'epics', 'alerts')
      and c.relname = any(${tables}::text[])
    order by 1, 2`.execute(db);
  const condition = {
    namespaces: "any($1::bigint[])",
    projects: "any($2::bigint[])",
    users: "any(array(select id from staff))",
    issues: "any(array(select id from issues where project_id = any($2::bigint[])))",
    epics: "any(array(select id from epics where group_id = any($1::bigint[])))",
    alerts: "any(array(select id from alerts where project_id = any($2::bigint[])))",
  };
  const lines = [
    "select t.xmin::text || t::text as line from namespaces t where id = any($1::bigint[])",
    "select t.xmin::text || t::text from projects t where id = any($2::bigint[])",
    ...references.map(
      ({ table, column, parent }) =>
        `select t.xmin::text || t::text from ${table} t where ${column} = ${condition[parent as keyof typeof condition]}`,
    ),
  ];
  const text = `with staff as (select id from users where provisioned_by_group_id = any($1::bigint[]))
    select md5(string_agg(line, ',' order by line)) as digest from (${lines.join(" union all ")}) lines`;
  return async (groups, projects) => {
    const { rows } = await db.executeQuery<{ digest: string | null }>(CompiledQuery.raw(text, [groups, projects]));
    return rows[0]?.digest ?? "";
  };
}
