import { resolveProject } from "#access/paths.ts";
import { type Actor, actorOf, type Anonymous, type DeployKey, type Principal } from "#access/principal.ts";
import { type CodeNeed, codeProblem } from "#access/code.ts";
import { type ProjectSeen, projectOfKey, visibleProject } from "#access/containers.ts";
import type { Databases } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import type { Consumer } from "#lib/consumer.ts";
import { forbidden, Refusal } from "#lib/refusal.ts";
import { deployKeyIn } from "#domains/code/deploy-keys/queries.ts";
import type { RepositoryAccess } from "#domains/storage/pushes/access.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { readOnly } from "#domains/storage/repositories/read-only.ts";
import { storageLeft } from "#domains/storage/repositories/quota.ts";
import type { Services } from "#services.ts";

const noRepository = () => new Refusal("missing", "There is no repository at this address, or you may not see it.");

/**
 * What a principal wants of a repository. `receive` is the rest of a push whose refs were advertised: whether the
 * repository is read-only is decided when its intent is created, and reported with its refs.
 */
type RepositoryNeed = CodeNeed | "receive";

/** Authorizes access to the project at a current or previous full path, without `.git`. */
export async function authorizeByPath(
  services: Services,
  principal: Principal,
  path: string,
  need: CodeNeed,
  consumer: Consumer,
): Promise<RepositoryAccess> {
  return authorizeProject(services, principal, await projectAt(services.db, principal, path), need, consumer);
}

/** Finds the project at a full path; a hidden one is refused like a missing one. */
export async function projectAt(db: Databases, principal: Principal, path: string): Promise<ProjectSeen> {
  // Only the API accepts the id of a project in place of its path.
  const { id } = path.includes("/") ? await resolveProject(db, path) : { id: 0 };
  const project = await projectSeenBy(db, principal, id);
  if (!project) throw noRepository();
  return project;
}

/** Finds a project by id if the principal may see it at this moment. */
export async function projectSeenBy(db: Databases, principal: Principal, id: number): Promise<ProjectSeen | undefined> {
  if (isUserOrAnonymous(principal)) return visibleProject(db, actorOf(principal), id);
  return (await linkOf(db, principal, id)) && projectOfKey(db, id);
}

const isUserOrAnonymous = (principal: Principal): principal is Actor | Anonymous =>
  principal.kind === "anonymous" || "user" in principal;

const linkOf = (db: Databases, { key }: DeployKey, projectId: number) => deployKeyIn(db, key.id, projectId);

/** Authorizes access to a project that the principal may see: the one decision for HTTP, SSH and the API. */
export async function authorizeProject(
  services: Services,
  principal: Principal,
  project: ProjectSeen,
  need: RepositoryNeed,
  consumer: Consumer,
): Promise<RepositoryAccess> {
  await refuseAccess(services.db, principal, project, need);
  const maxInputBytes = need === "read" ? undefined : await storageLeft(services, project.id);
  const repository = await repositoryOf(services, project, consumer);
  return { principal, project, repository, ...(maxInputBytes !== undefined && { maxInputBytes }) };
}

/** Refuses a principal who sees a project but may not read or push its code at this moment. */
export async function refuseAccess(db: Databases, principal: Principal, project: ProjectSeen, need: RepositoryNeed) {
  await refuseCode(db, principal, project, need === "read" ? "read" : "push");
  if (need !== "read") await refuseUnlessPushable(db, project.id, need);
}

/** Checks the permissions of the principal, not the state of the repository. */
export async function refuseCode(db: Databases, principal: Principal, project: ProjectSeen, need: CodeNeed) {
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
