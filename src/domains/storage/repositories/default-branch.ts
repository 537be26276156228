import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { isCreation, type RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";

/** The usual names of default branches, preferred in this order. */
const USUAL_NAMES = ["main", "master"];

/**
 * Returns the new default branch if the current one does not exist: a client that pushes to an empty repository need
 * not know which name it expects. Returns undefined if nothing changes.
 */
export async function newDefaultBranch(
  repository: Repository,
  current: string | null,
  done: readonly RefChange[],
): Promise<string | undefined> {
  const made = done.flatMap((change) =>
    isCreation(change) && change.ref.startsWith("refs/heads/") ? change.ref.slice("refs/heads/".length) : [],
  );
  if (made.length === 0) return undefined;
  if (current !== null && (made.includes(current) || (await repository.objects.info(`refs/heads/${current}`)))) {
    return undefined;
  }
  return USUAL_NAMES.find((name) => made.includes(name)) ?? made[0];
}

/** Makes a branch the default one, unless the default changed meanwhile. */
export async function adoptDefaultBranch(
  tx: Tx,
  repository: Repository,
  project: { readonly project_id: number; readonly default_branch: string | null },
  branch: string,
) {
  const { numAffectedRows } = await sql`
    update projects set default_branch = ${branch}
    where id = ${project.project_id} and default_branch is not distinct from ${project.default_branch}::text`.execute(
    tx,
  );
  // Inside the transaction, whose row lock orders concurrent changes: the last to commit is the last to set HEAD.
  if (numAffectedRows === 1n) await repository.setHead(branch);
}
