import { readConfig } from "#config.ts";
import { shareLimits } from "#http/shared-limits.ts";
import { watchPushes } from "#resources/repositories/settling.ts";
import { openLog, openServices } from "#services.ts";
import { beginSsh } from "./ssh-start.ts";
import { warnIfRoot } from "./root.ts";
import { soon, stopOnSignal } from "./stopping.ts";

/** One SSH process beside others; the database is there and up to date. */
export async function ssh() {
  const config = readConfig();
  if (config.databaseUrl === undefined) {
    throw new Error("an SSH process needs FAIRLEAD_DATABASE_URL; 'fairlead serve' does not");
  }
  const log = openLog(config);
  warnIfRoot(log);
  const services = openServices(config, config.databaseUrl, log);
  try {
    const running = await beginSsh(services);
    if (!running) throw new Error("FAIRLEAD_SSH_PORT is off");
    const sharing = config.rateLimits ? shareLimits(services.db, services.limiter, log) : undefined;
    const watching = watchPushes(services);
    stopOnSignal(log, async () => {
      sharing?.stop();
      watching.stop();
      await running.stop();
      await soon(services.close());
    });
  } catch (error) {
    await services.close();
    throw error;
  }
}
