import { sql } from "kysely";
import type { Db } from "#db/database.ts";

/** A label or milestone of a project with the name of one of a group above. */
export interface Namesake {
  readonly id: number;
  readonly project_id: number;
}

const NAMES = { labels: "name", milestones: "title" } as const;
const MAX_NAMESAKES = 1000;

/** Those of projects in or below the group of a label or milestone that have its name; none once it is gone or renamed. */
export async function namesakesOf(db: Db, table: keyof typeof NAMES, id: number, name: string): Promise<Namesake[]> {
  const column = sql.ref(NAMES[table]);
  const { rows } = await sql<Namesake>`
    select t.id, t.project_id from ${sql.table(table)} promoted
      join namespaces n on n.id = promoted.group_id
      cross join subtree(n.traversal_ids, n.subtree_end) below
      join projects p on p.namespace_id = below
      join ${sql.table(table)} t on t.project_id = p.id and t.${column} = promoted.${column}
    where promoted.id = ${id} and promoted.${column} = ${name}
    order by t.id limit ${sql.lit(MAX_NAMESAKES)}`.execute(db);
  return rows;
}
