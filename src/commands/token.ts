import { parseArgs } from "node:util";
import { actingUserByIdOrName } from "#access/callers.ts";
import { type Scope, SCOPES } from "#access/scopes.ts";
import { readConfig } from "#config.ts";
import { createToken } from "#resources/tokens/actions.ts";
import { nameOf } from "#resources/tokens/writes.ts";
import { openLog, openServices } from "#services.ts";
import { auditCommand } from "./audit.ts";
import { withDatabase } from "./database.ts";
import { print } from "./output.ts";

const USAGE = "usage: fairlead token create --user NAME [--name TEXT] [--scopes api,read_user] [--expires YYYY-MM-DD]";

/** Makes a token for a user, for those who lost theirs and can reach the machine. */
export async function token(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      user: { type: "string" },
      name: { type: "string", default: "Made from the command line" },
      scopes: { type: "string", default: "api" },
      expires: { type: "string" },
    },
  });
  const { user: username } = values;
  if (positionals[0] !== "create" || username === undefined) throw new Error(USAGE);
  const scopes = values.scopes.split(",").map((text) => {
    const scope = SCOPES.find((known) => known === text.trim());
    if (!scope) throw new Error(`'${text}' is no scope; there are ${SCOPES.join(", ")}`);
    return scope satisfies Scope;
  });
  const config = readConfig();
  await withDatabase(config, async (url) => {
    const services = openServices(config, url, openLog(config));
    try {
      const user = await actingUserByIdOrName(services.db, username);
      if (!user) throw new Error(`there is no user '${username}'`);
      const wanted = { userId: user.id, name: values.name, scopes, expires_at: values.expires };
      const { value, row } = await services.db.transaction(async (tx) => {
        const made = await createToken(tx, wanted);
        const target = { ...nameOf(made.row), details: { user_id: user.id, scopes } };
        await auditCommand(tx, "token create", "personal_access_token_created", target);
        return made;
      });
      print(value);
      process.stderr.write(`Token ${row.id} of ${user.username} until ${row.expires_at}, shown only now.\n`);
    } finally {
      await services.close();
    }
  });
}
