import { readConfig } from "#config.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import { createFirstAdministrator, type FirstAdministrator } from "#resources/users/first.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { withDatabase } from "./database.ts";
import { print } from "./output.ts";

/** Prepares an installation without starting it. */
export async function setup() {
  const config = readConfig();
  await ensureSealingKey(config.dataDir);
  await withDatabase(config, async (url) => {
    const services = openServices(config, url, openLog(config));
    try {
      const made = await makeFirstAdministrator(services);
      const address = config.externalUrl ?? `http://${config.host}:${config.port}`;
      if (made) announce(made, address, config.databaseUrl === undefined);
      else
        print("There are users already, so nothing was made. 'fairlead token create --user root' makes another token.");
    } finally {
      await services.close();
    }
  });
}

/** Makes the first administrator if there is none. */
export const makeFirstAdministrator = (services: Services): Promise<FirstAdministrator | undefined> =>
  services.db.transaction((tx) => createFirstAdministrator(tx, services));

/** Says that there is an administrator now and what to do next; a token is shown this once. */
export function announce({ token }: FirstAdministrator, address: string, trial: boolean) {
  print("The first administrator is 'root'.");
  if (token !== undefined) {
    print(`Token (shown only now): ${token}`);
    print("Try it:");
    print(`  curl --header "PRIVATE-TOKEN: ${token}" ${address}/api/v4/user`);
  }
  print(`The reference of the API is at ${address}/-/api`);
  if (trial)
    print("The database is a trial engine in the data directory; set FAIRLEAD_DATABASE_URL for one that you keep.");
}
