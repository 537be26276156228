import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf, Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { PushAccess } from "./access.ts";
import type { LeasedIntent } from "./intents.ts";

const UNDECIDED = "It could not be verified that you may still push. Please try again.";
const DECISION_TIMEOUT_MS = 20_000;

/** Reauthorizes a push for its hook: returns the reason for refusal, or undefined. */
export async function reasonAgainst({ log }: Pick<Services, "log">, access: PushAccess, intent: LeasedIntent) {
  const line = { push: intent.id, repository_id: intent.repository_id };
  const reason = access.reauthorize(intent.changes).then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof Refusal)) {
        log.warn({ ...line, err: error }, "could not reauthorize a push");
        return UNDECIDED;
      }
      const text = reasonOf(error);
      log.info({ ...line, reason: text }, "refused a push whose permission was revoked");
      return text;
    },
  );
  const decision = new AbortController();
  const tooLong = sleep(DECISION_TIMEOUT_MS, UNDECIDED, { signal: decision.signal }).catch(() => undefined);
  return Promise.race([reason, tooLong]).finally(() => decision.abort());
}
