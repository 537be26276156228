import { parseArgs } from "node:util";
import { readConfig } from "#config.ts";
import { shareLimits } from "#limits/shared-counts.ts";
import { watchPushes } from "#domains/storage/pushes/reconcile.ts";
import { openLog, openServices } from "#services.ts";
import { prepareDirectories } from "./directories.ts";
import { holdSshPort } from "./ports.ts";
import { beginSsh } from "./ssh-start.ts";
import { warnIfRoot } from "./root.ts";
import { requireSchema } from "./schema.ts";
import { soon, stopOnSignal } from "./stopping.ts";
import type { Terminal } from "./terminal.ts";

/** Runs one of several SSH processes on a migrated database. */
export async function ssh(args: string[], terminal: Terminal) {
  parseArgs({ args });
  const config = readConfig(terminal.env);
  if (config.databaseUrl === undefined) {
    throw new Error("an SSH process needs FAIRLEAD_DATABASE_URL; 'fairlead serve' does not");
  }
  const port = await holdSshPort(config);
  if (!port) throw new Error("FAIRLEAD_SSH_PORT is off; set it to a port for 'fairlead ssh'");
  const log = openLog(config);
  warnIfRoot(log);
  await requireSchema(config.databaseUrl);
  await prepareDirectories(config);
  const services = openServices(config, config.databaseUrl, log);
  try {
    const running = await beginSsh(services, port);
    const sharing = config.rateLimits ? shareLimits(services.db, services.limiter, log) : undefined;
    const watching = watchPushes(services);
    stopOnSignal(log, async () => {
      sharing?.stop();
      watching.stop();
      await running?.stop();
      await soon(services.close());
    });
  } catch (error) {
    await services.close();
    throw error;
  }
}
