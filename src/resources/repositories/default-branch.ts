import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { isCreation, type RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";

/** What histories from elsewhere call the branch that is looked at first. */
const USUAL = ["main", "master"];

/**
 * The branch that becomes the default one because the one that should be is not there: who pushes to an empty
 * repository need not know what it expects. Undefined if nothing changes.
 */
export async function wantedDefaultBranch(
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
  return USUAL.find((name) => made.includes(name)) ?? made[0];
}

/** Makes a branch the default one, unless the project has got another one meanwhile. */
export async function adoptDefaultBranch(
  tx: Tx,
  repository: Repository,
  project: { readonly id: number; readonly default_branch: string | null },
  branch: string,
) {
  const { numAffectedRows } = await sql`
    update projects set default_branch = ${branch}
    where id = ${project.id} and default_branch is not distinct from ${project.default_branch}::text`.execute(tx);
  // Inside the transaction, so that of two who do this the one that counts is the one that git hears last.
  if (numAffectedRows === 1n) await repository.setHead(branch);
}
