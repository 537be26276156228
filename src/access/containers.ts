import { sql } from "kysely";
import type { Databases } from "#db/database.ts";
import { type Lookup, texts } from "#db/loader.ts";
import { badRequest, forbidden, missing, moved } from "#lib/refusal.ts";
import { type Access, type Caller, requireActor } from "./access.ts";
import { type Actor, isAdministrator, type Somebody } from "./actor.ts";
import { type Address, namespaceAddress, projectAddress } from "./addresses.ts";
import { levelInGroup, levelInProject, ownMemberships, reachedNamespaces, sharedProjects } from "./levels.ts";
import { LEVELS, type Role, VISIBILITIES } from "./roles.ts";
import type { Scope } from "./scopes.ts";

interface Container {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly visibility: number;
  /** Whether it, or a group that it is in, was put away. */
  readonly archived: boolean;
  readonly marked_for_deletion_at: string | null;
  /** The namespaces it is in, root first; a group's own id is the last. */
  readonly traversal_ids: readonly number[];
  /** The caller's level by membership, 0 for none; administrators need none. */
  readonly level: number;
}

export interface ProjectSeen extends Container {
  readonly namespace_id: number;
  readonly namespace_kind: "user" | "group";
  /** Who its code is for: nobody, its members, or whoever sees it. */
  readonly code_access: "disabled" | "private" | "enabled";
  readonly default_branch: string | null;
  readonly repository_storage: string;
}

export interface GroupSeen extends Container {
  readonly parent_id: number | null;
}

/**
 * Keys are `user:container`, so that what is asked for together is read together, whoever asks. What does not exist
 * gives a row without an id, for which levels are looked up all the same: how long it takes must not tell it from what
 * the caller may not see.
 */
const asked = `
  (select key, split_part(key, ':', 1)::bigint as user_id, split_part(key, ':', 2)::bigint as id
   from unnest($1::text[]) key) asked`;
/** Whether the namespace `n`, or a group that it is in, was put away. */
export const archivedAbove = "exists (select from namespaces a where a.id = any(n.traversal_ids) and a.archived)";

/** A row for a key, of which only the key counts where the id is null. */
type Row<Thing> = (Thing | { readonly id: null }) & { readonly key: string };

const projectLookup: Lookup<string, Row<ProjectSeen>> = {
  text: `
    select asked.key, found.id, found.namespace_id, found.name, found.path, found.visibility,
      found.marked_for_deletion_at, n.traversal_ids, home.kind as namespace_kind,
      found.archived or ${archivedAbove} as archived, found.default_branch, found.repository_storage,
      coalesce(found.preferences->>'repository_access_level', 'enabled') as code_access,
      ${levelInProject("asked.user_id")} as level
    from ${asked} left join projects found on found.id = asked.id left join namespaces home on home.id = found.namespace_id
    cross join lateral (select coalesce(found.id, 0) as id) p
    cross join lateral (
      select coalesce(home.id, 0) as id, coalesce(home.traversal_ids, '{0}') as traversal_ids) n`,
  keys: texts,
  key: (row) => row.key,
};

const groupLookup: Lookup<string, Row<GroupSeen>> = {
  text: `
    select asked.key, found.id, found.parent_id, found.name, found.path, found.visibility,
      found.marked_for_deletion_at, n.traversal_ids, ${archivedAbove} as archived,
      ${levelInGroup("asked.user_id")} as level
    from ${asked} left join namespaces found on found.id = asked.id and found.kind = 'group'
    cross join lateral (
      select coalesce(found.id, 0) as id, coalesce(found.traversal_ids, '{0}') as traversal_ids) n`,
  keys: texts,
  key: (row) => row.key,
};

const keyOf = (actor: Somebody | null, id: number) => `${actor?.user.id ?? 0}:${id}`;

async function existing<Thing extends Container>(db: Databases, lookup: Lookup<string, Row<Thing>>, key: string) {
  const row = await db.point.load(lookup, key);
  return row?.id ? (row as Thing) : undefined;
}

/** Whether a thing of this visibility is open to someone who is no member. */
export const openTo = (actor: Somebody | null, visibility: number): boolean =>
  visibility === VISIBILITIES.public ||
  (visibility === VISIBILITIES.internal && actor !== null && !actor.user.external);

/** A project by its id, if the caller may see it. */
export async function visibleProject(
  db: Databases,
  actor: Somebody | null,
  id: number,
): Promise<ProjectSeen | undefined> {
  const project = await existing(db, projectLookup, keyOf(actor, id));
  if (!project) return undefined;
  return isAdministrator(actor) || project.level > 0 || openTo(actor, project.visibility) ? project : undefined;
}

/** A project by its id, for a key that opens it whatever its visibility. */
export const projectOfKey = (db: Databases, id: number): Promise<ProjectSeen | undefined> =>
  existing(db, projectLookup, keyOf(null, id));

/** A group by its id, if the caller may see it. Whoever belongs to something in a group sees the group as well. */
export async function visibleGroup(db: Databases, actor: Somebody | null, id: number): Promise<GroupSeen | undefined> {
  const group = await existing(db, groupLookup, keyOf(actor, id));
  if (group && (isAdministrator(actor) || group.level > 0 || openTo(actor, group.visibility))) return group;
  return actor && (await hasSomethingIn(db, actor.user.id, id)) ? group : undefined;
}

// Not a point read: someone may belong to thousands of projects.
async function hasSomethingIn(db: Databases, userId: number, groupId: number): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (
      select from (
        select id from (${reachedNamespaces(userId)}) reached
        union all
        select p.namespace_id from (
          select id from (${ownMemberships(userId)}) own union all select id from (${sharedProjects(userId)}) shared
        ) projects_of join projects p on p.id = projects_of.id
      ) places join namespaces n on n.id = places.id
      where ${groupId} = any(n.traversal_ids)
    ) as found`.execute(db.write);
  return rows[0]?.found === true;
}

/** Whether the caller has a role by membership; administrators have every role. */
export const hasRole = (actor: Somebody | null, { level }: { readonly level: number }, role: Role): boolean =>
  isAdministrator(actor) || level >= LEVELS[role];

/** `viewer` is anyone who may see it; the others are roles. */
type Need = "viewer" | Role;

interface Options {
  readonly scopes?: readonly Scope[];
  /** With true a viewer must be signed in; a role always must. */
  readonly signedIn?: boolean;
  /** What is archived is only read: a rule for a write that would change its content says so. */
  readonly unlessArchived?: true;
}

function words(need: Need, thing: string, { signedIn, unlessArchived }: Options): string {
  const who = need === "viewer" ? `anyone ${signedIn ? "signed in " : ""}who may see` : `at least ${title(need)} of`;
  return `${who} the ${thing}${unlessArchived ? ", unless it is archived" : ""}`;
}

const title = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** The rule for one project, named by `:id` in the path as a number or a full path. */
export function inProject(
  need: "viewer",
  options?: Options & { readonly signedIn?: false },
): Access<Seen<ProjectSeen, "project">>;
export function inProject(need: Need, options?: Options): Access<SeenBy<ProjectSeen, "project">>;
export function inProject(need: Need, options: Options = {}): Access<SeenBy<ProjectSeen, "project">> {
  return containerRule(need, options, "project", {
    address: projectAddress,
    visible: visibleProject,
    missing: () => missing("Project"),
  });
}

/** The rule for one group, named by `:id` in the path as a number or a full path. */
export function inGroup(
  need: "viewer",
  options?: Options & { readonly signedIn?: false },
): Access<Seen<GroupSeen, "group">>;
export function inGroup(need: Need, options?: Options): Access<SeenBy<GroupSeen, "group">>;
export function inGroup(need: Need, options: Options = {}): Access<SeenBy<GroupSeen, "group">> {
  return containerRule(need, options, "group", {
    address: namespaceAddress,
    visible: visibleGroup,
    missing: () => missing("Group"),
  });
}

/** The rule for a group that is in no other. */
export function inTopLevelGroup(role: Role, options: Options = {}): Access<SeenBy<GroupSeen, "group">> {
  const rule = inGroup(role, options);
  return {
    ...rule,
    rule: words(role, "top-level group", options),
    async check(caller) {
      const granted = await rule.check(caller);
      if (granted.group.parent_id !== null) throw badRequest("Group is not a top-level group");
      return granted;
    },
  };
}

type Seen<Thing, Name extends string> = { readonly actor: Actor | null } & { readonly [N in Name]: Thing };
type SeenBy<Thing, Name extends string> = { readonly actor: Actor } & { readonly [N in Name]: Thing };

interface Finding<Thing extends Container> {
  address(db: Databases, idOrPath: string): Promise<Address>;
  visible(db: Databases, actor: Actor | null, id: number): Promise<Thing | undefined>;
  missing(): Error;
}

function containerRule<Thing extends Container, Name extends string>(
  need: Need,
  options: Options,
  name: Name,
  finding: Finding<Thing>,
): Access<SeenBy<Thing, Name>> {
  const signedIn = need !== "viewer" || options.signedIn === true;
  return {
    rule: words(need, name, options),
    signedIn,
    scopes: options.scopes ?? [],
    async check({ db, actor, path }: Caller) {
      if (signedIn) requireActor(actor);
      const address = await finding.address(db, path["id"] ?? "");
      const thing = await finding.visible(db, actor, address.id);
      if (!thing) throw finding.missing();
      if (address.moved) throw moved("id", thing.id);
      if (need !== "viewer" && !hasRole(actor, thing, need)) throw forbidden();
      if (options.unlessArchived && thing.archived) throw forbidden(`The ${name} is archived`);
      return { actor, [name]: thing } as SeenBy<Thing, Name>;
    },
  };
}
