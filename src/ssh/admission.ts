import { setBounded } from "#lib/bounded-map.ts";
import { addressMatcher, LOOPBACK, networkOf } from "#lib/networks.ts";
import type { Services } from "#services.ts";

/** Connections that have proven nothing yet, in all and from one network. */
const MOST_UNPROVEN = 200;
const MOST_UNPROVEN_OF_ONE = 50;
/** Connections in all, and those that proved who they are of one network and of one principal. */
const MOST = 2_000;
const MAX_PROVEN_OF_NETWORK = 500;
const MAX_PROVEN_OF_PRINCIPAL = 50;
/** Keys that may be refused in a minute from one network, and handshakes that led to nothing. */
const MOST_REFUSED = 60;
const MOST_KEPT_OUT = 10_000;

export interface Admitted {
  /** It proved who it is, and is one of the unproven no more; false where its network or principal has too many. */
  proven(principal: string): boolean;
  /** It ended, with so many tries that count against its network if it proved nothing. */
  ended(tries: number): void;
}

/** Decides which connections are looked at at all, so that a flood of them costs nobody else their turn. */
export function admission({ config, limiter }: Pick<Services, "config" | "limiter">, now: () => number = Date.now) {
  const unproven = new Map<string, number>();
  const keptOutUntil = new Map<string, number>();
  const provenOf = new Map<string, number>();
  const isExempt = addressMatcher([LOOPBACK, ...config.trustedProxies]);
  let waiting = 0;
  let all = 0;

  const leaveWaiting = (network: string) => {
    waiting--;
    add(unproven, network, -1);
  };

  const count = (network: string, tries: number) => {
    for (let each = 0; each < tries; each++) {
      const { observed, limit, reset } = limiter.take(`ssh ${network}`, "throttle_ssh", MOST_REFUSED);
      if (observed < limit) continue;
      setBounded(keptOutUntil, network, reset * 1000, MOST_KEPT_OUT);
    }
  };

  const isKeptOut = (network: string) => {
    const until = keptOutUntil.get(network);
    if (until === undefined) return false;
    if (until > now()) return true;
    keptOutUntil.delete(network);
    return false;
  };

  return {
    admit(address: string): Admitted | undefined {
      const network = networkOf(address);
      const ofOne = unproven.get(network) ?? 0;
      if (all >= MOST || waiting >= MOST_UNPROVEN || ofOne >= MOST_UNPROVEN_OF_ONE || isKeptOut(network))
        return undefined;
      all++;
      waiting++;
      unproven.set(network, ofOne + 1);
      let isUnproven = true;
      let counted: readonly string[] = [];
      return {
        proven(principal) {
          isUnproven = false;
          leaveWaiting(network);
          if ((provenOf.get(principal) ?? 0) >= MAX_PROVEN_OF_PRINCIPAL) return false;
          // Proxies hold the connections of many networks.
          const exempt = isExempt(address);
          if (!exempt && (provenOf.get(network) ?? 0) >= MAX_PROVEN_OF_NETWORK) return false;
          counted = exempt ? [principal] : [principal, network];
          for (const key of counted) add(provenOf, key, 1);
          return true;
        },
        ended(tries) {
          all--;
          for (const key of counted) add(provenOf, key, -1);
          if (!isUnproven) return;
          leaveWaiting(network);
          if (config.rateLimits) count(network, tries);
        },
      };
    },
  };
}

function add(counts: Map<string, number>, key: string, change: number) {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
