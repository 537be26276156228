import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";

/** A namespace or project with its id and full path. */
export interface Container {
  readonly id: number;
  readonly path: string;
}

/** A container and the id of one of its children. */
export interface Belonging {
  readonly place: Container;
  readonly id: number;
}

/** All groups, or all projects. */
export interface Places {
  readonly all: readonly Container[];
  /** Previous full paths. */
  readonly old: readonly string[];
  /** Those that are marked for deletion. */
  readonly marked: readonly Container[];
  /** Those that have an avatar of their own. */
  readonly pictured: readonly Container[];
  readonly members: readonly Belonging[];
  readonly shares: readonly Belonging[];
  readonly events: readonly Belonging[];
}

export interface Tree {
  readonly groups: Places;
  readonly projects: Places;
  /** Groups and personal namespaces. */
  readonly namespaces: readonly Container[];
}

const [PRIVATE, INTERNAL, PUBLIC] = [0, 10, 20];
const MARKED = { marked_for_deletion_at: sql<string>`now() - interval '1 day'` };
const MAX_DEPTH = 20;

/** Groups of every visibility and state, nested ones included; parents come first. */
const GROUPS: readonly (readonly [path: string, visibility: number, columns?: object])[] = [
  ["open", PUBLIC],
  ["open/club", INTERNAL],
  ["open/club/secret", PRIVATE],
  ["open/wide", PUBLIC],
  ["open/wide/low", PRIVATE],
  ["open/leaving", PUBLIC, MARKED],
  ["club", INTERNAL],
  ["club/inner", INTERNAL],
  ["club/secret", PRIVATE],
  ["secret", PRIVATE],
  ["secret/low", PRIVATE],
  ["away", PUBLIC, { archived: true }],
  ["away/below", PUBLIC],
  ["leaving", PUBLIC, MARKED],
  ["leaving/below", INTERNAL],
  ["going", PUBLIC, { ...MARKED, removal_began_at: sql<string>`now()` }],
  ["strict", PUBLIC, { project_creation_level: "noone", subgroup_creation_level: "owner" }],
  ["closed", PUBLIC, { preferences: { prevent_sharing_groups_outside_hierarchy: true } }],
  ...Array.from({ length: MAX_DEPTH }, (_, level) => [`deep${"/deep".repeat(level)}`, PUBLIC] as const),
];

/** Creates a tree; the user `ownerId` has roles in much of it, `avatar` is the name of a blob. */
export async function makeTree(db: Db, ownerId: number, avatar: string): Promise<Tree> {
  const ids = new Map<string, number>();
  for (const [path, visibility, columns] of GROUPS) {
    const last = path.split("/").at(-1) ?? "";
    const { id } = await db
      .insertInto("namespaces")
      .values({ kind: "group", path: last, name: `Group ${last}`, visibility, parent_id: parentOf(path), ...columns })
      .returning("id")
      .executeTakeFirstOrThrow();
    ids.set(path, id);
  }
  await makeProjects(db);
  await renameAndRevert(db);
  await fill(db, ownerId, avatar);
  return readTree(db);

  function parentOf(path: string) {
    return ids.get(path.split("/").slice(0, -1).join("/")) ?? null;
  }
}

const HAS_PROJECTS = sql.raw("(n.kind = 'group' and cardinality(n.traversal_ids) < 4 or n.id < 9)");

async function makeProjects(db: Db) {
  await sql`
    insert into projects (namespace_id, path, name, visibility, archived, marked_for_deletion_at, topics, default_branch)
    select n.id, 'work-' || n.id || '-' || turn, 'Work ' || n.id || ' ' || turn,
      least(n.visibility, (array[0, 10, 20, 20])[1 + (n.id + turn) % 4]), (n.id + turn) % 5 = 0,
      case when (n.id + turn) % 7 = 0 then now() end, array['red', 'blue'], 'main'
    from namespaces n, generate_series(1, 2) turn where ${HAS_PROJECTS} order by n.id, turn`.execute(db);
  await sql`
    insert into members (user_id, project_id, access_level)
    select u.id, p.id, 50 from projects p join users u on u.namespace_id = p.namespace_id`.execute(db);
}

/** Renames a third of all and reverts it, so that they have a previous path. */
async function renameAndRevert(db: Db) {
  for (const path of [sql`path || '-before'`, sql`left(path, -7)`]) {
    await sql`update namespaces set path = ${path} where kind = 'group' and id % 3 = 0`.execute(db);
    await sql`update projects set path = ${path} where id % 3 = 0`.execute(db);
  }
}

/** Sets the expiry of a third of the rows in the past, and of another third in the future. */
const END = sql.raw("case when n % 3 = 0 then date '2020-01-01' when n % 3 = 1 then date '2100-01-01' end");

async function fill(db: Db, ownerId: number, avatar: string) {
  await sql`
    insert into members (group_id, user_id, access_level)
    select id, ${ownerId}, (array[50, 40, 50, 30, 50, 10, 50, 5])[1 + id % 8] from namespaces where kind = 'group'
    union all
    select g.id, u.id, 50 from namespaces g, users u where g.kind = 'group' and u.id < 3`.execute(db);
  await sql`
    insert into members (group_id, user_id, access_level, expires_at)
    select g.id, u.id, (array[5, 10, 15, 20, 30, 40, 50])[1 + n % 7], ${END}
    from namespaces g, users u, lateral (select g.id + u.id as n) wide
    where g.kind = 'group' and n % 5 = 0 on conflict do nothing`.execute(db);
  await sql`
    insert into members (project_id, user_id, access_level, expires_at)
    select p.id, u.id, (array[10, 15, 20, 30, 40, 50])[1 + n % 6], ${END}
    from projects p, users u, lateral (select p.id + u.id as n) wide where n % 5 = 0 on conflict do nothing`.execute(
    db,
  );
  await sql`
    insert into shares (group_id, with_group_id, access_level, expires_at)
    select g.id, w.id, (array[10, 20, 30, 50])[1 + n % 4], ${END}
    from namespaces g join namespaces w on w.id in (g.id + 2, g.id + 5), lateral (select g.id + w.id as n) wide
    where g.kind = 'group' and w.kind = 'group'`.execute(db);
  await sql`
    insert into shares (project_id, with_group_id, access_level, expires_at)
    select p.id, w.id, (array[10, 20, 30, 50])[1 + n % 4], ${END}
    from projects p join namespaces w on w.id in (p.namespace_id + 3, p.namespace_id - 4),
      lateral (select p.id + w.id as n) wide
    where w.kind = 'group'`.execute(db);
  await sql`
    insert into stars (project_id, user_id) select p.id, u.id from projects p, users u where (p.id + u.id) % 2 = 0`.execute(
    db,
  );
  await sql`update projects p set star_count = (select count(*) from stars where project_id = p.id)`.execute(db);
  for (const table of ["namespaces", "projects"] as const) {
    await db
      .updateTable(table)
      .set({ avatar_blob: avatar, avatar_file: "avatar.png" })
      .where(sql<boolean>`id % 4 = 0`)
      .execute();
  }
  await sql`
    insert into audit_events (event, actor_name, entity_type, entity_id, target_type, target_name, request_id)
    select 'made', 'fuzz', kind, id, kind, 'made', concat(kind, id) from (
      select 'Group' as kind, id from namespaces where kind = 'group' union all
      select 'Project', id from projects union all select 'User', id from users union all select 'Instance', null
    ) things`.execute(db);
}

async function readTree(db: Db): Promise<Tree> {
  const [deepest, secondDeepest] = [MAX_DEPTH, MAX_DEPTH - 1];
  // Of the deeply nested groups, those at the limit are enough.
  const { rows: namespaces } = await sql<Row>`
    select n.id, n.kind, ${fullPath("n")} as path, n.marked_for_deletion_at is not null as marked,
      n.avatar_file is not null as pictured
    from namespaces n where cardinality(traversal_ids) in (1, 2, 3, ${secondDeepest}, ${deepest}) order by n.id`.execute(
    db,
  );
  const { rows: projects } = await sql<Row>`
    select p.id, ${fullPath("n")} || '/' || p.path as path, p.marked_for_deletion_at is not null as marked,
      p.avatar_file is not null as pictured
    from projects p join namespaces n on n.id = p.namespace_id order by p.id`.execute(db);
  const groups = namespaces.filter(({ kind }) => kind === "group");
  return {
    groups: await readPlaces(db, "group", groups),
    projects: await readPlaces(db, "project", projects),
    namespaces,
  };
}

interface Row extends Container {
  readonly kind?: "user" | "group";
  readonly marked: boolean;
  readonly pictured: boolean;
}

async function readPlaces(db: Db, kind: "group" | "project", all: readonly Row[]): Promise<Places> {
  const places = new Map(all.map((row) => [row.id, row]));
  const column = sql.ref(`${kind}_id`);
  const entity = kind === "group" ? "Group" : "Project";
  const belonging = async (rows: Promise<{ rows: { at: number; id: number }[] }>): Promise<Belonging[]> =>
    (await rows).rows.flatMap(({ at, id }) => {
      const place = places.get(at);
      return place ? [{ place, id }] : [];
    });
  return {
    all,
    old: all.filter(({ id }) => id % 3 === 0).map(({ path }) => `${path}-before`),
    marked: all.filter(({ marked }) => marked),
    pictured: all.filter(({ pictured }) => pictured),
    members: await belonging(
      sql<{ at: number; id: number }>`
        select ${column} as at, user_id as id from members
        where ${column} is not null and (expires_at is null or expires_at > now()) order by 1, 2`.execute(db),
    ),
    shares: await belonging(
      sql<{ at: number; id: number }>`
        select ${column} as at, with_group_id as id from shares where ${column} is not null order by 1, 2`.execute(db),
    ),
    events: await belonging(
      sql<{ at: number; id: number }>`
        select entity_id as at, id from audit_events where entity_type = ${entity} order by 1, 2`.execute(db),
    ),
  };
}
