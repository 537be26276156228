import { type RawBuilder, sql } from "kysely";
import { type GroupSeen, hasRole, openTo, type ProjectSeen } from "#access/containers.ts";
import { type Feature, FEATURES } from "#access/features.ts";
import { levelInProject, reachedNamespaces } from "#access/levels.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { LEVELS, type Role, VISIBILITIES } from "#access/roles.ts";
import { belongsTo, visibleTo } from "#access/visible.ts";
import { SEES_CONFIDENTIAL } from "#domains/conversation/notes/visibility.ts";

/** Whether the row of `issues as i` is the actor's own matter: written by or assigned to them. */
const isOwnIssue = (actor: Actor): RawBuilder<boolean> => sql`(i.author_id = ${actor.user.id}
  or exists (select from issue_assignees own where own.issue_id = i.id and own.user_id = ${actor.user.id}))`;

interface IssuesSeen {
  /** Whether an actor may see the issues of `projects as p` that are not confidential, and all others. */
  readonly issues: RawBuilder<boolean>;
  readonly confidential: RawBuilder<boolean>;
}

export function issuesSeenIn(actor: Actor | null): IssuesSeen {
  const issues = visibleTo(actor, { feature: "issues" });
  if (isAdministrator(actor)) return { issues, confidential: sql`true` };
  return { issues, confidential: actor ? belongsTo(actor.user.id, LEVELS[SEES_CONFIDENTIAL]) : sql`false` };
}

/** Whether the row of `issues as i` is not confidential, or is the actor's own. */
export const isOpenOrOwn = (actor: Actor | null): RawBuilder<boolean> =>
  actor ? sql`(not i.confidential or ${isOwnIssue(actor)})` : sql`not i.confidential`;

/**
 * Whether an actor may see the row of `issues as i` in `projects as p`: the one condition for every list, link, event
 * and count over many projects. `issueVisibleIn` is the same for one project that the actor may use.
 */
export function issueVisibleTo(actor: Actor | null): RawBuilder<boolean> {
  const { issues, confidential } = issuesSeenIn(actor);
  if (isAdministrator(actor)) return issues;
  return sql`(${issues} and (${isOpenOrOwn(actor)} or ${confidential}))`;
}

export function issueVisibleIn(project: ProjectSeen, actor: Actor | null): RawBuilder<boolean> {
  return hasRole(actor, project, SEES_CONFIDENTIAL) ? sql`true` : isOpenOrOwn(actor);
}

/** Whether an actor may see the other issue or epic that the row of `notes as note` names, if it names one. */
export const isNamedVisible = (actor: Actor | null): RawBuilder<boolean> => sql`(note.other_issue_id is null or exists (
    select from issues i join projects p on p.id = i.project_id
    where i.id = note.other_issue_id and ${issueVisibleTo(actor)}))
  and (note.other_epic_id is null or exists (
    select from epics e join namespaces n on n.id = e.group_id
    where e.id = note.other_epic_id and ${epicVisibleTo(actor)}))`;

interface EpicsSeen {
  /** Whether an actor may see the epics of `namespaces as n` that are not confidential, and the others. */
  readonly epics: RawBuilder<boolean>;
  readonly confidential: RawBuilder<boolean>;
}

/** Members of a subgroup see the groups above it, but not their epics. */
export function epicsSeenIn(actor: Actor | null): EpicsSeen {
  if (isAdministrator(actor)) return { epics: sql`true`, confidential: sql`true` };
  const visibilities = Object.values(VISIBILITIES).filter((value) => openTo(actor, value));
  const open = sql<boolean>`n.visibility in (${sql.raw(visibilities.join(", "))})`;
  if (!actor) return { epics: open, confidential: sql`false` };
  return {
    epics: sql`(${open} or ${hasRoleInGroup(actor, "guest")})`,
    confidential: hasRoleInGroup(actor, SEES_CONFIDENTIAL),
  };
}

/** Whether an actor has a role in the row of `namespaces as n`, by membership or as an administrator. */
export const hasRoleInGroup = (actor: Actor, role: Role): RawBuilder<boolean> =>
  isAdministrator(actor)
    ? sql`true`
    : sql`n.id in (select id from (${reachedNamespaces(actor.user.id, LEVELS[role])}) reached)`;

/** Whether an actor may see the row of `epics as e` in `namespaces as n`. */
export function epicVisibleTo(actor: Actor | null): RawBuilder<boolean> {
  const { epics, confidential } = epicsSeenIn(actor);
  return sql`(${epics} and (not e.confidential or ${confidential}))`;
}

/** The same for one group that the actor may see. */
export function epicVisibleIn(group: GroupSeen, actor: Actor | null): RawBuilder<boolean> {
  if (hasRole(actor, group, SEES_CONFIDENTIAL)) return sql`true`;
  return openTo(actor, group.visibility) || hasRole(actor, group, "guest") ? sql`not e.confidential` : sql`false`;
}

const openToUser = (container: "p" | "n") => sql<boolean>`${sql.ref(`${container}.visibility`)} >= case
  when u.external then ${sql.lit(VISIBILITIES.public)} else ${sql.lit(VISIBILITIES.internal)} end`;

/**
 * Whether the row of `users as u` may use a feature of `projects as p` in `namespaces as n`: `visibleTo` for statements
 * about several people at once.
 */
export function usableByUser(feature: Feature): RawBuilder<boolean> {
  const { column, role } = FEATURES[feature];
  const access = sql.ref(`p.${column}`);
  return sql`(${access} <> 'disabled' and (u.admin or (${access} = 'enabled' and ${openToUser("p")})
    or ${sql.raw(levelInProject("u.id"))} >= ${sql.lit(LEVELS[role])}))`;
}

/** Whether the row of `users as u` may see the group `namespaces as n` without being a member. */
export const groupOpenToUser: RawBuilder<boolean> = openToUser("n");
