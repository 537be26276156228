import { type CodeNeed, codeProblem } from "#access/code.ts";
import { hasRole, type ProjectSeen, projectOfKey, visibleProject } from "#access/containers.ts";
import { actorOf, isUserOrAnonymous, type Principal } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import { forbidden } from "#lib/refusal.ts";
import { deployKeyIn } from "#domains/code/deploy-keys/queries.ts";
import type { Owned, OwnerKind } from "#domains/storage/pushes/access.ts";
import { storageLeft } from "#domains/storage/repositories/quota.ts";
import { readOnly } from "#domains/storage/repositories/read-only.ts";
import { noRepository } from "./authorize.ts";

/** The project as the audit target of a write to its code. */
export const targetOf = ({ id, name }: ProjectSeen) =>
  ({ type: "Project", id, name, entity: { type: "Project", id } }) as const;

/** Projects, as what repositories belong to. */
const PROJECT: OwnerKind<ProjectSeen> = {
  type: "Project",
  logged: "project_id",
  find: projectSeenBy,
  async refuse(db, principal, project, need) {
    await refuseCode(db, principal, project, need === "read" ? "read" : "push");
    if (need !== "read") await refuseUnlessPushable(db, project.id, need);
  },
  maxInputBytes: (services, { id }) => storageLeft(services, "projects", id),
  // A deploy key never exceeds Developer.
  mayRewrite: (principal, project) => hasRole(actorOf(principal), project, "maintainer"),
  auditTarget: targetOf,
};

export const ofProject = (project: ProjectSeen): Owned => ({ kind: PROJECT, owner: project });

/** Finds a project by id if the principal may see it at this moment. */
export async function projectSeenBy(db: Databases, principal: Principal, id: number): Promise<ProjectSeen | undefined> {
  if (isUserOrAnonymous(principal)) return visibleProject(db, actorOf(principal), id);
  return (await linkOf(db, principal, id)) && projectOfKey(db, id);
}

/** How a project enabled a deploy key; no other credential opens a project without its user. */
const linkOf = async (db: Databases, principal: Principal, projectId: number) =>
  principal.kind === "deploy key" ? deployKeyIn(db, principal.key.id, projectId) : undefined;

/** Checks the permissions of the principal, not the state of the repository. */
async function refuseCode(db: Databases, principal: Principal, project: ProjectSeen, need: CodeNeed) {
  const problem = await problemOf(db, principal, project, need);
  if (problem !== undefined) throw forbidden(problem);
}

async function problemOf(db: Databases, principal: Principal, project: ProjectSeen, need: CodeNeed) {
  if (isUserOrAnonymous(principal)) return codeProblem(need, actorOf(principal), project);
  const link = await linkOf(db, principal, project.id);
  if (!link) throw noRepository();
  if (project.repository_access_level === "disabled") return codeProblem(need, null, project);
  if (need === "read") return undefined;
  if (!link.can_push) return "This deploy key is only for reading";
  return project.archived ? "The project is archived" : undefined;
}

interface PushableState {
  readonly id: number;
  readonly pending_deletion: boolean;
  readonly read_only: boolean;
}

const pushableStates: Lookup<number, PushableState> = {
  text: `
    select p.id, coalesce(r.read_only_until > now(), false) as read_only,
      p.marked_for_deletion_at is not null or exists (
        select from namespaces a where a.id = any(n.traversal_ids) and a.marked_for_deletion_at is not null) as pending_deletion
    from projects p join namespaces n on n.id = p.namespace_id left join repositories r on r.project_id = p.id
    where p.id = any($1::bigint[])`,
  keys: bigints,
  key: (row) => row.id,
};

async function refuseUnlessPushable(db: Databases, projectId: number, need: "push" | "receive") {
  const found = await db.point.load(pushableStates, projectId);
  if (!found) throw noRepository();
  if (found.pending_deletion) throw forbidden("The project is marked for deletion");
  if (found.read_only && need === "push") throw readOnly();
}
