import { Refusal } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { Exchange } from "./exchange.ts";
import type { Kernel } from "./kernel.ts";
import { type LimitClass, refuseOverBudget, takeBudget } from "./limits.ts";

/** Takes one request from the budget of its caller, and refuses what is beyond it. */
export function countRequest(
  { config, limiter }: Services,
  exchange: Exchange,
  limit: LimitClass,
  userId: number | undefined,
) {
  if (!config.rateLimits || limit === "none") return;
  exchange.budget = takeBudget(limiter, config, limit, userId, exchange.address);
  refuseOverBudget(exchange.budget, limit, Date.now());
}

/**
 * A caller who is not let in counts against the network, so that guessing is limited too; past the limit that is told.
 * This includes endpoints without a limit, where only refused callers count.
 */
export function countRefused({ services }: Kernel, exchange: Exchange, limit: LimitClass, refusal: unknown): unknown {
  if (exchange.budget) return refusal;
  try {
    countRequest(services, exchange, limit === "none" && isRefusedCaller(refusal) ? "api" : limit, undefined);
    return refusal;
  } catch (overBudget) {
    return overBudget;
  }
}

const isRefusedCaller = (refusal: unknown) =>
  refusal instanceof Refusal && (refusal.kind === "unauthenticated" || refusal.kind === "forbidden");
