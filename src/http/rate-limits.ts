import type { Actor } from "#access/actor.ts";
import { Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { Exchange } from "./exchange.ts";
import type { Kernel } from "./kernel.ts";
import { type Caller, type LimitClass, refuseOverBudget, takeBudget } from "./limits.ts";

/** Takes one request from the budget of its caller, and refuses what is beyond it. */
export function countRequest(
  { config, limiter }: Services,
  exchange: Exchange,
  limit: LimitClass,
  actor: Actor | null,
) {
  if (!config.rateLimits || limit === "none") return;
  exchange.budget = takeBudget(limiter, config, limit, budgetOwner(actor), exchange.address);
  refuseOverBudget(exchange.budget, limit, Date.now());
}

/** Service accounts of a group share one budget: else its Owners could multiply theirs by making accounts. */
function budgetOwner(actor: Actor | null): Caller | undefined {
  const groupId = actor?.user.service_account_group_id ?? null;
  return groupId === null ? actor?.user.id : `group ${groupId}`;
}

/**
 * A caller who is not let in counts against the network, so that guessing is limited too; past the limit that is told.
 * This includes endpoints without a limit, where only refused callers count.
 */
export function countRefused({ services }: Kernel, exchange: Exchange, limit: LimitClass, refusal: unknown): unknown {
  if (exchange.budget) return refusal;
  try {
    countRequest(services, exchange, limit === "none" && isRefusedCaller(refusal) ? "api" : limit, null);
    return refusal;
  } catch (overBudget) {
    return overBudget;
  }
}

const isRefusedCaller = (refusal: unknown) =>
  refusal instanceof Refusal && (refusal.kind === "unauthenticated" || refusal.kind === "forbidden");
