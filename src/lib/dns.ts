import { NODATA, NOTFOUND, Resolver } from "node:dns/promises";
import { semaphore } from "./semaphore.ts";

export interface Dns {
  /** The TXT records of a name, none where there is no such name; undefined where no server could tell. */
  txt(name: string): Promise<readonly string[] | undefined>;
}

const AT_ONCE = 8;
const MOST_WAITING = 50;
const TIMEOUT = 3_000;
const TRIES = 2;
/** Several servers that are silent are not waited for one after the other. */
const LONGEST = 10_000;

/** Asks the given servers, or those of the system, about a few names at a time. */
export function boundedDns(servers: readonly string[]): Dns {
  const inTurn = semaphore(AT_ONCE, MOST_WAITING);
  const open = () => {
    const resolver = new Resolver({ timeout: TIMEOUT, maxTimeout: TIMEOUT, tries: TRIES });
    if (servers.length > 0) resolver.setServers(servers);
    return resolver;
  };
  // A server that has no address would fail only when it is asked.
  open();
  return {
    txt: (name) =>
      inTurn(async () => {
        const resolver = open();
        const end = setTimeout(() => resolver.cancel(), LONGEST);
        try {
          return (await resolver.resolveTxt(name)).map((parts) => parts.join(""));
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          return code === NOTFOUND || code === NODATA ? [] : undefined;
        } finally {
          clearTimeout(end);
        }
      }),
  };
}
