import { schemaProblem } from "#db/migration-history.ts";
import type { Services } from "#services.ts";
import { databaseProblem } from "./problems.ts";

const INTERVAL_MS = 1_000;

/** Refuses to start on a schema that is older or newer than the code. */
export async function requireSchema(url: string) {
  const problem = await schemaProblem(url).catch((error: unknown) => databaseProblem(error, url));
  if (problem !== undefined) throw new Error(problem);
}

/** Keeps the process unready while the schema is older or newer than the code; calls `onFit` once it fits. */
export async function watchSchema({ databaseUrl, lifecycle, log }: Services, onFit: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let isLogged = false;
  const look = async () => {
    let reason: string | undefined;
    try {
      reason = lifecycle.notReady = await schemaProblem(databaseUrl);
    } catch (error) {
      reason = databaseProblem(error, databaseUrl);
      // Callers are not told where the database is.
      lifecycle.notReady = "The database cannot be reached";
    }
    // Once, although the reason changes while another process migrates.
    if (reason !== undefined && !isLogged) log.error({ reason }, "not ready");
    if (reason === undefined && isLogged) log.info("ready");
    isLogged = reason !== undefined;
    if (lifecycle.stopping) return;
    if (reason === undefined) onFit();
    else timer = setTimeout(() => void look(), INTERVAL_MS).unref();
  };
  await look();
  return { stop: () => clearTimeout(timer) };
}
