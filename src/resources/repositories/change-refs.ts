import { collect } from "#git/process.ts";
import { isCreation, isRemoval, type RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";
import { conflict, forbidden, unavailable } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { dropIntent, holdIntent, leaveIntent } from "./intents.ts";
import type { Opened } from "./opening.ts";
import { forwardOnly, refusedChanges } from "./rules.ts";
import { isAncestor, settle } from "./settling.ts";

/**
 * Changes refs to objects that are in the repository already, all of them or none, by the rules of a push and told as
 * one. Refused too if one of them is not where it is said to be.
 */
export async function changeRefs(services: Services, opened: Opened, changes: readonly RefChange[]): Promise<void> {
  const { repository } = opened;
  await refuseChanges(opened, changes);
  const intent = await holdIntent(services, opened, changes);
  try {
    const outcome = await updateRefs(repository, changes).catch(async (error: unknown) => {
      await dropIntent(services.db.write, intent.id);
      throw error;
    });
    if (outcome === "unchanged") {
      await dropIntent(services.db.write, intent.id);
      await repository.unlock(changes.map(({ ref }) => ref));
      throw conflict("409 Conflict - somebody else changed it meanwhile, or another name is in the way of its name");
    }
    if (outcome === "unknown") {
      await leaveIntent(services.db.write, intent.id);
      throw unavailable();
    }
    await settle(services, { intent, repository, done: changes });
  } finally {
    intent.letGo();
  }
}

/** The hook of a push is not asked here, so all of its rules are. */
async function refuseChanges(opened: Opened, changes: readonly RefChange[]) {
  const [reason] = refusedChanges(opened, changes).values();
  if (reason !== undefined) throw forbidden(reason);
  const held = new Set(forwardOnly(opened, changes));
  for (const change of changes) {
    if (!held.has(change.ref) || isCreation(change) || isRemoval(change)) continue;
    if (!(await isAncestor(opened.repository, change.oldId, change.newId))) {
      throw forbidden("you are not allowed to force push to the default branch");
    }
  }
}

/** What came of changing refs in one transaction of git; it is thrown only where git was not let on. */
async function updateRefs(repository: Repository, changes: readonly RefChange[]) {
  const lines = changes.map(({ ref, oldId, newId }) => `update ${ref} ${newId} ${oldId}\n`);
  const git = await repository.run({
    command: "update-ref",
    options: ["--stdin"],
    input: ["start\n", ...lines, "prepare\n", "commit\n"].join(""),
  });
  const said = (await collect(git.output).catch(() => Buffer.alloc(0))).toString();
  await git.ended.catch(() => {});
  if (said.includes("commit: ok")) return "changed";
  // Until it was ready nothing changed; after that, it may have ended in the middle.
  return said.includes("prepare: ok") ? "unknown" : "unchanged";
}
