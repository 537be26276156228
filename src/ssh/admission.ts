import { setBounded } from "#lib/bounded-map.ts";
import { addressMatcher, LOOPBACK, networkOf } from "#lib/networks.ts";
import type { Services } from "#services.ts";

/** Connections before authentication, in total and per network. */
const MAX_UNAUTHENTICATED = 200;
const MAX_UNAUTHENTICATED_PER_NETWORK = 50;
/** Connections in total, and authenticated ones per network and per principal. */
const MAX_CONNECTIONS = 2_000;
const MAX_AUTHENTICATED_PER_NETWORK = 500;
const MAX_AUTHENTICATED_PER_PRINCIPAL = 50;
/** Refused keys and fruitless handshakes per network and minute. */
const MAX_REFUSALS = 60;
const MAX_BLOCKED_NETWORKS = 10_000;

export interface Admitted {
  /** Counts the connection as authenticated; false if its network or principal has too many. */
  authenticated(principal: string): boolean;
  /** Counts the connection as closed; without authentication its attempts count against its network. */
  closed(attempts: number): void;
}

/** Decides which connections are accepted, so that a flood of them does not shut out others. */
export function admission({ config, limiter }: Pick<Services, "config" | "limiter">, now: () => number = Date.now) {
  const unauthenticated = new Map<string, number>();
  const blocklist = networkBlocklist(limiter, now);
  const authenticatedOf = new Map<string, number>();
  const isExempt = addressMatcher([LOOPBACK, ...config.trustedProxies]);
  let waiting = 0;
  let all = 0;

  const stopWaiting = (network: string) => {
    waiting--;
    add(unauthenticated, network, -1);
  };

  return {
    admit(address: string): Admitted | undefined {
      const network = networkOf(address);
      const ofOne = unauthenticated.get(network) ?? 0;
      if (
        all >= MAX_CONNECTIONS ||
        waiting >= MAX_UNAUTHENTICATED ||
        ofOne >= MAX_UNAUTHENTICATED_PER_NETWORK ||
        blocklist.has(network)
      )
        return undefined;
      all++;
      waiting++;
      unauthenticated.set(network, ofOne + 1);
      let isUnauthenticated = true;
      let counted: readonly string[] = [];
      return {
        authenticated(principal) {
          isUnauthenticated = false;
          stopWaiting(network);
          if ((authenticatedOf.get(principal) ?? 0) >= MAX_AUTHENTICATED_PER_PRINCIPAL) return false;
          // Proxies hold the connections of many networks.
          const exempt = isExempt(address);
          if (!exempt && (authenticatedOf.get(network) ?? 0) >= MAX_AUTHENTICATED_PER_NETWORK) return false;
          counted = exempt ? [principal] : [principal, network];
          for (const key of counted) add(authenticatedOf, key, 1);
          return true;
        },
        closed(attempts) {
          all--;
          for (const key of counted) add(authenticatedOf, key, -1);
          if (!isUnauthenticated) return;
          stopWaiting(network);
          if (config.rateLimits) blocklist.count(network, attempts);
        },
      };
    },
  };
}

/** Counts refused attempts, and blocks a network with too many of them until the limit resets. */
function networkBlocklist(limiter: Services["limiter"], now: () => number) {
  const blockedUntil = new Map<string, number>();
  return {
    count(network: string, attempts: number) {
      for (let each = 0; each < attempts; each++) {
        const { observed, limit, reset } = limiter.take(`ssh ${network}`, "throttle_ssh", MAX_REFUSALS);
        if (observed < limit) continue;
        setBounded(blockedUntil, network, reset * 1000, MAX_BLOCKED_NETWORKS);
      }
    },
    has(network: string): boolean {
      const until = blockedUntil.get(network);
      if (until === undefined) return false;
      if (until > now()) return true;
      blockedUntil.delete(network);
      return false;
    },
  };
}

function add(counts: Map<string, number>, key: string, change: number) {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
