import { setTimeout as sleep } from "node:timers/promises";

/** Waits until something is so, within the limit, and gives what was found. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  limit = 20_000,
  pause = 50,
): Promise<T> {
  const deadline = Date.now() + limit;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`Not within ${limit} ms: ${what}`);
    await sleep(pause);
  }
}
