import { setTimeout as pause } from "node:timers/promises";
import type { Fixture } from "./fixture.ts";
import { hostileApi, type HostileRequest } from "./hostile-clients.ts";

/** An attack on a server that honest callers use meanwhile; it ends by itself at the deadline. */
export interface Attack {
  readonly name: string;
  /** The least seconds it takes if its limit acts late; such an attack is left out of a short run. */
  readonly seconds?: number;
  /** Megabytes that the git processes of the server may hold together meanwhile. */
  readonly maxGitMegabytes?: number;
  run(fixture: Fixture, deadline: number): Promise<Outcome>;
}

/** What the attacker saw, and the problems in it. */
export interface Outcome {
  readonly saw: string;
  readonly problems: readonly string[];
}

const MAX_REQUESTS = 2_000;
/** Some attacks prepare for long. */
const MIN_FLOOD_MS = 5_000;
/** The largest JSON response, except for a file of a repository: 4 MiB of texts, which escaping makes longer. */
const MAX_ANSWER_BYTES = 5 * 2 ** 20;

/** Sends requests in turn, several concurrently, until the deadline; a path alone is an anonymous read. */
export async function flood(
  fixture: Fixture,
  requests: readonly (string | HostileRequest)[],
  atOnce: number,
  deadline: number,
): Promise<Outcome> {
  const api = hostileApi(fixture);
  const statuses = new Map<number, number>();
  const end = Math.max(deadline, Date.now() + MIN_FLOOD_MS);
  let [sent, largestBytes] = [0, 0];
  const lane = async () => {
    while (Date.now() < end && sent < MAX_REQUESTS) {
      const next = requests[sent++ % requests.length] ?? "";
      const request = typeof next === "string" ? { path: next } : next;
      const { status, bytes } = await api.send(request).catch(() => ({ status: 0, bytes: 0 }));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      largestBytes = Math.max(largestBytes, bytes);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  api.close();
  const counted = [...statuses].map(([status, count]) => `${count} × ${status || "nothing"}`).join(", ");
  const largest = `largest answer ${(largestBytes / 2 ** 20).toFixed(1)} MiB`;
  return { saw: `${counted}, ${largest}`, problems: largestBytes > MAX_ANSWER_BYTES ? [largest] : [] };
}

export const until = (deadline: number) => pause(Math.max(deadline - Date.now(), 0));
