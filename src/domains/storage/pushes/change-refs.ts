import { createInterface } from "node:readline";
import { isCreation, isRemoval, type RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";
import type { AuditEntry } from "#http/audit.ts";
import { conflict, forbidden, unavailable } from "#lib/refusal.ts";
import { readOnly } from "#domains/storage/repositories/read-only.ts";
import type { Services } from "#services.ts";
import { dropIntent, createIntent, abandonIntent } from "./intents.ts";
import type { PushAccess, RepositoryAccess } from "./access.ts";
import { forwardOnly, refusedChanges } from "./rules.ts";
import { isAncestor, completePush } from "./reconcile.ts";

/**
 * Points refs to objects that are already in the repository, all or none, under the rules of a push and recorded as
 * one. Refused if a ref is no longer at its old id.
 */
export async function changeRefs(
  services: Services,
  access: PushAccess,
  changes: readonly RefChange[],
  audit: AuditEntry | null = null,
): Promise<void> {
  const { repository } = access;
  await refuseChanges(access, changes);
  const intent = await createIntent(services, access, changes, audit);
  if (!intent) throw readOnly();
  try {
    const outcome = await updateRefs(repository, changes, () => access.reauthorize(changes)).catch(
      async (error: unknown) => {
        await dropIntent(services.db.write, intent.id);
        throw error;
      },
    );
    if (outcome === "unchanged") {
      await dropIntent(services.db.write, intent.id);
      await repository.unlock(changes.map(({ ref }) => ref));
      throw conflict("409 Conflict - somebody else changed it meanwhile, or another name is in the way of its name");
    }
    if (outcome === "unknown") {
      await abandonIntent(services.db.write, intent.id);
      throw unavailable();
    }
    await completePush(services, { intent, repository, done: changes });
  } finally {
    intent.releaseLease();
  }
}

/** No hook runs here, so this checks the rules of the hook too. */
async function refuseChanges(access: RepositoryAccess, changes: readonly RefChange[]) {
  const [reason] = refusedChanges(access, changes).values();
  if (reason !== undefined) throw forbidden(reason);
  const protectedRefs = new Set(forwardOnly(access, changes));
  for (const change of changes) {
    if (!protectedRefs.has(change.ref) || isCreation(change) || isRemoval(change)) continue;
    if (!(await isAncestor(access.repository, change.oldId, change.newId))) {
      throw forbidden("you are not allowed to force push to the default branch");
    }
  }
}

/**
 * Changes refs in one transaction of git, which `confirm` approves while git holds their locks. Throws only if nothing
 * changed.
 */
async function updateRefs(repository: Repository, changes: readonly RefChange[], confirm: () => Promise<void>) {
  const git = await repository.run({ command: "update-ref", options: ["--stdin"], interactive: true });
  const updates = changes.map(({ ref, oldId, newId }) => `update ${ref} ${newId} ${oldId}\n`);
  git.input.write(["start\n", ...updates, "prepare\n"].join(""));
  const lines = createInterface({ input: git.output })[Symbol.asyncIterator]();
  const waitFor = async (expected: string) => {
    for (;;) {
      const { done, value } = await lines.next();
      if (done || value === expected) return !done;
    }
  };
  if (!(await waitFor("prepare: ok"))) {
    await git.ended.catch(() => {});
    return "unchanged";
  }
  try {
    await confirm();
  } catch (error) {
    git.input.end("abort\n");
    await git.ended.catch(() => {});
    throw error;
  }
  git.input.end("commit\n");
  // Git may have died in the middle of the commit.
  const outcome = (await waitFor("commit: ok")) ? "changed" : "unknown";
  await git.ended.catch(() => {});
  return outcome;
}
