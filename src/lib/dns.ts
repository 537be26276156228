import { NODATA, NOTFOUND, Resolver } from "node:dns/promises";
import { semaphore } from "./semaphore.ts";

export interface Dns {
  /** The TXT records of a name; an empty list if it does not exist, undefined if no server answered. */
  txt(name: string): Promise<readonly string[] | undefined>;
  /** The IPv6 and IPv4 addresses of a name; none if it does not exist or no server answered in time. */
  addresses(name: string, signal: AbortSignal): Promise<readonly string[]>;
}

const MAX_CONCURRENT = 8;
const MAX_WAITING = 50;
const TIMEOUT_MS = 3_000;
const TRIES = 2;
/** Bounds the whole lookup, since each of several silent servers would take its own timeout. */
const LOOKUP_TIMEOUT_MS = 10_000;

/** Resolves names with the given servers, or the system's, a few at a time. */
export function boundedDns(servers: readonly string[]): Dns {
  const limited = semaphore(MAX_CONCURRENT, MAX_WAITING);
  const open = () => {
    const resolver = new Resolver({ timeout: TIMEOUT_MS, maxTimeout: TIMEOUT_MS, tries: TRIES });
    if (servers.length > 0) resolver.setServers(servers);
    return resolver;
  };
  // An invalid server address would otherwise fail only at the first lookup.
  open();
  return {
    txt: (name) =>
      limited(async () => {
        const resolver = open();
        const timer = setTimeout(() => resolver.cancel(), LOOKUP_TIMEOUT_MS);
        try {
          return (await resolver.resolveTxt(name)).map((parts) => parts.join(""));
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          return code === NOTFOUND || code === NODATA ? [] : undefined;
        } finally {
          clearTimeout(timer);
        }
      }),
    // Callers bound how many they ask at once.
    async addresses(name, signal) {
      signal.throwIfAborted();
      const resolver = open();
      const cancel = () => resolver.cancel();
      const timer = setTimeout(cancel, LOOKUP_TIMEOUT_MS);
      signal.addEventListener("abort", cancel);
      try {
        const found = await Promise.allSettled([resolver.resolve6(name), resolver.resolve4(name)]);
        return found.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
      }
    },
  };
}
