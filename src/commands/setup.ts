import { parseArgs } from "node:util";
import { readConfig } from "#config.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import {
  createFirstAdministrator,
  type FirstAdministrator,
  isFirstAdministratorUnused,
} from "#domains/identity/users/first-administrator.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { withDatabase } from "./database.ts";
import { prepareDirectories } from "./directories.ts";
import type { Terminal } from "./terminal.ts";

const HOW_TO_GET_A_TOKEN = "For a token run: bin/fairlead token create --user root --scopes api,sudo";

/** Prepares an installation without starting it. */
export async function setup(args: string[], terminal: Terminal) {
  parseArgs({ args });
  const config = readConfig(terminal.env);
  await withDatabase(config, terminal, async (url) => {
    await prepareDirectories(config);
    await ensureSealingKey(config.dataDir);
    const services = openServices(config, url, openLog(config, "stderr"));
    try {
      const made = await makeFirstAdministrator(services);
      const address = config.externalUrl ?? `http://${config.host}:${config.port}`;
      if (made) announce(made, address, config.databaseUrl === undefined, terminal.print);
      else terminal.print(`Users already exist; nothing was created. ${HOW_TO_GET_A_TOKEN}`);
    } finally {
      await services.close();
    }
  });
}

/** Creates the first administrator unless there are users. */
export const makeFirstAdministrator = (services: Services): Promise<FirstAdministrator | undefined> =>
  services.db.transaction((tx) => createFirstAdministrator(tx, services));

/** The token was shown once, perhaps by a start that failed; until it is used, each start says how to get another. */
export async function remindOfToken({ db, log }: Services) {
  if (await isFirstAdministratorUnused(db.read)) log.info(`Nobody has signed in as 'root' yet. ${HOW_TO_GET_A_TOKEN}`);
}

/** Prints the new administrator's token, once, and what to do next. */
export function announce({ token }: FirstAdministrator, address: string, trial: boolean, say: Terminal["print"]) {
  say("The first administrator is 'root'.");
  if (token !== undefined) {
    say(`Token (shown only now): ${token}`);
    say("Try it:");
    say(`  curl --header "PRIVATE-TOKEN: ${token}" ${address}/api/v4/user`);
  }
  say(`The API reference is at ${address}/-/api`);
  if (trial) say("The database is a trial server in the data directory; set FAIRLEAD_DATABASE_URL for production.");
}
