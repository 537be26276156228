import { setTimeout as sleep } from "node:timers/promises";
import type { RefChange } from "#git/push-commands.ts";
import { forbidden, missing, reasonOf, Refusal, unauthenticated } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { isSameCaller } from "./caller.ts";
import type { HeldIntent } from "./intents.ts";
import { projectSeenBy, type PushAccess, refuseAccess } from "./opening.ts";
import { forwardOnly, refusedChanges } from "./rules.ts";

/**
 * Decides again, by what the primary holds now, whether refs may be changed: the credential, the account, the level and
 * the state of the project may have changed since the caller was let in. HTTP, SSH and the API all end here.
 */
export async function reauthorize({ db }: Pick<Services, "db">, access: PushAccess, changes: readonly RefChange[]) {
  const caller = await access.reauthenticate();
  if (!isSameCaller(access.caller, caller)) throw unauthenticated();
  const project = await projectSeenBy(db, caller, access.project.id);
  if (!project) throw missing("Project");
  await refuseAccess(db, caller, project, "push");
  const now = { caller, project };
  const [reason] = refusedChanges(now, changes).values();
  if (reason !== undefined) throw forbidden(reason);
  // Which branches may only move forward was checked with the objects, by the rules of before.
  const checked = new Set(forwardOnly(access, changes));
  if (forwardOnly(now, changes).some((ref) => !checked.has(ref))) {
    throw forbidden("What you may do with the default branch changed meanwhile. Please try again.");
  }
}

const UNDECIDED = "It could not be verified that you may still push. Please try again.";
const MAX_DECISION_MS = 20_000;

/** The same for the hook of a push: why it is refused, or undefined. */
export async function reasonAgainst(services: Services, access: PushAccess, intent: HeldIntent) {
  const { log } = services;
  const line = { push: intent.id, project_id: intent.project_id };
  const decided = reauthorize(services, access, intent.changes).then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof Refusal)) {
        log.warn({ ...line, err: error }, "could not decide a push again");
        return UNDECIDED;
      }
      const reason = reasonOf(error);
      log.info({ ...line, reason }, "refused a push that had lost its rights");
      return reason;
    },
  );
  const settled = new AbortController();
  const tooLong = sleep(MAX_DECISION_MS, UNDECIDED, { signal: settled.signal }).catch(() => undefined);
  return Promise.race([decided, tooLong]).finally(() => settled.abort());
}
