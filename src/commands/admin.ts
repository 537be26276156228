import { stateProblem } from "#access/authenticate.ts";
import { actingUserByIdOrName } from "#access/callers.ts";
import { readConfig } from "#config.ts";
import { setAdministrator } from "#resources/users/administrators.ts";
import { lockedUser, targetOf } from "#resources/users/named.ts";
import { openLog, openServices } from "#services.ts";
import { auditCommand } from "./audit.ts";
import { withDatabase } from "./database.ts";
import { print } from "./output.ts";

const USAGE = "usage: fairlead admin grant USERNAME | fairlead admin revoke USERNAME";

/** Makes a user an administrator or no longer one, for those who can reach the machine. */
export async function admin(args: string[]) {
  const [verb, username, ...others] = args;
  if ((verb !== "grant" && verb !== "revoke") || username === undefined || others.length > 0) throw new Error(USAGE);
  const config = readConfig();
  await withDatabase(config, async (url) => {
    const services = openServices(config, url, openLog(config));
    try {
      const user = await actingUserByIdOrName(services.db, username);
      if (!user) throw new Error(`there is no user '${username}'`);
      const problem = verb === "grant" ? stateProblem(user) : undefined;
      if (problem !== undefined) throw new Error(`${user.username} could not use it: ${problem}`);
      await services.db.transaction(async (tx) => {
        await setAdministrator(tx, (await lockedUser(tx, user.id)).id, verb === "grant");
        await auditCommand(tx, `admin ${verb}`, "user_updated", { ...targetOf(user), details: { changed: ["admin"] } });
      });
      print(`${user.username} is ${verb === "grant" ? "an administrator now" : "no administrator any more"}.`);
    } finally {
      await services.close();
    }
  });
}
