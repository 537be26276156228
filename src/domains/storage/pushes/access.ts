import type { CodeNeed } from "#access/code.ts";
import type { Principal } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import type { RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";
import type { AuditTarget } from "#http/endpoint.ts";
import type { StorageLocation } from "#domains/storage/repositories/location.ts";
import type { Services } from "#services.ts";

/**
 * What a principal wants of a repository. `receive` is the rest of a push whose refs were advertised: whether the
 * repository is read-only is decided when its intent is created, and reported with its refs.
 */
export type RepositoryNeed = CodeNeed | "receive";

/** What a repository belongs to, such as a project. */
export interface RepositoryOwner extends StorageLocation {
  readonly id: number;
}

/** What fetches and pushes need to know of one kind of owner. */
export interface OwnerKind<Owner extends RepositoryOwner = RepositoryOwner> {
  readonly type: "Project" | "Snippet" | "Group";
  /** The name of its id in the log. */
  readonly logged: "project_id" | "snippet_id" | "group_id";
  /** Finds one by id if the principal may see it at this moment. */
  find(db: Databases, principal: Principal, id: number): Promise<Owner | undefined>;
  /** Refuses a principal who sees it but may not use its repository at this moment. */
  refuse(db: Databases, principal: Principal, owner: Owner, need: RepositoryNeed): Promise<void>;
  /** The bytes that a push may send, if that is less than the limit for every push. */
  maxInputBytes(services: Services, owner: Owner): Promise<number | undefined>;
  /** Whether a principal may rewrite or delete the default branch. */
  mayRewrite(principal: Principal, owner: Owner): boolean;
  /** Why nobody may make a change, besides what holds for every repository. */
  problemOf?(change: RefChange): string | undefined;
  auditTarget(owner: Owner): AuditTarget;
}

/** An owner with its kind. */
export interface Owned {
  readonly kind: OwnerKind;
  readonly owner: RepositoryOwner;
}

/** A principal's permission to use a repository. */
export interface RepositoryAccess extends Owned {
  readonly principal: Principal;
  readonly repository: Repository;
  /** The bytes that a push may send, if the quota leaves less than the limit for every push. */
  readonly maxInputBytes?: number;
}

/** The permission to push. */
export interface PushAccess extends RepositoryAccess {
  /** Checks again, right before refs change, that the principal may make these changes; throws a Refusal if not. */
  reauthorize(changes: readonly RefChange[]): Promise<void>;
}
