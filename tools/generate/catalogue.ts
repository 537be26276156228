import { sql } from "kysely";
import type { Db } from "#db/database.ts";

/** The schema as read from PostgreSQL's catalogue, in a form that is the same in every version from 15 on. */
export interface Catalogue {
  readonly tables: readonly Table[];
  readonly functions: readonly string[];
}

export interface Table {
  readonly name: string;
  readonly unlogged: boolean;
  /** Such as `RANGE (created_at)`. */
  readonly partitionKey: string | null;
  readonly columns: readonly Column[];
  readonly constraints: readonly Constraint[];
  readonly indexes: readonly string[];
  readonly triggers: readonly string[];
}

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly default: string | null;
  /** The expression of a column that PostgreSQL computes. */
  readonly computed: string | null;
  readonly identity: "always" | "by default" | null;
}

export interface Constraint {
  readonly name: string;
  /** The columns that it is about. */
  readonly columns: readonly string[];
  readonly definition: string;
}

/** Reads the result of the migrations, without partitions and without the functions of extensions. */
export async function readCatalogue(db: Db): Promise<Catalogue> {
  const tables = await sql<Table>`
    select c.relname as name, c.relpersistence = 'u' as unlogged, pg_get_partkeydef(c.oid) as "partitionKey",
      (select json_agg(json_build_object(
          'name', a.attname,
          'type', format_type(a.atttypid, a.atttypmod),
          'required', a.attnotnull,
          'default', case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end,
          'computed', case when a.attgenerated <> '' then pg_get_expr(d.adbin, d.adrelid) end,
          'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end
        ) order by a.attnum)
        from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
      (select coalesce(json_agg(json_build_object(
          'name', k.conname,
          'columns', array(select a.attname from pg_attribute a where a.attrelid = c.oid and a.attnum = any(k.conkey)),
          'definition', pg_get_constraintdef(k.oid)
        ) order by array_position('{p,u,x,f,c}', k.contype::text), k.conname collate "C"), '[]')
        from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'x', 'f', 'c')) as constraints,
      array(select pg_get_indexdef(i.indexrelid) from pg_index i join pg_class ic on ic.oid = i.indexrelid
        where i.indrelid = c.oid
          and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = c.oid)
        order by ic.relname collate "C") as indexes,
      array(select pg_get_triggerdef(t.oid) from pg_trigger t
        where t.tgrelid = c.oid and not t.tgisinternal order by t.tgname collate "C") as triggers
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname collate "C"`.execute(db);

  const functions = await sql<{ definition: string }>`
    select pg_get_functiondef(p.oid) as definition
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.prokind in ('f', 'p')
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    order by p.proname collate "C", pg_get_function_identity_arguments(p.oid) collate "C"`.execute(db);

  return { tables: tables.rows, functions: functions.rows.map(({ definition }) => definition) };
}
