import type { Config } from "#config.ts";
import { setBounded } from "#lib/bounded-map.ts";
import { networkOf } from "#lib/networks.ts";
import { Refusal, unavailable } from "#lib/refusal.ts";

/** The budget that an endpoint draws on. Senders to `ingestion` treat 429 as final, so they get 503 instead. */
export type LimitClass = "api" | "git" | "ingestion" | "sign-in" | "none";

/** Enough for people, too few to guess many usernames from one network. */
const MAX_SIGN_INS_PER_MINUTE = 20;

const MINUTE_MS = 60_000;
/** Bounds the memory that an attacker with many networks can fill: beyond it the oldest counts are evicted. */
const MAX_CALLERS = 200_000;

// A caller who used less than this share of a limit here cannot exceed it in sum, unless there are more processes.
const MAX_PROCESSES = 20;

export interface Budget {
  readonly name: string;
  readonly limit: number;
  readonly observed: number;
  /** The end of the current minute, in seconds since 1970. */
  readonly reset: number;
}

/** A user by id, since numbers are cheaper to look up than strings, or any other caller by a string of its own. */
export type Caller = number | string;

/** Counts what each caller uses of a budget, in fixed windows of one minute. */
export interface Limiter {
  take(caller: Caller, name: string, limit: number, amount?: number): Budget;
  /** Returns the counts that changed since the last call, of callers that may reach a limit in sum over all processes. */
  drain(): { minute: number; counts: ReadonlyMap<string, number> };
  /** Sets what other processes counted for some callers in this minute. */
  setOthers(minute: number, counts: ReadonlyMap<string, number>): void;
}

export function makeLimiter(now: () => number, maxCallers = MAX_CALLERS): Limiter {
  let minute = 0;
  let counts = new Map<Caller, number>();
  // A separate map, so that evicting such a count takes the exhausted budgets of as many other callers.
  let exhausted = new Map<Caller, number>();
  let others = new Map<string, number>();
  let changed = new Set<Caller>();

  const startMinute = (at: number) => {
    const current = Math.floor(at / MINUTE_MS);
    if (current === minute) return;
    minute = current;
    counts = new Map();
    exhausted = new Map();
    others = new Map();
    changed = new Set();
  };

  const store = (map: Map<Caller, number>, caller: Caller, count: number) => {
    const evicted = setBounded(map, caller, count, maxCallers);
    if (evicted !== undefined) changed.delete(evicted);
  };

  const countOf = (caller: Caller) => counts.get(caller) ?? exhausted.get(caller) ?? 0;

  return {
    take(caller, name, limit, amount = 1) {
      startMinute(now());
      const own = countOf(caller) + amount;
      const observed = own + (others.size === 0 ? 0 : (others.get(sharedKey(caller)) ?? 0));
      if (observed < limit) store(counts, caller, own);
      else {
        counts.delete(caller);
        store(exhausted, caller, own);
      }
      if (own * MAX_PROCESSES >= limit) changed.add(caller);
      return { name, limit, observed, reset: (minute + 1) * 60 };
    },
    drain() {
      startMinute(now());
      const drained = new Map<string, number>();
      for (const caller of changed) drained.set(sharedKey(caller), countOf(caller));
      changed = new Set();
      return { minute, counts: drained };
    },
    setOthers(of, found) {
      if (of !== minute) return;
      // Callers that sent nothing since the last call are not in `found`; their earlier counts still hold.
      for (const [caller, count] of found) setBounded(others, caller, count, maxCallers);
    },
  };
}

/** The key of a caller in the table that all processes share. */
const sharedKey = (caller: Caller) => (typeof caller === "number" ? `u${caller}` : caller);

const SIGN_IN = "throttle_sign_in";
const NAMES = {
  api: { user: "throttle_authenticated_api", address: "throttle_unauthenticated_api" },
  git: { user: "throttle_authenticated_git", address: "throttle_unauthenticated_git" },
  ingestion: { user: "throttle_authenticated_ingestion", address: "throttle_unauthenticated_ingestion" },
};

/** Draws on the budget of a user, or of the network of an anonymous caller; each class has a budget of its own. */
export function takeBudget(
  limiter: Limiter,
  config: Config,
  limit: Exclude<LimitClass, "none">,
  userId: Caller | undefined,
  address: string,
): Budget {
  const network = () => `${limit} ${networkOf(address)}`;
  if (limit === "sign-in") return limiter.take(network(), SIGN_IN, MAX_SIGN_INS_PER_MINUTE);
  const { user, address: anonymous } = NAMES[limit];
  if (userId === undefined) return limiter.take(network(), anonymous, config.rateLimitAddress);
  return limiter.take(limit === "api" ? userId : `${limit} ${userId}`, user, config.rateLimitUser);
}

export function refuseOverBudget(budget: Budget, limit: LimitClass, now: number) {
  if (budget.observed <= budget.limit) return;
  const wait = secondsUntil(budget, now);
  if (limit === "ingestion") throw unavailable(wait);
  throw new Refusal("too many", "429 Too Many Requests", { retryAfter: wait });
}

const secondsUntil = ({ reset }: Budget, now: number) => Math.max(reset - Math.floor(now / 1000), 1);

const CONTENT_UNIT = 1024;

/** Draws on the characters that a user may store in a minute; refused if they are exhausted. */
export function takeContent(limiter: Limiter, config: Config, userId: Caller, characters: number, now: number) {
  const limit = Math.ceil(config.contentLimitUser / CONTENT_UNIT);
  const amount = Math.ceil(characters / CONTENT_UNIT);
  const budget = limiter.take(`content ${userId}`, "throttle_content", limit, amount);
  if (budget.observed <= limit) return;
  const message = `You can store at most ${config.contentLimitUser} characters a minute; try again later`;
  throw new Refusal("too many", message, { retryAfter: secondsUntil(budget, now) });
}
