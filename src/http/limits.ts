import type { Config } from "#config.ts";
import { setBounded } from "#lib/bounded-map.ts";
import { networkOf } from "#lib/networks.ts";
import { Refusal, unavailable } from "#lib/refusal.ts";

/** Which budget an endpoint draws on; a sender that takes 429 as final is told 503 instead. */
export type LimitClass = "api" | "git" | "ingestion" | "sign-in" | "none";

/** Tries a minute from one network: enough for people, too few to try many names. */
const SIGN_INS = 20;

const MINUTE = 60_000;
/** An attacker with many networks must not fill the memory: past this the oldest counts are dropped. */
const MAX_CALLERS = 200_000;

// Whoever is far from the limit here is not over it everywhere together, unless there are more processes than this.
const MOST_PROCESSES = 20;

export interface Budget {
  readonly name: string;
  readonly limit: number;
  readonly observed: number;
  /** When the minute ends, in seconds since 1970. */
  readonly reset: number;
}

/** A user by number, which costs less to look up than text, or anybody else by a text of their own. */
export type Caller = number | string;

/** Counts requests of each caller in fixed minutes. */
export interface Limiter {
  take(caller: Caller, name: string, limit: number): Budget;
  /** What this process counted since the last call of those who come near a limit, for the sum over all processes. */
  drain(): { minute: number; counts: ReadonlyMap<string, number> };
  /** What other processes counted of some callers in this minute. */
  setOthers(minute: number, counts: ReadonlyMap<string, number>): void;
}

export function makeLimiter(now: () => number, maxCallers = MAX_CALLERS): Limiter {
  let minute = 0;
  let counts = new Map<Caller, number>();
  // Kept apart, so that whoever wants such a count dropped has to use up the budgets of as many other callers.
  let usedUp = new Map<Caller, number>();
  let others = new Map<string, number>();
  let changed = new Set<Caller>();

  const turn = (at: number) => {
    const current = Math.floor(at / MINUTE);
    if (current === minute) return;
    minute = current;
    counts = new Map();
    usedUp = new Map();
    others = new Map();
    changed = new Set();
  };

  const store = (map: Map<Caller, number>, caller: Caller, count: number) => {
    const evicted = setBounded(map, caller, count, maxCallers);
    if (evicted !== undefined) changed.delete(evicted);
  };

  const countOf = (caller: Caller) => counts.get(caller) ?? usedUp.get(caller) ?? 0;

  return {
    take(caller, name, limit) {
      turn(now());
      const own = countOf(caller) + 1;
      const observed = own + (others.size === 0 ? 0 : (others.get(shared(caller)) ?? 0));
      if (observed < limit) store(counts, caller, own);
      else {
        counts.delete(caller);
        store(usedUp, caller, own);
      }
      if (own * MOST_PROCESSES >= limit) changed.add(caller);
      return { name, limit, observed, reset: (minute + 1) * 60 };
    },
    drain() {
      turn(now());
      const drained = new Map<string, number>();
      for (const caller of changed) drained.set(shared(caller), countOf(caller));
      changed = new Set();
      return { minute, counts: drained };
    },
    setOthers(of, found) {
      if (of !== minute) return;
      // Those who paused were not asked about; what was counted of them before still holds.
      for (const [caller, count] of found) setBounded(others, caller, count, maxCallers);
    },
  };
}

/** A caller as all processes spell it. */
const shared = (caller: Caller) => (typeof caller === "number" ? `u${caller}` : caller);

const SIGN_IN = "throttle_sign_in";
const NAMES = {
  api: { user: "throttle_authenticated_api", address: "throttle_unauthenticated_api" },
  git: { user: "throttle_authenticated_git", address: "throttle_unauthenticated_git" },
  ingestion: { user: "throttle_authenticated_ingestion", address: "throttle_unauthenticated_ingestion" },
};

/** The budget of a caller: a user's own, or that of an anonymous caller's network; each class counts by itself. */
export function takeBudget(
  limiter: Limiter,
  config: Config,
  limit: Exclude<LimitClass, "none">,
  userId: Caller | undefined,
  address: string,
): Budget {
  const network = () => `${limit} ${networkOf(address)}`;
  if (limit === "sign-in") return limiter.take(network(), SIGN_IN, SIGN_INS);
  const { user, address: anonymous } = NAMES[limit];
  if (userId === undefined) return limiter.take(network(), anonymous, config.rateLimitAddress);
  return limiter.take(limit === "api" ? userId : `${limit} ${userId}`, user, config.rateLimitUser);
}

export function refuseOverBudget(budget: Budget, limit: LimitClass, now: number) {
  if (budget.observed <= budget.limit) return;
  const wait = Math.max(budget.reset - Math.floor(now / 1000), 1);
  if (limit === "ingestion") throw unavailable(wait);
  throw new Refusal("too many", "429 Too Many Requests", { retryAfter: wait });
}
