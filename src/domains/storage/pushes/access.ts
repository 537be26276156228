import type { Principal } from "#access/principal.ts";
import type { ProjectSeen } from "#access/containers.ts";
import type { RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";

/** A principal's permission to use the repository of a project. */
export interface RepositoryAccess {
  readonly principal: Principal;
  readonly project: ProjectSeen;
  readonly repository: Repository;
  /** The bytes that a push may send, if the quota leaves less than the limit for every push. */
  readonly maxInputBytes?: number;
}

/** The permission to push. */
export interface PushAccess extends RepositoryAccess {
  /** Checks again, right before refs change, that the principal may make these changes; throws a Refusal if not. */
  reauthorize(changes: readonly RefChange[]): Promise<void>;
}
