import { projectAddress } from "#access/addresses.ts";
import { type CodeNeed, codeProblem } from "#access/code.ts";
import { type ProjectSeen, projectOfKey, visibleProject } from "#access/containers.ts";
import type { Databases } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import type { Repository } from "#git/storages/storage.ts";
import type { Consumer } from "#lib/consumer.ts";
import { forbidden, Refusal } from "#lib/refusal.ts";
import { deployKeyIn } from "#resources/deploy-keys/queries.ts";
import type { Services } from "#services.ts";
import { actorOf, type GitCaller, type Reauthenticate } from "./caller.ts";
import { repositoryOf } from "./place.ts";
import { storageLeft } from "./quota.ts";

/** A repository that somebody was let to. */
export interface Opened {
  readonly caller: GitCaller;
  readonly project: ProjectSeen;
  readonly repository: Repository;
  /** The most that a push may bring, where less is left than any push may. */
  readonly maxInputBytes?: number;
}

/** A repository that somebody was let push to. Whether they still may is decided again before a ref changes. */
export interface PushAccess extends Opened {
  readonly reauthenticate: Reauthenticate;
}

const noRepository = () => new Refusal("missing", "There is no repository at this address, or you may not see it.");

/** Opens the repository of the project at a full path, of now or of before, written without `.git`. */
export async function openByPath(
  services: Services,
  caller: GitCaller,
  path: string,
  need: CodeNeed,
  consumer: Consumer,
): Promise<Opened> {
  return openProject(services, caller, await projectAt(services.db, caller, path), need, consumer);
}

/** The project at a full path, if the caller may see it; a hidden one is refused just as one that is not there. */
export async function projectAt(db: Databases, caller: GitCaller, path: string): Promise<ProjectSeen> {
  // Only the API takes a number for a project.
  const { id } = path.includes("/") ? await projectAddress(db, path) : { id: 0 };
  const project = await projectSeenBy(db, caller, id);
  if (!project) throw noRepository();
  return project;
}

/** A project by its id, if the caller may see it just now. */
export async function projectSeenBy(db: Databases, caller: GitCaller, id: number): Promise<ProjectSeen | undefined> {
  if (caller.kind !== "deploy key") return visibleProject(db, actorOf(caller), id);
  return (await deployKeyIn(db, caller.key.id, id)) && projectOfKey(db, id);
}

/** Opens the repository of a project that the caller may see: the one decision for HTTP, SSH and the API. */
export async function openProject(
  services: Services,
  caller: GitCaller,
  project: ProjectSeen,
  need: CodeNeed,
  consumer: Consumer,
): Promise<Opened> {
  await refuseAccess(services.db, caller, project, need);
  const maxInputBytes = need === "push" ? await storageLeft(services, project.id) : undefined;
  const repository = await repositoryOf(services, project, consumer);
  return { caller, project, repository, ...(maxInputBytes !== undefined && { maxInputBytes }) };
}

/** Refuses a caller who sees a project and may not do this with its code just now. */
export async function refuseAccess(db: Databases, caller: GitCaller, project: ProjectSeen, need: CodeNeed) {
  await refuseCode(db, caller, project, need);
  if (need === "push") await refuseChange(db, project.id);
}

/** The same by what the caller may do, whatever the state of the repository. */
export async function refuseCode(db: Databases, caller: GitCaller, project: ProjectSeen, need: CodeNeed) {
  const problem = await problemOf(db, caller, project, need);
  if (problem !== undefined) throw forbidden(problem);
}

async function problemOf(db: Databases, caller: GitCaller, project: ProjectSeen, need: CodeNeed) {
  if (caller.kind !== "deploy key") return codeProblem(need, actorOf(caller), project);
  const link = await deployKeyIn(db, caller.key.id, project.id);
  if (!link) throw noRepository();
  if (project.code_access === "disabled") return codeProblem(need, null, project);
  if (need === "read") return undefined;
  if (!link.can_push) return "This deploy key is only for reading";
  return project.archived ? "The project is archived" : undefined;
}

interface Changeable {
  readonly id: number;
  readonly ending: boolean;
  readonly read_only: boolean;
}

const changeable: Lookup<number, Changeable> = {
  text: `
    select p.id, coalesce(r.read_only_until > now(), false) as read_only,
      p.marked_for_deletion_at is not null or exists (
        select from namespaces a where a.id = any(n.traversal_ids) and a.marked_for_deletion_at is not null) as ending
    from projects p join namespaces n on n.id = p.namespace_id left join repositories r on r.project_id = p.id
    where p.id = any($1::bigint[])`,
  keys: bigints,
  key: (row) => row.id,
};

async function refuseChange(db: Databases, projectId: number) {
  const found = await db.point.load(changeable, projectId);
  if (!found) throw noRepository();
  if (found.ending) throw forbidden("The project is marked for deletion");
  if (found.read_only) {
    throw new Refusal("forbidden", "The repository is temporarily read-only. Please try again later.");
  }
}
