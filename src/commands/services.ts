import { type Config, readConfig } from "#config.ts";
import { openLog, openServices, type ProcessLog, type Services } from "#services.ts";
import { requireSchema } from "./schema.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Services for the commands that sshd runs. They log only to a file: git speaks on standard output, and standard error
 * goes to the client or nowhere.
 */
export async function withServices<T>({ env }: Terminal, work: (services: Services) => Promise<T>): Promise<T> {
  const config = readConfig(env);
  if (config.databaseUrl === undefined) throw new Error("this command needs FAIRLEAD_DATABASE_URL");
  const services = openServices(config, config.databaseUrl, openFileLog(config));
  try {
    return await work(services);
  } catch (error) {
    // Says what is wrong with the database, if that is the reason.
    await requireSchema(config.databaseUrl);
    throw error;
  } finally {
    await services.close();
  }
}

/** Logs nothing if there is no file, or none that can be opened: that must not lock everybody out. */
function openFileLog(config: Config): ProcessLog {
  const silent = { ...config, logFile: undefined, logLevel: "silent" } as const;
  if (config.logFile === undefined) return openLog(silent, "stderr");
  try {
    return openLog(config, "stderr");
  } catch {
    return openLog(silent, "stderr");
  }
}
