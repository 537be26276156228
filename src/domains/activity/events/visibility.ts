import { type RawBuilder, sql } from "kysely";
import { mayUse, hasRole, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { groupVisibleTo, visibleTo } from "#access/visible.ts";
import { ACTIONS } from "#domains/foundation/events/record.ts";
import { epicsSeenIn, isOpenOrOwn, issuesSeenIn } from "#domains/planning/items/visibility.ts";
import { SEES_CONFIDENTIAL } from "#domains/conversation/notes/visibility.ts";

type Condition = RawBuilder<boolean>;

/** What an actor may see of a project or group. */
interface Rights {
  readonly project: Condition;
  readonly repository: Condition;
  readonly issues: Condition;
  readonly milestones: Condition;
  readonly mergeRequests: Condition;
  readonly epics: Condition;
  /** Confidential items and internal comments too. */
  readonly confidential: Condition;
}

/** The rights in a project that is known. */
export function rightsInProject(actor: Actor, project: ProjectSeen): Rights {
  const issues: Condition = sql.lit(mayUse(actor, project, "issues"));
  return {
    project: sql.lit(true),
    repository: sql.lit(mayUse(actor, project, "repository")),
    issues,
    milestones: issues,
    mergeRequests: sql.lit(mayUse(actor, project, "merge_requests")),
    epics: sql.lit(false),
    confidential: sql.lit(hasRole(actor, project, SEES_CONFIDENTIAL)),
  };
}

/** The rights that a row of `may` has. */
export const LOOKED_UP: Rights = {
  project: sql`may.project`,
  repository: sql`may.repository`,
  issues: sql`may.issues`,
  milestones: sql`may.milestones`,
  mergeRequests: sql`may.merge_requests`,
  epics: sql`may.epics`,
  confidential: sql`may.confidential`,
};

/**
 * The rights in the project of a row, as `may`: for a lateral join, because PostgreSQL keeps what it looked up for a
 * project. The offset keeps it from looking them up anew in every condition.
 */
export const rightsByProject = (actor: Actor, projectId: string) =>
  sql`lateral (${projectRights(actor, projectId)} offset 0)`.as("may");

/** The same for rows that are of a project or of a group. */
export const rightsByContainer = (actor: Actor, projectId: string, groupId: string) =>
  sql`lateral (${projectRights(actor, projectId)} union all ${groupRights(actor, groupId)} offset 0)`.as("may");

function projectRights(actor: Actor, id: string) {
  const { issues, confidential } = issuesSeenIn(actor);
  return sql`
    select ${visibleTo(actor)} as project, ${visibleTo(actor, { feature: "repository" })} as repository,
      ${issues} as issues, ${issues} as milestones,
      ${visibleTo(actor, { feature: "merge_requests" })} as merge_requests, false as epics,
      ${confidential} as confidential
    from projects p where p.id = ${sql.ref(id)}`;
}

function groupRights(actor: Actor, id: string) {
  const { epics, confidential } = epicsSeenIn(actor);
  return sql`
    select false, false, false, ${groupVisibleTo(actor)}, false, ${epics}, ${confidential}
    from namespaces n where n.id = ${sql.ref(id)} and n.kind = 'group'`;
}

/** Whether an actor may see what the row of `events as ev` is about. What was deleted is seen by nobody. */
export const isVisible = (
  actor: Actor,
  { project, repository, issues, milestones, mergeRequests, epics, confidential }: Rights,
): Condition => sql`case
  when ev.action = ${sql.lit(ACTIONS.pushed)} then ${repository}
  when ev.target_type is null then ${project}
  when ev.target_type = 'Issue' then ${issues} and exists (
    select from issues i where i.id = ev.target_id and (${isOpenOrOwn(actor)} or ${confidential}))
  when ev.target_type = 'MergeRequest' then ${mergeRequests} and exists (
    select from merge_requests mr where mr.id = ev.target_id)
  when ev.target_type = 'Epic' then ${epics} and exists (
    select from epics e where e.id = ev.target_id and (not e.confidential or ${confidential}))
  when ev.target_type = 'Milestone' then ${milestones} and (ev.action = ${sql.lit(ACTIONS.destroyed)}
    or exists (select from milestones m where m.id = ev.target_id))
  when ev.target_type = 'Note' then exists (
    select from notes note left join issues i on i.id = note.issue_id left join epics e on e.id = note.epic_id
    where note.id = ev.target_id and case
      when note.merge_request_id is not null then ${mergeRequests} and (not note.internal or ${confidential})
      when e.id is not null then ${epics} and ((not e.confidential and not note.internal) or ${confidential})
      when i.id is not null then ${issues} and ((${isOpenOrOwn(actor)} and not note.internal) or ${confidential})
      else false end)
  else false
end`;
