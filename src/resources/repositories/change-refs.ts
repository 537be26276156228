import { createInterface } from "node:readline";
import { isCreation, isRemoval, type RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";
import { conflict, forbidden, unavailable } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { dropIntent, holdIntent, leaveIntent } from "./intents.ts";
import type { Opened, PushAccess } from "./opening.ts";
import { reauthorize } from "./reauthorize.ts";
import { forwardOnly, refusedChanges } from "./rules.ts";
import { isAncestor, settle } from "./settling.ts";

/**
 * Changes refs to objects that are in the repository already, all of them or none, by the rules of a push and told as
 * one. Refused too if one of them is not where it is said to be.
 */
export async function changeRefs(services: Services, access: PushAccess, changes: readonly RefChange[]): Promise<void> {
  const { repository } = access;
  await refuseChanges(access, changes);
  const intent = await holdIntent(services, access, changes);
  try {
    const confirm = () => reauthorize(services, access, changes);
    const outcome = await updateRefs(repository, changes, confirm).catch(async (error: unknown) => {
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

/**
 * What came of changing refs in one transaction of git, which is confirmed while git holds the refs. It throws only
 * where nothing changed.
 */
async function updateRefs(repository: Repository, changes: readonly RefChange[], confirm: () => Promise<void>) {
  const git = await repository.run({ command: "update-ref", options: ["--stdin"], asked: true });
  const lines = changes.map(({ ref, oldId, newId }) => `update ${ref} ${newId} ${oldId}\n`);
  git.input.write(["start\n", ...lines, "prepare\n"].join(""));
  const said = createInterface({ input: git.output })[Symbol.asyncIterator]();
  const says = async (wanted: string) => {
    for (;;) {
      const { done, value } = await said.next();
      if (done || value === wanted) return !done;
    }
  };
  if (!(await says("prepare: ok"))) {
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
  // It may have ended in the middle.
  const outcome = (await says("commit: ok")) ? "changed" : "unknown";
  await git.ended.catch(() => {});
  return outcome;
}
