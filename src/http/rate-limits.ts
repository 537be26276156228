import { budgetOwner } from "#access/budget-owner.ts";
import type { Actor } from "#access/principal.ts";
import { Refusal } from "#lib/refusal.ts";
import { type LimitClass, refuseOverBudget, takeBudget } from "#limits/rate-limits.ts";
import type { Services } from "#services.ts";
import type { Exchange } from "./exchange.ts";
import type { Kernel } from "./kernel.ts";

/** Draws one request on the budget of its caller; refused if that is exhausted. */
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

/**
 * Counts a refused caller against their network, so that guessing credentials is limited too, also on endpoints without
 * a limit. Returns what to respond with: the refusal, or 429 once the budget is exhausted.
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
