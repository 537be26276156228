import type pg from "pg";
import { LARGEST_GROUP } from "#domains/organization/seed-statements.ts";

/** The rows of the seed that requests name. */
export interface Sample {
  readonly user: { readonly id: number; readonly username: string };
  /** A number that a few names contain, at any size of the seed. */
  readonly rareNumber: number;
  readonly largest: { readonly id: number; readonly path: string };
  /** A project of the largest group. */
  readonly project: { readonly id: number; readonly path: string };
  /** The project with the most stars, and the user who gave the most. */
  readonly starred: { readonly project: number; readonly user: number };
  /** The account of a top-level group that has the most tokens. */
  readonly serviceAccount: { readonly id: number; readonly group: number };
  /** The project with the most deploy keys, and one of them. */
  readonly deployKey: { readonly id: number; readonly project: number };
  /** A user with an SSH key. */
  readonly keyOwner: number;
  /** A project with audit events. */
  readonly audited: number;
  /** A user who maintains much of the largest group. */
  readonly maintainer: number;
}

/** The first row that a statement finds in the seed. */
export async function firstRow(client: pg.Client, text: string, values: unknown[] = []) {
  const { rows } = await client.query(text, values);
  if (rows.length === 0) throw new Error(`The seed has no row for ${text}`);
  return rows[0];
}

export async function readSample(client: pg.Client, users: number): Promise<Sample> {
  const one = (text: string, values: unknown[] = []) => firstRow(client, text, values);
  const largest = await one("select id, path from namespaces where path = $1", [LARGEST_GROUP]);
  return {
    user: await one(
      "select id, username from users where user_type = 'human' and state = 'active' order by id offset 77 limit 1",
    ),
    rareNumber: Math.floor(users * 0.7777),
    largest,
    project: await one(
      `select p.id, $1 || '/' || n.path || '/' || p.path as path
       from namespaces n join projects p on p.namespace_id = n.id where n.parent_id = $2 order by n.id, p.id limit 1`,
      [LARGEST_GROUP, largest.id],
    ),
    starred: await one(
      `select (select project_id from stars group by project_id order by count(*) desc, project_id limit 1) as project,
         (select user_id from stars group by user_id order by count(*) desc, user_id limit 1) as user`,
    ),
    serviceAccount: await one(
      `select id, provisioned_by_group_id as group from users
       where user_type = 'service_account' and provisioned_by_group_id is not null order by id limit 1`,
    ),
    deployKey: await one(
      `select project_id as project, min(key_id) as id from deploy_keys_projects
       group by project_id order by count(*) desc, project_id limit 1`,
    ),
    keyOwner: (await one("select user_id as id from keys where kind = 'user' order by id limit 1")).id,
    audited: (await one("select entity_id as id from audit_events where entity_type = 'Project' order by id limit 1"))
      .id,
    maintainer: (
      await one(
        `select m.user_id as id from members m join namespaces n on n.id = m.group_id
         where n.traversal_ids[1] = $1 and m.access_level >= 40 and m.expires_at is null
         order by cardinality(n.traversal_ids), m.id limit 1`,
        [largest.id],
      )
    ).id,
  };
}

const TABLES = ["projects", "issues", "epics", "label_events", "issue_links", "epic_links", "notes", "todos"];

/** How many rows the tables have that the lists read. */
export async function readSizes(client: pg.Client): Promise<string> {
  const counts = TABLES.map((table) => `select '${table}' as name, count(*)::int from ${table}`).join(" union all ");
  const { rows } = await client.query<{ name: string; count: number }>(counts);
  return rows.map(({ name, count }) => `${count.toLocaleString("en")} ${name}`).join(", ");
}
