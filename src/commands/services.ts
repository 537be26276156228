import pino from "pino";
import { readConfig } from "#config.ts";
import { openServices, type Services } from "#services.ts";

/** For commands that do one thing on a database that is there; their output is theirs, so that the log goes aside. */
export async function withServices<T>(work: (services: Services) => Promise<T>): Promise<T> {
  const config = readConfig();
  if (config.databaseUrl === undefined) throw new Error("this command needs FAIRLEAD_DATABASE_URL");
  const services = openServices(config, config.databaseUrl, pino({ level: "silent" }));
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}
