import { budgetOwner } from "#access/budget-owner.ts";
import { type Actor, actorOf } from "#access/principal.ts";
import { Refusal } from "#lib/refusal.ts";
import { type LimitClass, refuseOverBudget, takeBudget, takeContent } from "#limits/rate-limits.ts";
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

/** Counts text that a write stores, so that nobody fills the database with requests that are few enough. */
export function countContent({ config, limiter }: Services, { principal }: Exchange, characters: number) {
  const owner = budgetOwner(actorOf(principal));
  if (!config.rateLimits || owner === undefined || characters === 0) return;
  takeContent(limiter, config, owner, characters, Date.now());
}

/** The length of all texts in the parameters of a request; uploaded files have limits of their own. */
export function lengthOfTexts(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + lengthOfTexts(inner), 0);
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
