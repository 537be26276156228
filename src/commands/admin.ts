import { parseArgs } from "node:util";
import { stateProblem } from "#access/authenticate.ts";
import { actingUserByIdOrName } from "#access/acting-users.ts";
import { readConfig } from "#config.ts";
import { setAdministrator } from "#domains/identity/users/administrators.ts";
import { lockedUser, targetOf } from "#domains/identity/users/named.ts";
import { openLog, openServices } from "#services.ts";
import { auditCommand } from "./audit.ts";
import { withDatabase } from "./database.ts";
import type { Terminal } from "./terminal.ts";

const USAGE = "usage: fairlead admin grant USERNAME | fairlead admin revoke USERNAME";

/** Grants or revokes administrator rights from the command line. */
export async function admin(args: string[], terminal: Terminal) {
  const [verb, username, ...others] = parseArgs({ args, allowPositionals: true }).positionals;
  if ((verb !== "grant" && verb !== "revoke") || username === undefined || others.length > 0) throw new Error(USAGE);
  const config = readConfig(terminal.env);
  await withDatabase(config, terminal, async (url) => {
    const services = openServices(config, url, openLog(config, "stderr"));
    try {
      const user = await actingUserByIdOrName(services.db, username);
      if (!user) throw new Error(`there is no user '${username}'`);
      const problem = verb === "grant" ? stateProblem(user) : undefined;
      if (problem !== undefined) throw new Error(`${user.username} could not use it: ${problem}`);
      await services.db.transaction(async (tx) => {
        await setAdministrator(tx, (await lockedUser(tx, user.id)).id, verb === "grant");
        await auditCommand(tx, `admin ${verb}`, "user_updated", { ...targetOf(user), details: { changed: ["admin"] } });
      });
      terminal.print(
        `${user.username} is ${verb === "grant" ? "now an administrator" : "no longer an administrator"}.`,
      );
    } finally {
      await services.close();
    }
  });
}
