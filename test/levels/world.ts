import fc from "fast-check";
import { sql } from "kysely";
import type { Databases, Tx } from "#db/database.ts";

/** Everything is identified by its index in its list. */
export type Container = { readonly group: number } | { readonly project: number };

interface Ending {
  readonly level: number;
  /** Days from today; null means never. */
  readonly ends: number | null;
}

/** A minimal description of groups, projects and their members. */
export interface World {
  readonly users: readonly { readonly external: boolean; readonly admin: boolean }[];
  readonly groups: readonly { readonly parent: number | null; readonly visibility: number }[];
  /** A project is in a group, or in a personal namespace. */
  readonly projects: readonly ({ readonly visibility: number; readonly access: FeatureAccess } & (
    | { readonly group: number }
    | { readonly user: number }
  ))[];
  readonly memberships: readonly (Ending & { readonly user: number; readonly of: Container })[];
  readonly shares: readonly (Ending & { readonly of: Container; readonly with: number })[];
  /** Issues of projects and epics of groups. */
  readonly items: readonly WorldItem[];
  /** The minimum level in lists of a member's groups and projects. */
  readonly least: number;
  /** The feature whose access level the projects set; other features keep their defaults. */
  readonly feature: Feature;
}

/** An issue or epic. Nobody is assigned to an epic. */
export interface WorldItem {
  readonly of: Container;
  readonly confidential: boolean;
  readonly author: number;
  readonly assignee: number | null;
}

export type FeatureAccess = "disabled" | "private" | "enabled";
const COLUMN_OF = {
  issues: "issues_access_level",
  merge_requests: "merge_requests_access_level",
  repository: "repository_access_level",
  wiki: "wiki_access_level",
  snippets: "snippets_access_level",
  monitoring: "monitor_access_level",
  security: "security_and_compliance_access_level",
} as const;
export type Feature = keyof typeof COLUMN_OF;

export const USERS = 8;
const MAX_DEPTH = 6;

const visibility = fc.constantFrom(0, 0, 10, 20);
const access = fc.constantFrom<FeatureAccess[]>("disabled", "private", "enabled");
const feature = fc.constantFrom(...(Object.keys(COLUMN_OF) as Feature[]));
const level = fc.constantFrom(10, 15, 20, 30, 40, 50);
const ends = fc.constantFrom(null, null, -400, -1, 0, 1, 30);
const some = fc.nat(1000);
const list = <T>(of: fc.Arbitrary<T>, minLength: number, maxLength: number) =>
  fc.array(of, { minLength, maxLength, size: "max" });

/** A random world; random references are brought into range, so that shrinking can remove any part. */
export const anyWorld: fc.Arbitrary<World> = fc
  .record({
    users: list(fc.record({ external: fc.boolean(), admin: fc.constantFrom(false, false, false, true) }), 1, USERS),
    groups: list(fc.record({ back: fc.nat(4), visibility }), 1, 14),
    projects: list(fc.record({ at: some, visibility, access }), 1, 14),
    memberships: list(fc.record({ user: some, of: some, minimal: fc.nat(5), level, ends }), 0, 40),
    shares: list(fc.record({ of: some, with: some, level, ends }), 0, 20),
    items: list(fc.record({ of: some, confidential: fc.boolean(), author: some, assignee: fc.option(some) }), 0, 20),
    least: level,
    feature,
  })
  .map((raw): World => {
    const places = raw.groups.length + raw.projects.length;
    const placeAt = (at: number): Container =>
      at % places < raw.groups.length ? { group: at % places } : { project: (at % places) - raw.groups.length };
    return {
      ...raw,
      groups: withParents(raw.groups),
      projects: raw.projects.map(({ at, ...project }) =>
        at % 5 === 0 ? { ...project, user: at % raw.users.length } : { ...project, group: at % raw.groups.length },
      ),
      memberships: unique(
        raw.memberships.map(({ user, of, minimal, level, ends }) => {
          const place = placeAt(of);
          const isMinimal = minimal === 0 && "group" in place;
          return { user: user % raw.users.length, of: place, level: isMinimal ? 5 : level, ends };
        }),
        ({ user, of }) => JSON.stringify([user, of]),
      ),
      items: raw.items.map(({ of, confidential, author, assignee }) => ({
        of: placeAt(of),
        confidential,
        author: author % raw.users.length,
        assignee: assignee === null ? null : assignee % raw.users.length,
      })),
      shares: unique(
        raw.shares.map(({ of, with: other, level, ends }) => ({
          of: placeAt(of),
          with: other % raw.groups.length,
          level,
          ends,
        })),
        (share) => JSON.stringify([share.of, share.with]),
      ).filter((share) => !("group" in share.of && share.of.group === share.with)),
    };
  });

/** The parent of a group is one of the few groups before it, or none. */
function withParents(groups: readonly { back: number; visibility: number }[]): World["groups"] {
  const depths: number[] = [];
  return groups.map(({ back, visibility }, at) => {
    const parent = back === 0 || at < back || depths[at - back] === MAX_DEPTH ? null : at - back;
    depths.push(parent === null ? 1 : (depths[parent] ?? 0) + 1);
    return { parent, visibility };
  });
}

const unique = <T>(items: readonly T[], keyOf: (item: T) => string): T[] => [
  ...new Map(items.map((item) => [keyOf(item), item])).values(),
];

/** The ids of a world's rows. */
export const userId = (at: number) => at + 1;
export const groupId = (at: number) => at + 1001;
export const projectId = (at: number) => at + 1;
/** Issues and epics share the numbers of their list. */
export const itemId = (at: number) => at + 1;

/** Creates the users of all worlds; each world says anew which of them are external or administrators. */
export async function makeUsers({ write }: Databases) {
  await sql`
    with spaces as (
      insert into namespaces (id, path, name) select n, 'u' || n, 'u' from generate_series(1, ${USERS}::int) n returning id
    )
    insert into users (id, username, name, email, namespace_id)
    select id, 'u' || id, 'u', 'u' || id || '@example.com', id from spaces`.execute(write);
}

/** Replaces the previous world in the database. */
export const build = (databases: Databases, world: World): Promise<void> =>
  databases.transaction(async (tx) => {
    await sql`delete from issues`.execute(tx);
    await sql`delete from epics`.execute(tx);
    await sql`delete from members`.execute(tx);
    await sql`delete from shares`.execute(tx);
    await sql`delete from projects`.execute(tx);
    await sql`delete from namespaces where kind = 'group'`.execute(tx);
    const groups = world.groups.map(({ parent, visibility }, at) => ({
      id: groupId(at),
      parent_id: parent === null ? null : groupId(parent),
      visibility,
    }));
    await sql`
      insert into namespaces (id, kind, parent_id, visibility, path, name)
      select id, 'group', parent_id, visibility, 'g' || id, 'g'
      from jsonb_to_recordset(${JSON.stringify(groups)}::jsonb) as g (id bigint, parent_id bigint, visibility smallint)
      order by id`.execute(tx);
    const projects = world.projects.map((project, at) => ({
      id: projectId(at),
      namespace_id: "group" in project ? groupId(project.group) : userId(project.user),
      visibility: project.visibility,
      access: project.access,
    }));
    await sql`
      insert into projects (id, namespace_id, visibility, ${sql.ref(COLUMN_OF[world.feature])}, path, name)
      select id, namespace_id, visibility, access, 'p' || id, 'p'
      from jsonb_to_recordset(${JSON.stringify(projects)}::jsonb)
        as p (id bigint, namespace_id bigint, visibility smallint, access text)`.execute(tx);
    const members = world.memberships.map(({ user, of, ...ending }) => ({
      user_id: userId(user),
      ...idOf(of),
      ...ending,
    }));
    await sql`
      insert into members (user_id, group_id, project_id, access_level, expires_at)
      select user_id, group_id, project_id, level, (now() at time zone 'UTC')::date + ends
      from jsonb_to_recordset(${JSON.stringify(members)}::jsonb)
        as m (user_id bigint, group_id bigint, project_id bigint, level smallint, ends integer)`.execute(tx);
    const shares = world.shares.map(({ of, with: other, ...ending }) => ({
      with_group_id: groupId(other),
      ...idOf(of),
      ...ending,
    }));
    await sql`
      insert into shares (with_group_id, group_id, project_id, access_level, expires_at)
      select with_group_id, group_id, project_id, level, (now() at time zone 'UTC')::date + ends
      from jsonb_to_recordset(${JSON.stringify(shares)}::jsonb)
        as s (with_group_id bigint, group_id bigint, project_id bigint, level smallint, ends integer)`.execute(tx);
    await buildItems(tx, world);
    const users = world.users.map((user, at) => ({ id: userId(at), ...user }));
    await sql`
      update users set admin = u.admin, external = u.external
      from jsonb_to_recordset(${JSON.stringify(users)}::jsonb) as u (id bigint, admin boolean, external boolean)
      where users.id = u.id`.execute(tx);
  });

/** Inserts the issues and epics of a world, after everything that they refer to. */
async function buildItems(tx: Tx, { items }: World) {
  const rows = items.map(({ of, confidential, author, assignee }, at) => ({
    ...{ id: itemId(at), ...idOf(of), confidential, author_id: userId(author) },
    assignee_id: assignee === null ? null : userId(assignee),
  }));
  const listed = sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as i (
    id bigint, project_id bigint, group_id bigint, confidential boolean, author_id bigint, assignee_id bigint)`;
  await sql`
    with made as (
      insert into issues (id, project_id, iid, title, confidential, author_id)
      select id, project_id, id, 'i', confidential, author_id from ${listed} where project_id is not null returning id
    )
    insert into issue_assignees (issue_id, user_id)
    select id, assignee_id from ${listed} join made using (id) where assignee_id is not null`.execute(tx);
  await sql`
    insert into epics (id, group_id, iid, title, confidential, author_id)
    select id, group_id, id, 'e', confidential, author_id from ${listed} where group_id is not null`.execute(tx);
}

const idOf = (place: Container) =>
  "group" in place ? { group_id: groupId(place.group) } : { project_id: projectId(place.project) };
