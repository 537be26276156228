import { sql } from "kysely";
import type { Databases } from "#db/database.ts";
import { type Lookup, texts } from "#db/loader.ts";
import { badRequest, forbidden, missing, moved } from "#lib/refusal.ts";
import { type Access, defineRule, USERS, USERS_AND_ANONYMOUS } from "./access.ts";
import { type Actor, actorOf, isAdministrator } from "./principal.ts";
import { type ResolvedPath, resolveNamespace, resolveProject } from "./paths.ts";
import { type Feature, FEATURE_COLUMNS, type FeatureLevels, FEATURES } from "./features.ts";
import { levelInGroup, levelInProject, ownMemberships, reachedNamespaces, sharedProjects } from "./levels.ts";
import { LEVELS, needsAdministrator, needsRole, type Role, roleName, VISIBILITIES } from "./roles.ts";
import type { Scope } from "./scopes.ts";

interface Container {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly visibility: number;
  /** By itself or by a group that it is in. */
  readonly archived: boolean;
  readonly marked_for_deletion_at: string | null;
  /** The namespaces it is in, root first; a group's own id is the last. */
  readonly traversal_ids: readonly number[];
  /** The caller's level by membership, 0 for none; administrators need none. */
  readonly level: number;
}

export interface ProjectSeen extends Container, FeatureLevels {
  readonly namespace_id: number;
  readonly namespace_kind: "user" | "group";
  readonly default_branch: string | null;
  readonly repository_id: number;
  readonly repository_storage: string;
  /** The path of its repository on that storage. */
  readonly repository_path: string;
}

export interface GroupSeen extends Container {
  readonly parent_id: number | null;
}

/**
 * Keys are `user:container`, so that the lookups of different callers share one statement. A container that does not
 * exist yields a row without an id, and its level is computed all the same: the time must not tell it from one that the
 * caller may not see.
 */
const asked = `
  (select key, split_part(key, ':', 1)::bigint as user_id, split_part(key, ':', 2)::bigint as id
   from unnest($1::text[]) key) asked`;
/** Whether the namespace `n`, or a group that it is in, is archived. */
export const archivedAbove = "exists (select from namespaces a where a.id = any(n.traversal_ids) and a.archived)";

/** The row of a key; a null id means that there is no such container. */
type Row<Thing> = (Thing | { readonly id: null }) & { readonly key: string };

const projectLookup: Lookup<string, Row<ProjectSeen>> = {
  text: `
    select asked.key, found.id, found.namespace_id, found.name, found.path, found.visibility,
      found.marked_for_deletion_at, n.traversal_ids, home.kind as namespace_kind,
      found.archived or ${archivedAbove} as archived, found.default_branch,
      r.id as repository_id, r.storage as repository_storage, r.disk_path as repository_path,
      ${FEATURE_COLUMNS.map((column) => `found.${column}`).join(", ")},
      ${levelInProject("asked.user_id")} as level
    from ${asked} left join projects found on found.id = asked.id left join namespaces home on home.id = found.namespace_id
      left join repositories r on r.project_id = found.id
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

const keyOf = (actor: Actor | null, id: number) => `${actor?.user.id ?? 0}:${id}`;

async function existing<Thing extends Container>(db: Databases, lookup: Lookup<string, Row<Thing>>, key: string) {
  const row = await db.point.load(lookup, key);
  return row?.id ? (row as Thing) : undefined;
}

/** Whether a caller who is not a member may see something of this visibility. */
export const openTo = (actor: Actor | null, visibility: number): boolean =>
  visibility === VISIBILITIES.public ||
  (visibility === VISIBILITIES.internal && actor !== null && !actor.user.external);

/** Finds a project by its id, if the caller may see it. */
export async function visibleProject(db: Databases, actor: Actor | null, id: number): Promise<ProjectSeen | undefined> {
  const project = await existing(db, projectLookup, keyOf(actor, id));
  if (!project) return undefined;
  return isAdministrator(actor) || project.level > 0 || openTo(actor, project.visibility) ? project : undefined;
}

/** Finds a project by its id for a deploy key, whatever the visibility. */
export const projectOfKey = (db: Databases, id: number): Promise<ProjectSeen | undefined> =>
  existing(db, projectLookup, keyOf(null, id));

/** Finds a group by its id, if the caller may see it. A member of anything inside a group sees the group as well. */
export async function visibleGroup(db: Databases, actor: Actor | null, id: number): Promise<GroupSeen | undefined> {
  const group = await existing(db, groupLookup, keyOf(actor, id));
  if (group && (isAdministrator(actor) || group.level > 0 || openTo(actor, group.visibility))) return group;
  return actor && (await hasSomethingIn(db, actor.user.id, id)) ? group : undefined;
}

// Not a point read: a user may belong to thousands of projects.
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
export const hasRole = (actor: Actor | null, { level }: { readonly level: number }, role: Role): boolean =>
  isAdministrator(actor) || level >= LEVELS[role];

/** Whether a caller who sees a project may use a feature of it; nobody may use a disabled one. */
export function mayUse(actor: Actor | null, project: ProjectSeen, feature: Feature): boolean {
  const { column, role } = FEATURES[feature];
  if (project[column] === "disabled") return false;
  return (project[column] === "enabled" && openTo(actor, project.visibility)) || hasRole(actor, project, role);
}

/** Refuses a caller who sees a project but may not use a feature of it. */
export function requireUse(actor: Actor | null, project: ProjectSeen, feature: Feature) {
  if (mayUse(actor, project, feature)) return;
  const { column, role } = FEATURES[feature];
  if (project[column] !== "disabled") throw needsRole(role, "project");
  throw forbidden(`The feature ${feature.replaceAll("_", " ")} of this project is switched off`);
}

/** `viewer` is anyone who may see it; the others are roles. */
type Need = "viewer" | Role;

interface Options {
  readonly scopes?: readonly Scope[];
  /** Whether a viewer must be signed in; a role always requires it. */
  readonly signedIn?: boolean;
  /** Refuses an archived container, which is read-only; for writes that change its content. */
  readonly unlessArchived?: true;
}

interface ProjectOptions extends Options {
  /** Also requires that the caller may use this feature, or all of several. */
  readonly feature?: Feature | readonly Feature[];
}

const featuresIn = (feature: ProjectOptions["feature"] = []): readonly Feature[] =>
  typeof feature === "string" ? [feature] : feature;

function ruleText(need: Need, thing: string, { signedIn, unlessArchived, feature }: ProjectOptions): string {
  const who = need === "viewer" ? `anyone ${signedIn ? "signed in " : ""}who may see` : `at least ${roleName(need)} of`;
  const names = featuresIn(feature).map((name) => name.replaceAll("_", " "));
  const use = names.length > 0 ? `, if they may use its ${names.join(" and ")}` : "";
  return `${who} the ${thing}${use}${unlessArchived ? ", unless it is archived" : ""}`;
}

/** The rule for one project, named by `:id` in the path as a number or a full path. */
export function inProject(
  need: "viewer",
  options?: ProjectOptions & { readonly signedIn?: false },
): Access<Seen<ProjectSeen, "project">>;
export function inProject(need: Need, options?: ProjectOptions): Access<SeenBy<ProjectSeen, "project">>;
export function inProject(need: Need, options: ProjectOptions = {}): Access<SeenBy<ProjectSeen, "project">> {
  const features = featuresIn(options.feature);
  return containerRule(need, options, "project", {
    resolve: resolveProject,
    visible: visibleProject,
    missing: () => missing("Project"),
    refuse(actor: Actor | null, project: ProjectSeen) {
      for (const feature of features) requireUse(actor, project, feature);
    },
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
    resolve: resolveNamespace,
    visible: visibleGroup,
    missing: () => missing("Group"),
  });
}

/** The same rule for administrators only; a container that others may see is 403 to them, and a hidden one 404. */
export const forAdministrators = <Granted extends { readonly actor: Actor }>(
  rule: Access<Granted>,
): Access<Granted> => ({
  ...rule,
  rule: "administrators",
  async check(caller) {
    const granted = await rule.check(caller);
    if (!isAdministrator(granted.actor)) throw needsAdministrator();
    return granted;
  },
});

/** The rule for a top-level group. */
export function inTopLevelGroup(role: Role, options: Options = {}): Access<SeenBy<GroupSeen, "group">> {
  const rule = inGroup(role, options);
  return {
    ...rule,
    rule: ruleText(role, "top-level group", options),
    async check(caller) {
      const granted = await rule.check(caller);
      if (granted.group.parent_id !== null) throw badRequest("Group is not a top-level group");
      return granted;
    },
  };
}

type Seen<Thing, Name extends string> = { readonly actor: Actor | null } & { readonly [N in Name]: Thing };
type SeenBy<Thing, Name extends string> = { readonly actor: Actor } & { readonly [N in Name]: Thing };

interface ContainerLookup<Thing extends Container> {
  resolve(db: Databases, idOrPath: string): Promise<ResolvedPath>;
  visible(db: Databases, actor: Actor | null, id: number): Promise<Thing | undefined>;
  missing(): Error;
  /** Refuses a caller who sees the container but may not use what the rule is about. */
  refuse?(actor: Actor | null, thing: Thing): void;
}

function containerRule<Thing extends Container, Name extends "project" | "group">(
  need: Need,
  options: Options,
  name: Name,
  lookup: ContainerLookup<Thing>,
): Access<SeenBy<Thing, Name>> {
  const signedIn = need !== "viewer" || options.signedIn === true;
  return defineRule({
    rule: ruleText(need, name, options),
    admits: signedIn ? USERS : USERS_AND_ANONYMOUS,
    scopes: options.scopes ?? [],
    async check({ db, principal, path }) {
      const actor = actorOf(principal);
      const resolved = await lookup.resolve(db, path["id"] ?? "");
      const thing = await lookup.visible(db, actor, resolved.id);
      if (!thing) throw lookup.missing();
      if (resolved.moved) throw moved("id", thing.id);
      lookup.refuse?.(actor, thing);
      if (need !== "viewer" && !hasRole(actor, thing, need)) throw needsRole(need, name);
      if (options.unlessArchived && thing.archived) throw forbidden(`The ${name} is archived`);
      return { actor, [name]: thing } as SeenBy<Thing, Name>;
    },
  });
}
